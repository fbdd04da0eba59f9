//! One test a target. With `cargo bolero` the same tests are guided by coverage.

use bolero::check;
use privateer_fuzz::{Target, csv, ledger, list, manifest, odometer, restores, set, spec, state};

macro_rules! targets {
    ($($name:ident),*) => {
        $(mod $name {
            #[test]
            fn fuzz() {
                let target = super::Target::new(stringify!($name), super::$name);
                super::check!().with_max_len(200).for_each(move |script: &[u8]| target.execute(script));
            }
        })*
    };
}

/// A reader that fails on a word which no seed holds: edits must find it.
#[test]
fn a_planted_fault_is_found() {
    fn planted(bytes: &[u8]) {
        assert!(!bytes.windows(6).any(|window| window == b"PAR1-1"));
    }
    let target = Target::new("csv", planted);
    let mut state = 1_u64;
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..2_000_000 {
            let script: Vec<u8> = (0..13)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            target.execute(&script);
        }
    }));
    assert!(found.is_err(), "two million edits do not put two words side by side");
}

/// Seeds of an older program would leave the code behind the first check untested.
#[test]
fn sessions_of_the_corpus_are_restored() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/state");
    let seeds = std::fs::read_dir(&folder).expect("the folder of the seeds");
    let paths: Vec<_> = seeds.map(|seed| seed.expect("a seed").path()).collect();
    assert!(!paths.is_empty(), "{} holds no seed: write one with `privateer init`, `ask` and `tell`", folder.display());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a text");
        assert!(
            restores(&text),
            "{} is not restored: write it again with `privateer init`, `ask` and `tell`, then set its `data` to `corpus` and renew its digest",
            path.display()
        );
        assert!(!text.contains("\"data\":\"/"), "{} names a folder of a machine", path.display());
    }
}

targets!(spec, set, csv, state, odometer, ledger, manifest, list);
