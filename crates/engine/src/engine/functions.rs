//! Keeps the functions of the last trials, which cells over one environment share.

use super::lock::{LastFew, made};
use crate::env::{Environment, Instance};
use privateer_config::error::Error;
use std::sync::Mutex;

/// Largest size of the functions that are kept of one environment, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Functions of trials, by number, once they are drawn.
#[derive(Default)]
pub(super) struct Functions(LastFew<u64, Mutex<Option<Instance>>>);

impl Functions {
    /// Returns the function of a trial, drawn where it is not kept.
    pub(super) fn of(&self, environment: &Environment, trial: u64) -> Result<Instance, Error> {
        made(&self.0.of(trial, most(environment).max(1), Mutex::default), || (environment.draw)(trial))
    }
}

/// Returns how many functions of an environment may be kept.
pub(super) fn most(environment: &Environment) -> usize {
    let n_values = environment.product.as_ref().map_or_else(|| environment.gram.n_points(), |product| product.n_rows());
    MOST_BYTES / (8 * n_values.max(1))
}

#[cfg(test)]
mod tests {
    use crate::engine::Preparation;
    use crate::env::DataFolder;
    use crate::spec::Sweep;
    use privateer_backend::Cpu;
    use std::ptr::from_ref;

    /// Where a trial's function of each cell lies: cells with one address draw it once.
    fn addresses(points: u32, sweep: &str) -> Vec<Option<usize>> {
        let text = format!(
            "rounds = 5\ntrials = 4\nreferences = false\n[environment]\nkind = \"rkhs\"\ncentres = 2\nnoise = \"none\"\n\
             domain = {{ kind = \"random\", dimension = 1, points = {points} }}\n\
             kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\n[privacy]\nclip = [-1.0, 1.0]\nepsilon = 1.0\n\
             [[policy]]\nkind = \"tgp-ucb\"\n{sweep}"
        );
        let sweep = Sweep::parse("t.toml", &text, &[]).expect("a sweep");
        let (data, backend) = (DataFolder::default(), Cpu::default());
        let preparation = Preparation::new(&sweep, &data, &backend);
        let cells = sweep.cells.iter().map(|plan| preparation.cell(plan).expect("a cell"));
        let functions: Vec<_> = cells.map(|cell| cell.functions).collect();
        functions.iter().map(|kept| kept.as_ref().map(|kept| from_ref(kept.as_ref()).addr())).collect()
    }

    #[test]
    fn cells_over_one_environment_draw_a_function_once() {
        let alone = addresses(9, "");
        assert_eq!(alone, [None], "a cell that shares with none keeps nothing");
        let budgets = addresses(9, "[sweep.product]\n\"privacy.epsilon\" = [1.0, 2.0, 4.0]\n");
        assert!(budgets[0].is_some() && budgets.iter().all(|at| *at == budgets[0]), "{budgets:?}");
        let both = addresses(9, "[sweep.product]\n\"privacy.epsilon\" = [1.0, 2.0]\nrounds = [5, 6]\n");
        let apart = both.iter().filter(|at| **at == both[0]).count();
        assert_eq!((both.len(), apart), (4, 2), "functions of other environments: {both:?}");
        let large = addresses(3_000_000, "[sweep.product]\n\"privacy.epsilon\" = [1.0, 2.0]\n");
        assert_eq!(large, [None, None], "a block of functions is larger than what is kept");
    }
}
