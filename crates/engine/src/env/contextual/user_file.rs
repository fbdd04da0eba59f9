//! Reads the users of a problem from a CSV file: their contexts, and further columns.

use super::synthetic;
use super::table_features::{FeaturePlan, Features};
use crate::env::BuildContext;
use crate::env::csv_table::{CellKind, Cells, read_columns};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::interactions::{ContextFacts, Link};

#[derive(Debug, Clone)]
pub(super) struct UserFile {
    pub(super) name: String,
    about: Option<String>,
    /// Whether users are made up instead.
    pub(super) is_synthetic: bool,
    pub(super) features: FeaturePlan,
}

impl UserFile {
    pub(super) fn parse(args: &Args<'_>, doc: &'static str) -> Self {
        Self {
            name: args.required_text("file", doc),
            about: args.text("about", "what the file is and where its publisher has it; shown when it is missing"),
            is_synthetic: args.flag("synthetic", "make users up instead of reading the file, as many as there are rounds", false),
            features: FeaturePlan::parse(args),
        }
    }

    /// Returns the cells of the features, then those of the columns `outcomes`.
    ///
    /// * `made_up` — makes the latter for synthetic users, of whom it is told the right arms
    pub(super) fn cells(
        &self,
        context: &BuildContext<'_>,
        n_arms: usize,
        outcomes: impl IntoIterator<Item = (String, CellKind)>,
        made_up: impl FnOnce(&[usize], &mut Stream) -> Vec<Cells>,
    ) -> Result<Vec<Cells>, Error> {
        if self.is_synthetic {
            let (n_rows, mut stream) = (context.rounds as usize, context.streams.shared(Purpose::Domain));
            let (mut cells, right) = synthetic::users(&self.features, n_rows, n_arms, &mut stream);
            cells.extend(made_up(&right, &mut stream));
            return Ok(cells);
        }
        let columns: Vec<_> = self.features.columns().into_iter().chain(outcomes).collect();
        read_columns(&context.data.find(&self.name, self.about.as_deref(), true)?, &columns, context.file_bytes())
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SupposedArms {
    radius: f64,
    link: Link,
}

impl SupposedArms {
    pub(super) fn parse(args: &Args<'_>) -> Self {
        let doc = "l1 norm that policies suppose of an arm's parameters, at most";
        let radius = args.number("radius", doc).above(0.0).at_most(1e6).or(1.0);
        Self { radius, link: parse_link(args) }
    }

    pub(super) fn facts(self, n_arms: usize, features: &Features, range: (f64, f64), rounds: u64) -> ContextFacts {
        ContextFacts {
            n_arms,
            dimension: features.dimension,
            largest_entry: features.length.min(1.0),
            length: features.length,
            parameter_l1: self.radius,
            parameter_length: self.radius,
            mean_range: range,
            range: Some(range),
            noise_sd: None,
            link: self.link,
            margin: 0.0,
            rounds,
        }
    }
}

/// Reads the key `link`: the mean reward as a function of the product of context and parameter.
pub(super) fn parse_link(args: &Args<'_>) -> Link {
    args.choice("link", "mean reward as a function of <x, theta>", &Link::NAMED, Link::NAMED[0].0)
}

/// Reads two ascending numbers, if the key is present.
pub(super) fn pair(args: &Args<'_>, key: &'static str, doc: &'static str) -> Option<(f64, f64)> {
    match args.numbers(key, doc)?.as_slice() {
        [low, high] if low < high => Some((*low, *high)),
        _ => {
            args.reject(key, format!("`{key}` is no pair of ascending numbers"), "two numbers [lo, hi] with lo < hi");
            None
        }
    }
}
