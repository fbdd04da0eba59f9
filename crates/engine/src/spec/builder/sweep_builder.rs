//! The spec as a builder.

use super::{Item, SettingValue};
use crate::registry::Registry;
use crate::spec::Sweep;
use crate::spec::parse::checked;
use privateer_config::error::{Error, Sources, Span};
use privateer_config::params::Sink;
use std::panic::Location;

/// Builds a sweep: the keys of a spec, one method for each.
///
/// ```
/// # extern crate privateer_engine as privateer;
/// use privateer::{Item, Sweep};
/// let sweep = Sweep::builder("two kernels")
///     .rounds(50)
///     .trials(4)
///     .environment(
///         Item::of("gp-sample")
///             .set("domain", Item::of("grid").set("points", 30))
///             .set("kernel", Item::of("matern").set("nu", 2.5).set("lengthscale", 0.2))
///             .set("noise", Item::of("uniform").set("bound", 0.1)),
///     )
///     .privacy(Item::table_of_keys().set("mechanism", "laplace"))
///     .policy(Item::of("igp-ucb").set("ridge", 0.5))
///     .policy("uniform")
///     .sweep("privacy.epsilon", [1.0, 4.0])
///     .build()?;
/// assert_eq!(sweep.listed().len(), 4);
/// let twin = Sweep::parse("twin.toml", &sweep.resolved, &[])?;
/// assert_eq!(twin.hash, sweep.hash);
/// # Ok::<(), privateer::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct SweepBuilder {
    top: Item,
}

impl Sweep {
    /// Begins a sweep of this name.
    #[track_caller]
    pub fn builder(name: &str) -> SweepBuilder {
        SweepBuilder { top: Item::table_of_keys().set("name", name) }
    }

    /// Returns a builder with every key of this sweep, to change some.
    #[track_caller]
    pub fn to_builder(&self) -> SweepBuilder {
        let table = self.resolved.parse::<toml::Table>().unwrap_or_default();
        SweepBuilder { top: Item::of_toml(&table, Location::caller()) }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $key:ident: $stated:ty => $value:ty;)*) => {
        impl SweepBuilder {
            $($(#[$doc])*
            #[track_caller]
            pub fn $key(self, $key: $stated) -> Self {
                let value: $value = $key.into();
                self.set(stringify!($key), value)
            })*
        }
    };
}

setters! {
    /// Sets the horizon T, at least 1.
    rounds: u64 => u64;
    /// Sets the number of repetitions of every cell, at least 1.
    trials: u64 => u64;
    /// Sets the seed of all random streams.
    seed: u64 => u64;
    /// Sets the number of trials of one part, at least 1.
    block: u64 => u64;
    /// Sets the environment.
    environment: impl Into<Item> => Item;
    /// Sets the privacy that all policies share.
    privacy: impl Into<Item> => Item;
    /// Sets the curator of the inputs.
    curator: impl Into<Item> => Item;
    /// Sets the problem of online convex optimization.
    problem: impl Into<Item> => Item;
}

impl SweepBuilder {
    /// Sets a key at the top of the spec.
    #[track_caller]
    pub fn set(self, key: &str, value: impl Into<SettingValue>) -> Self {
        Self { top: self.top.set(key, value) }
    }

    /// Records every round, and not only some of each power of ten.
    #[track_caller]
    pub fn record_all(self) -> Self {
        self.set("record", Item::table_of_keys().set("rounds", "all"))
    }

    /// Adds a policy.
    #[track_caller]
    pub fn policy(mut self, policy: impl Into<Item>) -> Self {
        self.top.push("policy", SettingValue::Item(policy.into()), Location::caller());
        self
    }

    /// Adds a learner.
    #[track_caller]
    pub fn learner(mut self, learner: impl Into<Item>) -> Self {
        self.top.push("learner", SettingValue::Item(learner.into()), Location::caller());
        self
    }

    /// Sweeps a key, given by its path, over values: all combinations with other swept keys.
    #[track_caller]
    pub fn sweep(self, path: &str, values: impl Into<SettingValue>) -> Self {
        self.swept("product", path, values.into())
    }

    /// Sweeps a key together with the other keys of this kind: first values, second values and so on.
    #[track_caller]
    pub fn sweep_together(self, path: &str, values: impl Into<SettingValue>) -> Self {
        self.swept("zip", path, values.into())
    }

    #[track_caller]
    fn swept(self, form: &str, path: &str, values: SettingValue) -> Self {
        let table = |found: Option<&SettingValue>| match found {
            Some(SettingValue::Item(item)) => item.clone(),
            _ => Item::table_of_keys(),
        };
        let sweep = table(self.top.get("sweep"));
        let columns = table(sweep.get(form)).set(path, values);
        self.set("sweep", sweep.set(form, columns))
    }

    /// Checks everything and returns the sweep.
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake, at the calls that made them.
    pub fn build(&self) -> Result<Sweep, Error> {
        self.build_with(&Registry::builtin())
    }

    /// Checks everything and returns the sweep, which may name what the registry adds.
    pub fn build_with(&self, registry: &Registry) -> Result<Sweep, Error> {
        let mut sources = Sources::default();
        let at = self.top.at;
        let source = sources.add_call(at.file(), at.line() as usize, String::new());
        let table = self.top.table(&Span { source, range: 0..0 }, &mut sources);
        let sink = Sink::new(sources).with_added(registry.added().clone());
        checked(&table, &sink, "sweep")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> SweepBuilder {
        Sweep::builder("both")
            .rounds(30)
            .trials(3)
            .environment(
                Item::of("rkhs")
                    .set("domain", Item::of("grid").set("points", 20))
                    .set("kernel", Item::of("squared-exponential").set("lengthscale", 0.2))
                    .set("noise", Item::of("uniform").set("bound", 0.5))
                    .set("bound", 2.0),
            )
            .privacy(Item::table_of_keys().set("mechanism", "laplace"))
            .policy(Item::of("tgp-ucb").set("ridge", 0.5).set("label", "ours"))
            .policy("uniform")
            .sweep("privacy.epsilon", [1.0, 4.0])
            .sweep_together("rounds", [20, 30])
            .sweep_together("policy.ours.ridge", [0.5, 1.0])
    }

    #[test]
    fn a_builder_and_its_spec_are_the_same_sweep() {
        let built = builder().build().expect("a sweep");
        let text = "name = \"both\"\nrounds = 30\ntrials = 3\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 20 }\n\
                    kernel = { kind = \"squared-exponential\", lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 0.5 }\nbound = 2.0\n\
                    [privacy]\nmechanism = \"laplace\"\n[[policy]]\nkind = \"tgp-ucb\"\nridge = 0.5\nlabel = \"ours\"\n[[policy]]\n\
                    kind = \"uniform\"\n[sweep.product]\n\"privacy.epsilon\" = [1.0, 4.0]\n[sweep.zip]\nrounds = [20, 30]\n\
                    \"policy.ours.ridge\" = [0.5, 1.0]\n";
        let read = Sweep::parse("both.toml", text, &[]).expect("a sweep");
        assert_eq!((built.hash.as_str(), built.cells.len()), (read.hash.as_str(), 10));
        assert_eq!(built.to_builder().build().expect("a sweep").hash, built.hash);
        assert_ne!(built.to_builder().seed(9).build().expect("a sweep").hash, built.hash);
        let labels = |sweep: &Sweep| sweep.cells.iter().map(|cell| cell.label()).collect::<Vec<_>>();
        assert_eq!(labels(&built), labels(&read));
    }

    #[test]
    fn mistakes_stand_at_their_calls() {
        let line = line!() + 1;
        let policy = Item::of("igp-ucb").set("ridge", -1.0);
        let wrong = builder().policy(policy).build().map(drop).expect_err("a mistake").to_string();
        let place = format!("{}:{line}:", file!());
        assert!(wrong.contains("`policy.igp-ucb.ridge` is -1.0, out of range") && wrong.contains(&place), "{wrong}");
        assert!(wrong.contains("ridge = -1.0\n"), "{wrong}");
        let wrong = builder().set("trails", 3).build().map(drop).expect_err("a mistake").to_string();
        assert!(wrong.contains("unknown key `trails` at the top") && wrong.contains("did you mean `trials`?"), "{wrong}");
        let missing = Sweep::builder("none").rounds(3).environment(Item::of("gp-sample").set("kernel", "matern")).build();
        let missing = missing.map(drop).expect_err("mistakes").to_string();
        assert!(
            missing.contains("missing key `noise` in `environment`") && missing.contains("there is no `[[policy]]`"),
            "{missing}"
        );
    }
}
