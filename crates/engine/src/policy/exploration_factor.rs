//! Defines the exploration factor, which multiplies the posterior standard deviation in a score.

use privateer_config::params::Args;

/// States the exploration factor of a policy; each policy has its own formulas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExplorationFactor {
    /// The theorem's factor, times `factor` (1 unless `scaled`).
    Theory { factor: f64 },
    /// The orders of the theorem without its constants, times `factor`.
    Order {
        factor: f64,
        /// What stands for the size of the noise, in policies that measure it.
        noise: NoiseMeasure,
    },
    /// The same factor in every round.
    Constant { value: f64 },
}

/// Factor of `order` unless stated: of 1/8 to 2, the theorems' and two constants, it was the best or within a factor of 3.9 of it
/// on each of 27 problems (docs/guides/exploration-factors.md).
const USUAL_FACTOR: f64 = 0.5;

/// Factors of a tuned `beta` that are tried unless stated.
pub const USUAL_FACTORS: [f64; 6] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0];
/// Number of pilot trials of each factor unless stated.
pub const USUAL_PILOT: u64 = 10;

/// Returns [`USUAL_FACTORS`] and 0, exploring nothing: what references choose among, and the policies of `privateer cost`.
pub fn usual_factors_and_zero() -> impl Iterator<Item = f64> {
    [0.0].into_iter().chain(USUAL_FACTORS)
}

impl ExplorationFactor {
    /// Reads the key `beta` of a policy whose factor has no noise scale to choose.
    pub fn parse(args: &Args<'_>) -> Self {
        Self::read(args, false)
    }

    /// Reads the key `beta` of a policy whose order-wise factor may use either measure of noise.
    pub fn parse_measuring(args: &Args<'_>) -> Self {
        Self::read(args, true)
    }

    fn read(args: &Args<'_>, measures: bool) -> Self {
        let kinds = ["theory", "scaled", "order", "constant", "tuned"];
        let doc = "what multiplies the posterior standard deviation (beta^{1/2} of Srinivas et al.): the theorem's, the theorem's times `factor`, its orders times `factor`, a constant `value`, or the one of several factors that is the best in pilot trials";
        let Some(variant) = args.variant("beta", doc, &kinds, Some("order")) else {
            return Self::Order { factor: USUAL_FACTOR, noise: NoiseMeasure::Deviation };
        };
        args.documents("beta.factor", "a number >= 0 and <= 1e12: required by `scaled`; for `order`, 0.5 unless given");
        if measures {
            args.documents(
                "beta.noise",
                "`deviation` or `range`, for `order`: whether the noise of a released reward counts by its standard deviation, a heuristic, or by the bound or second moment of a released reward, as in the papers; `deviation` unless given",
            );
        }
        args.documents("beta.value", "a number >= 0 and <= 1e12: required by `constant`");
        args.documents(
            "beta.of",
            "`order`, `theory` or `constant`, for `tuned`: what the factors multiply; `order` unless given",
        );
        args.documents(
            "beta.factors",
            "an array of numbers >= 0, for `tuned`: the least mean regret of pilot trials chooses one for each cell, which is not private; 0.05, 0.1, 0.2, 0.5, 1, 2 unless given",
        );
        args.documents(
            "beta.pilot",
            "a whole number from 1 to 4294967295, for `tuned`: pilot trials of each factor, apart from those of the run; 10 unless given; references that are added have four times as many, and a factor of 0 too where neither `factors` nor another `of` than `order` is given",
        );
        let factor = || variant.args.number("factor", "multiplies beta").at_least(0.0).at_most(1e12);
        let noise = || {
            let is_range = measures
                && variant.args.word("noise", "measure of the noise", &["deviation", "range"], Some("deviation")) == "range";
            if is_range { NoiseMeasure::Range } else { NoiseMeasure::Deviation }
        };
        let beta = match variant.kind.as_str() {
            "scaled" => Self::Theory { factor: factor().required() },
            "order" => {
                let noise = noise();
                Self::Order { factor: factor().or(USUAL_FACTOR), noise }
            }
            "tuned" => {
                variant.args.word("of", "what the factors multiply", &["order", "theory", "constant"], Some("order"));
                noise();
                variant.args.count("pilot", "pilot trials of each factor").between(1, 1_000_000).or(1);
                let factors = variant.args.numbers("factors", "the factors");
                if factors.is_some_and(|found| found.is_empty() || found.iter().any(|x| !(0.0..=1e12).contains(x))) {
                    variant.args.reject(
                        "factors",
                        "`factors` is empty, or holds a number out of range",
                        "at least one number, each >= 0 and <= 1e12",
                    );
                }
                // The reader of the spec makes a policy for each factor.
                Self::Order { factor: USUAL_FACTOR, noise: NoiseMeasure::Deviation }
            }
            "constant" => {
                Self::Constant { value: variant.args.number("value", "the value of beta").at_least(0.0).at_most(1e12).required() }
            }
            _ => Self::Theory { factor: 1.0 },
        };
        variant.args.finish();
        beta
    }

    /// Returns what the factor adds to the information gain under a root, from that of the theorem; its orders add nothing.
    pub fn offset(self, theory: f64) -> f64 {
        if matches!(self, Self::Theory { .. }) { theory } else { 0.0 }
    }

    /// Returns the factor from the two formulas; only the needed one is called.
    pub fn value(self, theory: impl FnOnce() -> f64, order: impl FnOnce() -> f64) -> f64 {
        match self {
            Self::Theory { factor } => factor * theory(),
            Self::Order { factor, .. } => factor * order(),
            Self::Constant { value } => value,
        }
    }
}

/// Selects the measure of noise in order-wise exploration factors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NoiseMeasure {
    #[default]
    Deviation,
    /// The bound of a released reward, as in the papers; the standard deviation of an unbounded reward.
    Range,
}
