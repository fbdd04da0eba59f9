//! Learners run several trials in lockstep: their number changes no byte.

use crate::support::{run_all, sweep};
use privateer::engine::Options;
use privateer::env::DataFolder;
use privateer_backend::Cpu;

/// Nine trials of more rounds than a block of the square-root noise has, for each factorisation.
#[test]
fn trials_do_not_mix() {
    let factorisations = ["tree", "honaker", "blt", "sqrt-toeplitz"];
    let learners = ["dp-tofw\"", "dp-ftrl\"", "dp-ftrl\"\npasses = 2"];
    for (factorisation, learner) in factorisations.into_iter().flat_map(|of| learners.map(|learner| (of, learner))) {
        let sweep = sweep(&format!(
            "seed = 3\nrounds = 700\ntrials = 9\naccepted_warnings = [\"delta\"]\n[problem]\nkind = \"linear-regression\"\ndimension = 3\n\
             set = {{ kind = \"lp-ball\", p = 1.5, radius = 2.0 }}\n[privacy]\nepsilon = 1.0\ndelta = 1e-3\nfactorisation = \"{factorisation}\"\n[[learner]]\nkind = \"{learner}\n"
        ));
        let run = |batch: Option<usize>| {
            let options = Options { batch, ..Options::default() };
            run_all(&sweep, &DataFolder::default(), &Cpu::default(), options).expect("a run").bits()
        };
        let alone = run(Some(1));
        for batch in [Some(2), Some(4), Some(9), None] {
            assert!(run(batch) == alone, "{factorisation}, {learner}, {batch:?}");
        }
    }
}
