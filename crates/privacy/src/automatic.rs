//! Lists which mechanism `auto` selects, by what is protected and by the calibration.
//!
//! A calibration that follows a paper takes the paper's own mechanism; the tight one takes the mechanism with the least noise
//! that has a proof.

use crate::accounting::sensitivity::Participation;
use crate::mechanism::of_least_variance;
use crate::streams::columns;
use crate::sums::{Spectrum, SumsEntry, SumsNeed, local, privunit};
use crate::{Calibration, Factor, Request, RewardFacts};

/// Says what a mechanism protects and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protects {
    /// Running sums of features and rewards, by a trusted server.
    JointSums,
    /// Each user's own item of such sums, in the local model.
    LocalSums,
    /// Sums over batches of rewards, by a trusted server.
    Batches,
    /// One candidate, by a trusted server that releases nothing else.
    Answer,
    /// Vertices chosen along gradients of interactions or samples.
    Choices,
    /// Gradients of samples.
    Gradients,
    /// The factorisation of prefix sums of gradients.
    PrefixSums,
    /// Rows of the inputs of a problem.
    Inputs,
}

/// The selected names, in the order of [`Calibration::ALL`].
const AUTOMATIC: [(Protects, [&str; 3]); 8] = [
    (Protects::JointSums, ["tree", "tree", "normalised-toeplitz"]),
    (Protects::LocalSums, ["local-gaussian", "local-gaussian", "privunit"]),
    (Protects::Batches, ["batch-laplace", "batch-laplace", "batch-laplace"]),
    (Protects::Answer, ["exponential", "exponential", "exponential"]),
    (Protects::Choices, ["laplace", "laplace", "gumbel"]),
    (Protects::Gradients, ["generalized-gaussian", "generalized-gaussian", "gaussian"]),
    (Protects::PrefixSums, ["tree", "tree", "normalised-toeplitz"]),
    (Protects::Inputs, ["projection", "projection", "input-noise"]),
];

/// Returns the name of the mechanism that a word stands for: itself, unless it is `auto`.
pub fn automatic(mechanism: &'static str, protects: Protects, calibration: Calibration) -> &'static str {
    if mechanism != "auto" {
        return mechanism;
    }
    let row = AUTOMATIC.iter().find(|(known, _)| *known == protects);
    row.map_or(mechanism, |(_, names)| names[calibration as usize])
}

/// Most releases for which each column has a factor of its own.
const MOST_COLUMNS: u64 = 1 << 22;

/// Returns the name of the factorisation that a word stands for, where a user may return.
///
/// For users who return the tight one has the least largest error of those whose streams hold few vectors: all but the square root,
/// which is a band as long as the run. Buffers serve users who may return in the next round, and very many releases.
///
/// * `releases` — number of releases, of which one user enters those of `participation`
pub fn automatic_for_streams(
    mechanism: &'static str,
    protects: Protects,
    calibration: Calibration,
    participation: Participation,
    releases: u64,
) -> &'static str {
    let name = automatic(mechanism, protects, calibration);
    let Some(usual) = Factor::named(name) else { return name };
    if mechanism != "auto" || !calibration.redesigns() {
        return name;
    }
    if MOST_COLUMNS < releases || !participation.is_once() && participation.separation == 1 {
        return Factor::Blt.name();
    }
    if participation.is_once() || participation.separation == 0 {
        return name;
    }
    let error = |factor: Factor| {
        let of = factor.factorisation(releases, participation);
        columns(of.as_ref(), participation) * libm::sqrt(of.largest_variance())
    };
    let short = [usual, Factor::Blt, Factor::BandedToeplitz, Factor::Tree, Factor::Honaker];
    let errors = short.map(|factor| (error(factor), factor));
    errors.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(name, |(_, factor)| factor.name())
}

/// Returns the mechanism for every user's own item of sums, for a request whose mechanism is `auto`.
///
/// The papers' is `local-gaussian`; the tight one has the least noise at the request's budget. Without a clip it is compared for
/// rewards in ±1: functions of several trials have bounds of their own, and a cell has one mechanism.
pub fn automatic_for_items(request: &Request, facts: &RewardFacts, need: SumsNeed) -> SumsEntry {
    if !request.calibration.redesigns() {
        return local::ENTRY;
    }
    let of_unit = RewardFacts { bound: 1.0, noise_bound: Some(0.0), range: None, ..facts.clone() };
    let facts = if request.clip.is_some() { facts } else { &of_unit };
    let std = |entry: SumsEntry| match (entry.build)(&Request { mechanism: entry.name, ..*request }, facts, need)
        .ok()?
        .facts()
        .spectrum
    {
        Spectrum::Local { gram, .. } => Some(gram),
        _ => None,
    };
    match (std(local::ENTRY), std(privunit::ENTRY)) {
        (Some(gaussian), sphere) if sphere.is_none_or(|sphere| gaussian < sphere) => local::ENTRY,
        _ => privunit::ENTRY,
    }
}

/// Returns the name of the mechanism for single rewards that a request stands for: its own, unless it is `auto`.
///
/// The papers' is `laplace`; the tight one has the least worst-case variance at the request's epsilon.
pub fn automatic_for_rewards(request: &Request) -> &'static str {
    if request.mechanism != "auto" {
        return request.mechanism;
    }
    let least = request.answer_epsilon().map_or("hybrid", of_least_variance);
    request.calibration.pick(["laplace", "laplace", least])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::MECHANISMS;
    use crate::{Budget, Epsilon, RewardFacts};

    #[test]
    fn calibrations_index_the_table() {
        for (at, calibration) in Calibration::ALL.into_iter().enumerate() {
            assert_eq!(calibration as usize, at);
        }
        assert_eq!(automatic("auto", Protects::JointSums, Calibration::Tight), "normalised-toeplitz");
        assert_eq!(automatic("tree", Protects::JointSums, Calibration::Tight), "tree");
    }

    /// Every mechanism for one reward that is priced as a pure loss is built at each epsilon, and none has less variance.
    #[test]
    fn no_pure_mechanism_has_less_noise_than_the_automatic_one() {
        let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 10 };
        let mut taken = std::collections::BTreeSet::new();
        for epsilon in [1e-6, 1e-4, 0.1, 0.5, 0.7, 1.0, 1.6, 1.7, 2.0, 4.0, 8.0, 12.0, 16.0, 18.0, 20.0, 24.0, 40.0, 700.0] {
            let budget = Budget { epsilon: Epsilon::try_from(epsilon).ok(), ..Budget::default() };
            let request = |mechanism| Request { mechanism, budget, clip: Some((-1.0, 1.0)), ..Request::NONE };
            let name = automatic_for_rewards(&request("auto"));
            let variance = |name: &'static str| {
                let entry = MECHANISMS.iter().find(|entry| entry.name == name).expect("registered");
                (entry.build)(&request(name), &facts).map(|mechanism| mechanism.noise_variance())
            };
            let least = variance(name).expect("calibrated");
            for entry in MECHANISMS.iter().filter(|entry| !["none", "gaussian"].contains(&entry.name)) {
                let other = variance(entry.name).unwrap_or(f64::INFINITY);
                assert!(least <= other * (1.0 + 2e-9), "{epsilon}: {name} {least}, {} {other}", entry.name);
            }
            taken.insert(name);
        }
        assert_eq!(taken, ["hybrid", "warped-piecewise"].into());
        let at_one = Budget { epsilon: Epsilon::try_from(1.0).ok(), ..Budget::default() };
        assert_eq!(automatic_for_rewards(&Request { mechanism: "auto", budget: at_one, ..Request::NONE }), "warped-piecewise");
        let corrected = Request { calibration: Calibration::Corrected, mechanism: "auto", ..Request::NONE };
        assert_eq!(automatic_for_rewards(&corrected), "laplace");
        assert_eq!(automatic_for_rewards(&Request { mechanism: "duchi", ..Request::NONE }), "duchi");
    }

    /// Users who may return in the next round take buffers, which need no band as long as the run; so do very many releases.
    #[test]
    fn bands_are_taken_where_they_help_and_are_short() {
        for (releases, count, separation) in
            [(1024, 4, 256), (1024, 16, 64), (1024, 2, 2), (1024, 4, 1), (1024, 4, 0), (5000, 2, 3000), (20_000, 10, 2000)]
        {
            let participation = Participation { count, separation };
            let name = automatic_for_streams("auto", Protects::JointSums, Calibration::Tight, participation, releases);
            let error = |factor: Factor| {
                let of = factor.factorisation(releases, participation);
                columns(of.as_ref(), participation) * of.largest_variance().sqrt()
            };
            let taken = error(Factor::named(name).expect("a factor"));
            for other in Factor::STREAMS {
                assert!(taken <= 1.02 * error(other), "{releases}, {count}, {separation}: {name}, {other:?}");
            }
            let expected = match separation {
                1 => "blt",
                0 | 64 | 256 => "normalised-toeplitz",
                _ => name,
            };
            assert_eq!(name, expected, "{releases}, {count}, {separation}");
        }
        let many = |participation| automatic_for_streams("auto", Protects::JointSums, Calibration::Tight, participation, 1 << 30);
        assert_eq!([Participation::ONCE, Participation { count: 4, separation: 9 }].map(many), ["blt"; 2]);
    }
}
