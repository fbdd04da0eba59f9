//! Decision sets: what is played lies in the set of its round, regret is to the best of it, and no backend changes a byte.

use super::backends::same_bytes;
use super::one_trial::refusal;
use crate::backends::{NamedBackend, gpu_backends, reference_backends};
use crate::support::{prepared, ran};
use privateer::engine::Quantity;
use privateer::env::DataFolder;
use privateer_numerics::rng::Purpose;

fn spec(sets: &str, policies: &str) -> String {
    format!(
        "seed = 3\nrounds = 60\ntrials = 3\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"rkhs\"\ncentres = 4\n\
         weights = \"simplex\"\noutput = \"peak\"\nnoise = \"bernoulli\"\nsets = {sets}\n\
         domain = {{ kind = \"ball\", dimension = 2, points = 500, radius = 2.0 }}\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\n{policies}"
    )
}

const POLICIES: &str = "[[policy]]\nkind = \"uniform\"\n[[policy]]\nkind = \"gp-ucb\"\nridge = 9e-4\n[[policy]]\nkind = \"tgp-ucb\"\n\
     [[policy]]\nkind = \"qff-gp-ucb\"\nfeatures = { kind = \"quadrature-fourier\", nodes = 9 }\n\
     beta = { kind = \"order\", factor = 0.3 }\ninitial = { kind = \"random\", points = 5 }\n\
     [[policy]]\nkind = \"rff-gp-ucb\"\nfeatures = { kind = \"random-fourier\", features = 20 }\n";

const SETS: [&str; 3] =
    ["{ kind = \"gap\", points = 25 }", "{ kind = \"random\", points = 2 }", "{ kind = \"random\", points = 65 }"];

#[test]
fn what_is_played_lies_in_the_set_of_its_round() {
    for (which, sets) in SETS.into_iter().enumerate() {
        let text = spec(sets, POLICIES);
        let found = ran(&text);
        assert_eq!(found.counters.violations, 0);
        // Sets of two points are scored one by one.
        assert_eq!(0 < found.counters.rounds, which != 1, "{sets}");
        prepared(&text, &DataFolder::default(), |sweep, preparation| {
            for cell in sweep.cells.iter() {
                let (rows, ready) = (found.cell(cell.index), preparation.cell(cell).expect("a cell"));
                for trial in 0..3 {
                    let instance = (ready.environment.draw)(trial).expect("a function");
                    let (mut random, mut set, mut cumulative) = (ready.streams.of(trial, Purpose::Sets), Vec::new(), 0.0);
                    for round in 0..60 {
                        let at = trial as usize * 60 + round;
                        instance.sets().expect("sets").draw(&mut random, &mut set);
                        let point = rows.point[at].expect("a point");
                        assert!(set.contains(&(point as u32)), "{sets}: {point} is not in {set:?}");
                        let best = set.iter().map(|&p| instance.mean(p as usize)).fold(f64::MIN, f64::max);
                        assert_eq!(rows[Quantity::Regret][at], best - instance.mean(point as usize));
                        cumulative += rows[Quantity::Regret][at];
                        assert_eq!(rows[Quantity::CumulativeRegret][at], cumulative);
                    }
                }
            }
        });
        // Better than chance, by far, where one point of 25 is good.
        let total =
            |cell: u32| -> f64 { (0..3).map(|trial| found.cell(cell)[Quantity::CumulativeRegret][trial * 60 + 59]).sum() };
        assert!(which != 0 || total(3) < 0.9 * total(0), "{} {}", total(3), total(0));
    }
}

#[test]
fn sets_are_the_same_on_every_backend() {
    let backends: Vec<NamedBackend> = reference_backends().into_iter().chain(gpu_backends()).collect();
    same_bytes(&backends, SETS[1..].iter().map(|sets| spec(sets, POLICIES)));
}

#[test]
fn policies_that_insist_on_a_point_are_refused() {
    for policy in ["moma-gp-ucb", "ata-gp-ucb"] {
        let text = spec(SETS[0], &format!("[[policy]]\nkind = \"{policy}\"\n"));
        let message = refusal(&text).to_string();
        assert!(message.contains("cannot play decision sets") && message.contains("qff-gp-ucb"), "{message}");
    }
}
