//! Implements `fixed-design`: as many users score each of some candidates that are fixed beforehand, then one candidate is the answer.
//!
//! What is played before the answer depends on no reward, so that the answer alone costs privacy. After it, every user plays it.
//! Derivation and proof: `docs/proofs/recommendation.md`.

use super::{Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, Setting};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::posterior::Visits;
use privateer_privacy::sums::SumsNeed;
use privateer_privacy::{Protection, Query, Released, Signal};

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let doc = "points that are scored, spread evenly over the list of the domain's points; at most as many as points and rounds";
    let candidates = args.count("candidates", doc).between(2, 1_000_000).or(16);
    let pulls = args.count("pulls", "users that score each candidate").between(1, 1 << 40).optional("`rounds` over candidates");
    let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let (n_points, rounds) = (problem.listed()? as u64, problem.rounds);
        let candidates = candidates.min(n_points).min(rounds);
        let pulls = pulls.unwrap_or(rounds / candidates);
        if rounds / candidates < pulls {
            let message = format!("{candidates} candidates with {pulls} users each need more than {rounds} rounds");
            return Diagnostic::new(message).expected("fewer `candidates` or `pulls`, or more `rounds`").refuse();
        }
        Ok(Box::new(Design { candidates, pulls, n_points }))
    };
    let scored = move |rounds: u64| pulls.map_or(rounds, |pulls| candidates.saturating_mul(pulls)).min(rounds);
    PolicyPlan { protection: Protection::Answer, patience: Box::new(scored), ..PolicyPlan::new(prepare) }
}

#[derive(Debug, Clone, Copy)]
struct Design {
    candidates: u64,
    pulls: u64,
    n_points: u64,
}

impl Design {
    /// Returns the number of rounds before the answer.
    fn rounds(self) -> u64 {
        self.candidates * self.pulls
    }

    fn point(self, candidate: u64) -> usize {
        (u128::from(candidate) * u128::from(self.n_points) / u128::from(self.candidates)) as usize
    }
}

impl PolicyMaker for Design {
    fn sums(&self) -> Option<SumsNeed> {
        Some(SumsNeed::of_features(self.candidates as usize, 1, self.rounds()))
    }

    fn make(&self, _setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(DesignPolicy { design: *self, told: 0, visits: Visits::default(), answer: None }))
    }

    fn facts(&self, _setting: &Setting) -> Facts {
        [("candidates", self.candidates.into()), ("users of a candidate", self.pulls.into())].into()
    }
}

struct DesignPolicy {
    design: Design,
    told: u64,
    /// Rewards of the candidates, without privacy.
    visits: Visits,
    answer: Option<usize>,
}

impl Policy for DesignPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        let scored = || self.design.point((self.told / self.design.pulls).min(self.design.candidates - 1));
        Proposal::Play(self.answer.unwrap_or_else(scored))
    }

    fn query(&self, _point: usize) -> Query<'_> {
        Query { release: self.told + 1 == self.design.rounds(), ..Query::default() }
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        self.told += 1;
        if self.design.rounds() < self.told {
            return;
        }
        if let Some(reward) = signal.reward() {
            self.visits.add(point, reward);
        }
        if self.told == self.design.rounds() {
            self.answer = match signal.value() {
                Signal::Choice(candidate) => Some(self.design.point(*candidate as u64)),
                _ => self.visits.best_average(),
            };
        }
    }

    /// Returns the answer; before it the best average, or the candidate that is scored where nothing is released.
    fn recommend(&self) -> Option<usize> {
        let last = self.told.checked_sub(1)?;
        let scored = || Some(self.design.point(last / self.design.pulls));
        self.answer.or_else(|| self.visits.best_average()).or_else(scored)
    }
}
