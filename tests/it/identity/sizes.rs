//! Sizes: absurd ones are refused before anything is built, large ones run.

use super::one_trial::refusal;
use crate::support::ran;
use privateer_config::error::Error;
use std::time::{Duration, Instant};

fn spec(rounds: u64, domain: &str, kernel: &str, policy: &str) -> String {
    format!(
        "rounds = {rounds}\ntrials = 1\nlimits = {{ memory_gib = 2 }}\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"gp-sample\"\n\
         domain = {{ {domain} }}\nkernel = {{ {kernel} }}\nnoise = {{ kind = \"uniform\", bound = 0.1 }}\n{policy}"
    )
}

const SMOOTH: &str = "kind = \"squared-exponential\", lengthscale = 0.2";
const IGP: &str = "[[policy]]\nkind = \"igp-ucb\"\n";

#[test]
fn absurd_sizes_are_refused_before_they_are_built() {
    let features = "[[policy]]\nkind = \"igp-ucb\"\nfeatures = { kind = \"random-fourier\", features = 60000 }\n";
    for (text, says) in [
        (spec(10, "kind = \"grid\", dimension = 6, points = 1000", SMOOTH, IGP), "domain of 1000000000000000000 points"),
        (spec(10, "kind = \"grid\", dimension = 1000, points = 1000", SMOOTH, IGP), "domain of inf points"),
        (spec(10, "kind = \"random\", points = 4000000000, dimension = 3", SMOOTH, IGP), "random points"),
        (
            spec(1_000_000, "kind = \"grid\", dimension = 2, points = 300", SMOOTH, IGP),
            "one trial on 90000 points over 1000000 rounds",
        ),
        (
            spec(3_000, "kind = \"grid\", dimension = 2, points = 1000", SMOOTH, IGP),
            "one trial on 1000000 points over 3000 rounds",
        ),
        (spec(10, "kind = \"grid\", dimension = 2, points = 300", SMOOTH, features), "120000 features of 90000 points"),
    ] {
        let started = Instant::now();
        let error = refusal(&text);
        assert!(matches!(error, Error::TooLarge { .. }), "{text}: {error:?}");
        let message = error.to_string();
        assert!(message.contains(says) && message.contains("limits.memory_gib"), "{message}");
        assert!(started.elapsed() < Duration::from_secs(2), "{message}: took {:?}", started.elapsed());
    }
}

/// Neither a Gram matrix nor a feature table of so many points would fit.
#[test]
fn large_domains_run() {
    for (points, rounds) in [(320, 20), (1000, 6)] {
        let policies = format!("{IGP}[[policy]]\nkind = \"tgp-ucb\"\n");
        let started = Instant::now();
        let found = ran(&spec(rounds, &format!("kind = \"grid\", dimension = 2, points = {points}"), SMOOTH, &policies));
        println!("{points}² points, {rounds} rounds: {:?}, {:?}", started.elapsed(), found.counters);
        for cell in 0..2 {
            let rows = found.cell(cell);
            assert_eq!(rows.round.len() as u64, rounds);
            assert!(rows.point.iter().all(|point| point.is_some_and(|point| point < points * points)));
            let mut distinct = rows.point.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert!(3 < distinct.len(), "so little is known, and yet no exploration: {:?}", rows.point);
            assert_eq!(found.counters.violations, 0);
        }
    }
}
