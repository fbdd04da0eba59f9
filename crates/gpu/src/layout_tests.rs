//! Tests the host's layout against that of the shaders, as recorded by the build.

use super::lanes::LANE_PLANES;
use super::layout::{self, LayoutShape, N_NUMBERS, WORK_BYTES, number_values, work_words};
use super::pipeline::{Access, SHADERS, STRUCTS};
use privateer_backend::device::{Numbers, PLANE_NUMBERS, PLANES, Precision, Work};

#[test]
fn bindings_have_the_numbers_that_the_host_uses() {
    let host = [
        ("shape", layout::SHAPE),
        ("works", layout::WORKS),
        ("numbers", layout::NUMBERS),
        ("indices", layout::INDICES),
        ("coefficients", layout::COEFFICIENTS),
        ("source", layout::SOURCE),
        ("base", layout::BASE),
        ("planes", layout::PLANES),
        ("partials", layout::PARTIALS),
        ("counts", layout::COUNTS),
        ("answers", layout::ANSWERS),
        ("maxima", layout::MAXIMA),
        ("table", layout::TABLE),
        ("sizes", layout::LOOP_SIZES),
        ("features", layout::LOOP_FEATURES),
        ("domain", layout::LOOP_DOMAIN),
        ("lane_words", layout::LANE_WORDS),
        ("lane_numbers", layout::LANE_NUMBERS),
        ("lane_planes", layout::LANE_PLANES),
        ("jobs", layout::JOBS),
        ("played", layout::PLAYED),
    ];
    let read = [layout::LOOP_FEATURES, layout::LOOP_DOMAIN, layout::JOBS];
    for shader in SHADERS {
        for entry in shader.entries {
            for binding in entry.bindings {
                let found = host.iter().find(|(name, _)| *name == binding.name).expect("the host knows it");
                assert_eq!(binding.number, found.1, "{} {}", shader.name, binding.name);
                let is_uniform = [layout::SHAPE, layout::LOOP_SIZES].contains(&found.1);
                assert_eq!(binding.access == Access::Uniform, is_uniform, "{}", binding.name);
                let is_written = layout::PLANES <= found.1 && !is_uniform && !read.contains(&found.1);
                assert_eq!(binding.access == Access::ReadWrite, is_written, "{}", binding.name);
            }
            let storage = entry.bindings.iter().filter(|binding| binding.access != Access::Uniform).count();
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
            "trial" => assert!(shader.body.contains(&format!("planes_at = lane * {LANE_PLANES}u * TILE"))),
            _ => {}
        }
        assert!(shader.body.contains(&format!("return (slot * {PLANES}u + which) * shape.stride;")), "{}", shader.name);
    }
}

/// Gives each field of a struct a distinct value, and reads it at the shader's offset of the field.
#[test]
fn structs_have_their_fields_where_the_host_puts_them() {
    let work = Work {
        slot: 0,
        start: 1,
        visit: 2,
        stamp: 3,
        row_at: 4,
        row_len: 5,
        slots_at: 6,
        coords_at: 7,
        factor_at: 8,
        factor_len: 9,
        subset_at: 10,
        n_scored: 11,
        prior_at: 12,
        family: 13,
        dimension: 14,
        listed: 15,
        weights_at: 16,
    };
    let numbers = Numbers {
        scale: 0.0,
        mean_step: 1.0,
        low: 2.0,
        high: 3.0,
        c: 4.0,
        c0: 5.0,
        c1: 6.0,
        c2: 7.0,
        c3: 8.0,
        kernel_scale: 9.0,
        kernel_offset: 10.0,
        kernel_row_term: 11.0,
    };
    let shape = LayoutShape { n_points: 0, stride: 1, n_tiles: 2, chunk_first: 3, chunk_len: 4, n_columns: 5, dimension: 6 };
    let work_fields = "slot start visit stamp row_at row_len slots_at coords_at factor_at factor_len subset_at n_scored \
                       prior_at family dimension listed weights_at";
    let number_fields = "scale mean_step low high c c0 c1 c2 c3 kernel_scale kernel_offset kernel_row_term";
    let shape_fields = "n_points stride n_tiles chunk_first chunk_len n_columns dimension spare";
    assert_eq!(work_words(&work), std::array::from_fn(|i| i as u32));
    assert_eq!(number_values(&numbers).map(|number: f32| number as usize), std::array::from_fn(|i| i));
    assert_eq!(shape.words()[..7], [0, 1, 2, 3, 4, 5, 6]);
    for found in STRUCTS {
        let real = if found.real == Precision::F32 { 4 } else { 8 };
        let (fields, bytes, size) = match found.name {
            "Work" => (work_fields, 4, WORK_BYTES),
            "Numbers" => (number_fields, real, real * N_NUMBERS),
            "Shape" => (shape_fields, 4, 32),
            other => unreachable!("{other}"),
        };
        let expected: Vec<(&str, u32)> = fields.split(' ').zip((0u32..).map(|i| i * bytes as u32)).collect();
        assert_eq!((found.fields, found.size as usize), (expected.as_slice(), size), "{}", found.name);
    }
    assert_eq!(STRUCTS.len(), 6);
}
