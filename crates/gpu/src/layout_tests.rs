//! Tests the host's layout against that of the shaders, as recorded by the build.

use super::lanes::LANE_PLANES;
use super::layout::{self, LayoutShape};
use super::pipeline::{SHADERS, STRUCTS};
use privateer_backend::device::{Numbers, PLANE_NUMBERS, PLANES, Precision, Work};

#[test]
fn bindings_have_the_numbers_that_the_host_uses() {
    for shader in SHADERS {
        for entry in shader.entries {
            for binding in entry.bindings {
                let found = layout::BINDINGS.iter().find(|(name, _)| *name == binding.name).expect("the host knows it");
                assert_eq!(binding.number, found.1, "{} {}", shader.name, binding.name);
            }
            let storage =
                entry.bindings.iter().filter(|binding| ![layout::SHAPE, layout::LOOP_SIZES].contains(&binding.number)).count();
            assert!(storage <= 8, "{} {} binds {storage} storage buffers", shader.name, entry.name);
        }
    }
}

/// Compares the planes of the shaders' text with those of the host, and the uses of them in a round with those that costs count.
#[test]
fn shaders_use_the_planes_that_the_host_counts() {
    for shader in SHADERS {
        match shader.name {
            "update" => {
                let (_, round) = shader.body.split_once("fn updated(").expect("the round of a point");
                assert_eq!(round.matches("planes[").count(), PLANE_NUMBERS);
            }
            "trial" => assert!(shader.body.contains(&format!("const LANE_PLANES: u32 = {LANE_PLANES}u;"))),
            _ => {}
        }
        assert!(shader.body.contains(&format!("return (slot * {PLANES}u + which) * shape.stride;")), "{}", shader.name);
    }
}

/// Fields stand at the shader's offsets in the order in which the host writes them.
#[test]
fn structs_have_their_fields_where_the_host_puts_them() {
    let shape = LayoutShape { n_points: 0, stride: 1, n_tiles: 2, chunk_first: 3, chunk_len: 4, n_columns: 5, dimension: 6 };
    let shape_fields = ["n_points", "stride", "n_tiles", "chunk_first", "chunk_len", "n_columns", "dimension", "spare"];
    assert_eq!(shape.words()[..7], [0, 1, 2, 3, 4, 5, 6]);
    for found in STRUCTS {
        let real = if found.real == Precision::F32 { 4 } else { 8 };
        let (fields, bytes) = match found.name {
            "Work" => (Work::FIELDS, 4),
            "Numbers" => (Numbers::<f64>::FIELDS, real),
            "Shape" => (&shape_fields[..], 4),
            other => unreachable!("{other}"),
        };
        let expected: Vec<(&str, u32)> = fields.iter().copied().zip((0..).map(|i| i * bytes)).collect();
        assert_eq!((found.fields, found.size), (expected.as_slice(), fields.len() as u32 * bytes), "{}", found.name);
    }
    assert_eq!(STRUCTS.len(), 6);
}
