//! One test a target.

use privateer::numerics::rng::{Purpose, Stream, Streams};
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
        target.execute(&script(&mut stream, length));
    }
}

/// Returns random bytes.
fn script(stream: &mut Stream, length: u64) -> Vec<u8> {
    (0..length).map(|_| (stream.word() >> 56) as u8).collect()
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
    let mut stream = Streams::new(1, "csv").shared(Purpose::Noise);
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..2_000_000 {
            target.execute(&script(&mut stream, 13));
        }
    }));
    assert!(found.is_err(), "two million edits do not put two words side by side");
}

targets!(spec, set, csv, deployment, ledger, manifest, list);
