//! One test a target. With `cargo bolero` the same tests are guided by coverage.

use bolero::check;
use privateer_fuzz::{Target, csv, deployment, ledger, list, manifest, set, spec};

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

targets!(spec, set, csv, deployment, ledger, manifest, list);
