//! Learners run several trials in lockstep: their number changes no byte.

use crate::contract::cuts;
use crate::support::sweep;
use privateer::env::DataFolder;

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
        let cuts = [1, 2, 4, 9].map(|batch| (2, Some(batch)));
        cuts::whole(&format!("{factorisation}, {learner}"), &sweep, &DataFolder::default(), &cuts);
    }
}
