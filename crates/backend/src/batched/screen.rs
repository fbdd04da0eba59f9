//! Screens trials in lockstep on a device.

use super::backend::BatchedShared;
use super::ledger::MemoryLedger;
use super::plan::{OwnedStart, SlotPlan, SlotTask, largest};
use super::trust::{plausible, violations};
use crate::BackendError;
use crate::device::{Answer, Band4, CAPACITY, DeviceSlots, Precision, SlotWork, Tables};
use crate::playable::playable;
use crate::scale::Scale;
use crate::slot::SlotState;
use crate::{Band, Counters, Screen};
use privateer_gp::score::{Basis, Candidates, Change, TrialScore, lowest_within_tie};
use std::sync::Arc;

/// Scale and kernel error of a trial's own inputs.
pub type Own = (Arc<Scale>, f64);

/// A batch of trials on a device; see [`Screen`].
pub struct BatchedScreen {
    /// Data that all screens share.
    pub shared: Arc<BatchedShared>,
    on_device: Result<Box<dyn DeviceSlots>, BackendError>,
    /// Floating-point type of the slots.
    pub precision: Precision,
    /// Cost of f32 so far, while f64 is an option.
    ledger: Option<MemoryLedger>,
    /// One slot per trial.
    pub slots: Vec<SlotState>,
    own: Vec<Option<Own>>,
    stamp: u32,
    asked: Vec<SlotTask>,
    answers: Vec<Answer>,
    /// Counts of events so far.
    pub counters: Counters,
}

impl BatchedScreen {
    /// Creates the screen of `n_trials` trials.
    pub fn new(shared: Arc<BatchedShared>, on_device: Result<Box<dyn DeviceSlots>, BackendError>, n_trials: usize) -> Self {
        Self {
            on_device,
            precision: shared.precision,
            ledger: shared.doubles().map(|_| MemoryLedger::default()),
            slots: (0..n_trials).map(|i| SlotState::new(7 * i)).collect(),
            own: vec![None; n_trials],
            shared,
            stamp: 0,
            asked: Vec::new(),
            answers: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Moves to f64 once f32 has cost as much; all slots are reset.
    fn double(&mut self) {
        let (Some(ledger), Some(sizes)) = (&self.ledger, self.shared.doubles()) else { return };
        if !ledger.is_dear(sizes, self.slots.len()) {
            return;
        }
        self.ledger = None;
        let shared = Arc::clone(&self.shared);
        // Without room for f64 the screen stays in f32.
        let Some(Ok(slots)) = shared.doubled().map(|tables| tables.slots(self.slots.len())) else { return };
        self.counters.sent += self.sent();
        self.counters.doubled += 1;
        self.on_device = Ok(slots);
        self.precision = Precision::F64;
        for slot in &mut self.slots {
            let scanned = slot.scanned.take();
            *slot = SlotState::new(slot.next_checked);
            slot.scanned = scanned;
        }
    }

    /// Returns the bytes sent to the present slots.
    fn sent(&self) -> u64 {
        self.on_device.as_ref().map_or(0, |slots| slots.sent())
    }

    /// Returns the device's error bound of a feature, or of a column shared by all trials.
    fn kernel_error(&self) -> f64 {
        let tables = if self.precision == self.shared.precision { Some(&*self.shared.tables) } else { self.shared.doubled() };
        tables.map_or(0.0, Tables::kernel_error)
    }

    fn device(&mut self) -> Result<&mut Box<dyn DeviceSlots>, BackendError> {
        match &mut self.on_device {
            Ok(slots) => Ok(slots),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the scale and kernel error of a trial's basis.
    ///
    /// Uploads a trial's own inputs to the device at their first use.
    pub fn facts(&mut self, request: &TrialScore<'_>) -> Result<Own, BackendError> {
        if !matches!(self.shared.basis, Basis::Own(_)) {
            return Ok((Arc::clone(&self.shared.scale), self.kernel_error()));
        }
        if let Some(own) = &self.own[request.trial] {
            return Ok(own.clone());
        }
        let Some(gram) = request.model.own_gram() else {
            let problem = "a policy over inputs of its trials' own has none in one of them".to_owned();
            return Err(BackendError::Misused { problem });
        };
        let error = self.device()?.set_points(request.trial, gram.as_ref())?;
        let own = (Arc::new(Scale::of(&Basis::Gram(Arc::clone(gram)))), error);
        self.own[request.trial] = Some(own.clone());
        Ok(own)
    }

    /// Returns the band that is sent to the device.
    fn band(&self, request: &TrialScore<'_>) -> Band4 {
        match self.shared.band {
            Band::Zero => Band4::default(),
            _ => self.slots[request.trial].band(request.beta, request.model.state_error(), self.precision),
        }
    }

    /// Submits these requests to the device.
    fn submit(&mut self, planned: &[(TrialScore<'_>, SlotPlan<'_>)]) -> Result<(), BackendError> {
        // Memory that was never written may hold 0.
        self.stamp = self.stamp.checked_add(1).unwrap_or(1);
        let stamp = self.stamp;
        let work: Vec<SlotWork<'_>> = planned
            .iter()
            .map(|(request, plan)| SlotWork {
                slot: request.trial,
                start: plan.start.borrowed(),
                visit: plan.visit,
                basis: request.model.basis_points(),
                beta: request.beta,
                band: self.band(request),
                subset: request.subset,
            })
            .collect();
        self.device()?.submit(stamp, &work)
    }

    /// Waits for the device and checks its answers: one for each request, in order.
    fn collect(&mut self, requests: &[TrialScore<'_>]) -> Result<Vec<Answer>, BackendError> {
        let mut answers = std::mem::take(&mut self.answers);
        let stamp = self.stamp;
        self.device()?.collect(&mut answers)?;
        if answers.len() != requests.len() {
            return Err(BackendError::untrusted(format!("gave {} answers to {} requests", answers.len(), requests.len())));
        }
        let n_points = self.shared.basis.n_points();
        for (answer, request) in answers.iter_mut().zip(requests) {
            plausible(answer, stamp, n_points, request.subset)?;
            let slot = &mut self.slots[request.trial];
            if request.subset.is_none() {
                slot.seen(answer.largest_mean, answer.largest_variance);
            }
            let broken = if self.shared.band == Band::Proved { violations(slot, answer, request, n_points) } else { 0 };
            if 0 < broken {
                self.counters.violations += broken;
                return Err(BackendError::untrusted(format!(
                    "claims scores between {} and {} for the best of trial {}, and exact scores lie beyond",
                    answer.best_lower, answer.best_upper, request.trial
                )));
            }
        }
        Ok(answers)
    }

    /// Counts exact scores of `points` points.
    fn charge(&mut self, points: usize) {
        if let (Some(ledger), Some(sizes)) = (&mut self.ledger, self.shared.doubles()) {
            ledger.score(points, sizes.m);
        }
    }

    /// Counts a slot's round on the device, and whether its candidates caused a reset.
    pub fn count_round(&mut self, from_factor: bool, restarted: bool) {
        if let (Some(ledger), Some(sizes)) = (&mut self.ledger, self.shared.doubles()) {
            ledger.screen(sizes, from_factor && !restarted);
            if restarted {
                ledger.start(sizes.m);
            }
        }
    }

    /// Finds the best point by exact scores of all points, which become the slot's next reset.
    fn scan(&mut self, request: &TrialScore<'_>, out: &mut Candidates) {
        self.counters.scans += 1;
        self.charge(request.subset.map_or(self.shared.basis.n_points(), <[u32]>::len));
        out.points.clear();
        let exact = |point: u32| (point, request.model.exact(point as usize));
        let all: Vec<_> = playable(self.shared.basis.n_points(), request.subset).map(exact).collect();
        let scored: Vec<(u32, f64)> = all.iter().map(|(point, moments)| (*point, moments.upper(request.beta))).collect();
        match lowest_within_tie(&scored) {
            // Exact scores of all points give one best point.
            Some(point) => out.points.push(point),
            // A NaN is passed on: the decision reports it.
            None => out.points.extend(scored.iter().map(|(point, _)| *point)),
        }
        let slot = &mut self.slots[request.trial];
        if request.subset.is_none() && slot.fresh {
            let (mean, variance): (Vec<f64>, Vec<f64>) = all.iter().map(|(_, m)| (m.mean, m.variance)).unzip();
            let fits = largest(&mean) <= self.precision.largest();
            slot.scanned = fits.then_some((mean, variance));
        }
    }

    /// Accepts an answer that names all of its candidates; returns false for any other.
    fn take(&mut self, request: &TrialScore<'_>, answer: &Answer, out: &mut Candidates) -> bool {
        if CAPACITY < answer.count as usize {
            return false;
        }
        self.slots[request.trial].extra += u64::from(answer.count - 1);
        self.charge(answer.count as usize - 1);
        out.points.clear();
        out.points.extend_from_slice(&answer.points);
        true
    }
}

impl Screen for BatchedScreen {
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        self.double();
        self.asked.clear();
        let mut planned = Vec::with_capacity(trials.len());
        for request in trials {
            let (asked, plan) = self.plan(request)?;
            self.asked.push(asked);
            planned.extend(plan.map(|plan| (*request, plan)));
        }
        if planned.is_empty() { Ok(()) } else { self.submit(&planned) }
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        let asked = std::mem::take(&mut self.asked);
        let by_device = |asked: &SlotTask| matches!(asked, SlotTask::Device { .. });
        let requests: Vec<_> = trials.iter().zip(&asked).filter(|(_, a)| by_device(a)).map(|(request, _)| *request).collect();
        let answers = if requests.is_empty() { Vec::new() } else { self.collect(&requests)? };
        let mut next = answers.iter();
        let mut again = Vec::new();
        for (i, ((request, asked), out)) in trials.iter().zip(&asked).zip(out.iter_mut()).enumerate() {
            match *asked {
                SlotTask::Prior => {
                    let (scale, _) = self.facts(request)?;
                    scale.best_priors(request.beta, request.subset, out);
                }
                SlotTask::Scan => self.scan(request, out),
                SlotTask::Device { from_factor } => {
                    let Some(answer) = next.next() else { return Err(BackendError::untrusted("gave too few answers")) };
                    if self.take(request, answer, out) {
                    } else if !from_factor && (by_factor(request.change) || matches!(self.shared.basis, Basis::Table(_))) {
                        again.push(i);
                    } else {
                        self.scan(request, out);
                    }
                }
            }
        }
        self.answers = answers;
        self.score_again(trials, &again, out)?;
        for (request, answer) in trials.iter().zip(out.iter_mut()) {
            match self.shared.band {
                Band::Proved | Band::Stale => {}
                Band::Zero => answer.points.truncate(1),
                Band::Infinite => {
                    answer.points.clear();
                    answer.points.extend(playable(self.shared.basis.n_points(), request.subset));
                }
            }
            self.counters.rounds += 1;
            self.counters.candidates += answer.points.len() as u64;
            self.counters.ambiguous += u64::from(1 < answer.points.len());
        }
        self.asked = asked;
        Ok(())
    }

    fn counters(&self) -> Counters {
        Counters { sent: self.counters.sent + self.sent(), ..self.counters }
    }
}

impl BatchedScreen {
    /// Scores again the trials with more candidates than a device reports.
    ///
    /// First from a factor, which narrows the band; then by exact scores.
    fn score_again(&mut self, trials: &[TrialScore<'_>], again: &[usize], out: &mut [Candidates]) -> Result<(), BackendError> {
        let (precision, scale) = (self.precision, Arc::clone(&self.shared.scale));
        let kernel_error = self.kernel_error();
        let mut planned = Vec::new();
        for &i in again {
            let request = trials[i];
            let prior = request.model.prior_variance_bound();
            let slot = &mut self.slots[request.trial];
            match request.model.factor().filter(|factor| slot.start_factor(factor, &scale, prior, kernel_error, precision)) {
                Some(factor) => planned.push((i, (request, SlotPlan { start: OwnedStart::Factor(factor), visit: None }))),
                None => self.scan(&request, &mut out[i]),
            }
        }
        if planned.is_empty() {
            return Ok(());
        }
        self.counters.rebuilds += planned.len() as u64;
        planned.iter().for_each(|_| self.count_round(true, true));
        let (indices, planned): (Vec<usize>, Vec<_>) = planned.into_iter().unzip();
        self.submit(&planned)?;
        let requests: Vec<_> = planned.iter().map(|(request, _)| *request).collect();
        let answers = self.collect(&requests)?;
        for ((i, request), answer) in indices.into_iter().zip(&requests).zip(&answers) {
            if !self.take(request, answer, &mut out[i]) {
                self.scan(request, &mut out[i]);
            }
        }
        self.answers = answers;
        Ok(())
    }
}

/// Returns whether the model of such a change has a factor.
fn by_factor(change: Change<'_>) -> bool {
    matches!(change, Change::Weights { .. })
}
