//! One test a target.

use privateer::numerics::rng::{Purpose, Streams};
use privateer_fuzz::{Target, csv, deployment, ledger, list, manifest, set, spec};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Reads edited seeds for as many milliseconds as `PRIVATEER_FUZZ_MS` says, else 100, by the scripts of the seed `PRIVATEER_FUZZ_SEED`, else of
/// a new one.
fn fuzz(name: &'static str, read: fn(&[u8])) {
    let number = |key: &str| std::env::var(key).ok().map(|text| text.parse::<u64>().expect("a whole number"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos() as u64;
    let seed = number("PRIVATEER_FUZZ_SEED").unwrap_or(now);
    println!("{name}: PRIVATEER_FUZZ_SEED={seed}");
    let (target, begin) = (Target::new(name, read), Instant::now());
    let time = Duration::from_millis(number("PRIVATEER_FUZZ_MS").unwrap_or(100));
    let mut stream = Streams::new(seed, name).shared(Purpose::Noise);
    while begin.elapsed() < time {
        let length = stream.word() % 200;
        let script: Vec<u8> = (0..length).map(|_| (stream.word() >> 56) as u8).collect();
        target.execute(&script);
    }
}

macro_rules! targets {
    ($($name:ident),*) => {
        $(mod $name {
            #[test]
            fn fuzz() {
                super::fuzz(stringify!($name), super::$name);
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
