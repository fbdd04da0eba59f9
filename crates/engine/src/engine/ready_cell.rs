//! Makes the trials of a prepared bandit cell.

use super::functions::Functions;
use super::scoring_error;
use super::verifying_screen::VerifyingScreen;
use crate::env::{Environment, Instance};
use crate::policy::{Policy, PolicyMaker, Setting};
use crate::spec::{BanditPlan, CellPlan};
use privateer_backend::{Domain, Screen, UpdateKind};
use privateer_config::error::Error;
use privateer_config::memory::allow;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::curator::{Curator, Inputs, ReleasedInputs};
use privateer_privacy::{Channel, Raw, Released};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Holds a bandit cell prepared for its trials.
pub struct ReadyCell {
    /// The cell's plan.
    pub plan: CellPlan,
    /// The bandit part of the plan.
    pub bandit: BanditPlan,
    /// The problem.
    pub environment: Arc<Environment>,
    /// Curator of the private inputs; `None` if the inputs are public.
    pub curator: Option<Arc<dyn Curator>>,
    /// Makes the trials' policies.
    pub maker: Box<dyn PolicyMaker>,
    /// The prepared basis; `None` for policies that never score.
    pub domain: Option<Arc<dyn Domain>>,
    /// Random streams of the environment.
    pub streams: Streams,
    /// Functions of trials that other cells play too.
    pub(super) functions: Option<Arc<Functions>>,
    /// Whether policies must return their parameters at the end.
    pub keeps_parameters: bool,
    /// Largest size of one trial, in bytes.
    pub(super) memory_bytes: f64,
    /// Largest size of one trial that a device scores, in bytes: without what the CPU backend keeps of its screens.
    pub(super) trial_bytes: f64,
    /// What the CPU backend may keep of one trial's screen, in bytes.
    pub(super) screen_bytes: f64,
}

impl ReadyCell {
    /// Returns how many trials should share a submission of a device, within the memory that the spec allows one trial.
    ///
    /// `None` where no device scores.
    pub(super) fn lanes(&self) -> Option<usize> {
        let lanes = self.domain.as_ref()?.lanes(self.update_kind())?;
        let fit = self.memory_bytes / (2.0 * self.trial_bytes.max(1.0));
        Some(lanes.min(fit as usize).max(1))
    }

    /// Returns how many trials on each thread the CPU can score at once within the memory that the spec allows one trial.
    pub(super) fn fit_on_cpu(&self) -> usize {
        let all = self.memory_bytes / (self.trial_bytes + self.screen_bytes).max(1.0);
        (all as usize / rayon::current_num_threads()).max(1)
    }

    /// Returns how many of a block's trials run in lockstep, as wanted or as the backend prefers.
    pub(super) fn batch_size(&self, n_trials: u64, wanted: Option<usize>) -> u64 {
        if self.bandit.policy_plan.depends_on_block {
            return n_trials;
        }
        let domain = self.domain.as_ref();
        match wanted {
            Some(batch) => batch.min(domain.map_or(usize::MAX, |domain| domain.most_in_batch())) as u64,
            // A block too small for full batches on all threads is split into smaller batches.
            None => {
                let preferred = domain.map_or(8, |domain| domain.batch(self.update_kind())) as u64;
                preferred.min(n_trials.div_ceil(rayon::current_num_threads() as u64))
            }
        }
    }

    /// Opens the screen of trials that a backend scores; `None` where none is needed.
    ///
    /// * `verify` — whether choices are compared with the best of all points
    pub(super) fn open_screen(&self, n_trials: usize, verify: bool) -> Option<Box<dyn Screen>> {
        Some(VerifyingScreen::around(self.domain.as_ref()?.open(n_trials), self.n_points(), verify))
    }

    pub(super) fn n_points(&self) -> usize {
        self.environment.gram.n_points()
    }

    pub(super) fn point(&self, point: usize) -> Option<&[f64]> {
        self.environment.points.as_ref().filter(|_| point < self.n_points()).map(|points| points.point(point))
    }

    /// Returns whether both cells' trials are scored over one prepared basis.
    pub(super) fn shares_domain(&self, other: &Self) -> bool {
        let of = |cell: &Self| cell.domain.as_ref().map(|domain| Arc::as_ptr(domain).cast::<()>());
        of(self).is_some() && of(self) == of(other)
    }

    /// Returns how the cell's models change.
    pub fn update_kind(&self) -> UpdateKind {
        update_kind(self.maker.as_ref())
    }
}

/// Returns how a policy's models change: models of private sums are recomputed with the sums.
pub(super) fn update_kind(maker: &dyn PolicyMaker) -> UpdateKind {
    if maker.sums().is_some_and(|need| 0 < need.n_features) { UpdateKind::Full } else { UpdateKind::RankOne }
}

/// Holds one trial's constants, mechanism and policy.
pub struct ReadyTrial {
    /// The function with its noise.
    pub instance: Instance,
    /// The channel that rewards pass through.
    pub mechanism: Channel,
    /// The public constants that the policy knows.
    pub setting: Setting,
    /// The policy before its first round.
    pub policy: Box<dyn Policy>,
}

impl ReadyCell {
    /// Makes one trial before its first round.
    ///
    /// # Errors
    /// If the function does not suit, the mechanism is refused, or the exploration factor lacks a constant.
    pub fn trial(&self, trial: u64) -> Result<ReadyTrial, Error> {
        let instance = match &self.functions {
            Some(functions) => functions.of(self.environment.as_ref(), trial)?,
            None => (self.environment.draw)(trial)?,
        };
        self.with(instance, trial)
    }

    /// Makes the functions of trials whose values a device has evaluated, without drawing them; the others are left out.
    ///
    /// # Errors
    /// If it gives wrong values, which each trial of a number divisible by `checked` tells.
    pub(super) fn evaluated(
        &self,
        domain: &dyn Domain,
        trials: &BTreeSet<u64>,
        checked: u64,
    ) -> Result<BTreeMap<u64, Instance>, Error> {
        let Some(sums) = &self.environment.sums else { return Ok(BTreeMap::new()) };
        let draw = || trials.par_iter().map(|&trial| (sums.draw)(trial).map(Arc::new)).collect();
        let found = domain.ends_of(&draw).map_err(scoring_error)?;
        let mut made = BTreeMap::new();
        for (&trial, (sum, ends)) in trials.iter().zip(found) {
            let Some((ends, instance)) = ends.and_then(|ends| Some((ends, (sums.instance)(sum, ends)?))) else { continue };
            if trial.is_multiple_of(checked) {
                let whole = (self.environment.draw)(trial)?;
                if (whole.best(), whole.range()) != (instance.best(), instance.range()) {
                    let problem = format!("a device evaluated the function of trial {trial} with its ends at points {ends:?}");
                    return Err(Error::Untrusted { problem, hint: None });
                }
            }
            made.insert(trial, instance);
        }
        Ok(made)
    }

    /// Returns the inputs of the environment, sealed.
    pub(super) fn inputs(&self) -> Option<Raw<Inputs>> {
        let points = self.environment.points.as_ref()?;
        Some(Raw::seal(Inputs::new(points.dimension(), Arc::clone(points.coordinates()))))
    }

    /// Returns the inputs that the trial's curator releases; `None` without a curator.
    fn released_inputs(&self, trial: u64) -> Result<Option<Arc<Released<ReleasedInputs>>>, Error> {
        let (Some(curator), Some(plan), Some(inputs)) = (&self.curator, &self.bandit.curator, self.inputs()) else {
            return Ok(None);
        };
        let released_inputs = curator.release(inputs, &mut self.streams.of(trial, Purpose::Curator));
        Ok(Some(Arc::new(released_inputs.map_err(|refusal| plan.place(refusal))?)))
    }

    /// Makes a trial with this function before its first round.
    pub(super) fn with(&self, instance: Instance, trial: u64) -> Result<ReadyTrial, Error> {
        let (facts, units) = (instance.facts(), instance.value_units());
        let bound_stated = instance.stated_range().is_some();
        let mechanism = self.bandit.privacy.channel(
            (facts, instance.has_public_points()),
            bound_stated,
            self.maker.sums(),
            units,
            instance.clip_range(),
        )?;
        if let Some(sums) = mechanism.sums() {
            allow(
                self.memory_bytes,
                &format!("the running sums of one trial by `{}` over {} rounds", sums.ledger().mechanism, self.plan.rounds),
                8.0 * (sums.state() + self.plan.rounds as f64),
                "lower the number of features or `rounds`, take `blt`, or release on a schedule",
            )?;
        }
        let train = self.environment.train_readings.clone();
        let setting = Setting {
            released_inputs: self.released_inputs(trial)?,
            ..Setting::new(instance.facts(), instance.noise_scale(), &mechanism, train)
        };
        let policy = self.maker.make(&setting)?;
        Ok(ReadyTrial { instance, mechanism, setting, policy })
    }
}
