//! Screens trials in lockstep on a device.

use super::lanes::{Lanes, LanesRound};
use super::ledger::MemoryLedger;
use super::shared::BatchedShared;
use super::slot_plan::{SlotPlan, SlotTask, largest};
use super::trust::{plausible, violations};
use crate::BackendError;
use crate::device::{Answer, Answers, CAPACITY, DeviceBand, Parcel, Precision, SlotWork, Start, Tables};
use crate::playable::playable;
use crate::scale::Scale;
use crate::slot::{SlotBasis, SlotState};
use crate::{Band, Counters, Screen, Together, UpdateKind};
use privateer_gp::score::{Basis, Candidates, Change, Factor, TrialScore, lowest_within_tie};
use std::sync::Arc;

/// Scale and kernel error of a trial's own inputs.
pub type Own = (Arc<Scale>, f64);

/// A batch of trials on a device; see [`Screen`].
pub struct BatchedScreen {
    pub shared: Arc<BatchedShared>,
    lanes: Arc<Lanes>,
    /// Lane of the first trial.
    first: usize,
    /// Whether no other screen shares the lanes.
    alone: bool,
    pub precision: Precision,
    /// Bound on the device's error of a feature, or of a column shared by all trials.
    kernel_error: f64,
    /// Moves of the lanes to f64 that the slots have followed.
    moves: u32,
    /// Cost of this round in f32.
    ledger: MemoryLedger,
    pub slots: Vec<SlotState>,
    own: Vec<Option<Own>>,
    stamp: u32,
    asked: Vec<SlotTask>,
    pub counters: Counters,
}

impl BatchedScreen {
    /// Creates the screen of `n_trials` trials with lanes of its own.
    pub fn alone(shared: Arc<BatchedShared>, n_trials: usize) -> Self {
        let lanes = Arc::new(Lanes::new(Arc::clone(&shared), n_trials, UpdateKind::RankOne));
        Self { alone: true, ..Self::of(shared, lanes, 0, n_trials) }
    }

    /// Creates the screen of the `n_trials` trials in these lanes, from lane `first` on.
    pub fn of(shared: Arc<BatchedShared>, lanes: Arc<Lanes>, first: usize, n_trials: usize) -> Self {
        let precision = lanes.start;
        Self {
            lanes,
            first,
            alone: false,
            precision,
            kernel_error: shared.tables(precision).map_or(0.0, Tables::kernel_error),
            moves: 0,
            ledger: MemoryLedger::default(),
            slots: (0..n_trials).map(|i| SlotState::new(7 * (first + i))).collect(),
            own: vec![None; n_trials],
            shared,
            stamp: 0,
            asked: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Resets all slots if the lanes have moved to another type.
    fn follow(&mut self, round: &LanesRound) {
        self.stamp = round.stamp;
        if self.moves == round.moves {
            return;
        }
        (self.moves, self.precision) = (round.moves, round.precision);
        self.kernel_error = self.shared.tables(self.precision).map_or(0.0, Tables::kernel_error);
        for slot in &mut self.slots {
            let scanned = slot.scanned.take();
            *slot = SlotState::new(slot.next_checked);
            slot.scanned = scanned;
        }
    }

    /// Returns the scale and kernel error of a trial's basis.
    ///
    /// Uploads a trial's own inputs to the device at their first use.
    pub fn facts(&mut self, request: &TrialScore<'_>) -> Result<Own, BackendError> {
        if !matches!(self.shared.basis, Basis::Own(_)) {
            return Ok((Arc::clone(&self.shared.scale), self.kernel_error));
        }
        if let Some(own) = &self.own[request.trial] {
            return Ok(own.clone());
        }
        let Some(gram) = request.model.own_gram() else {
            let problem = "a policy over inputs of its trials' own has none in one of them".to_owned();
            return Err(BackendError::Misused { problem });
        };
        let error = self.lanes.set_points(self.first + request.trial, gram.as_ref())?;
        let own = (Arc::new(Scale::of(&Basis::Gram(Arc::clone(gram)))), error);
        self.own[request.trial] = Some(own.clone());
        Ok(own)
    }

    fn band(&self, request: &TrialScore<'_>) -> DeviceBand {
        match self.shared.band {
            Band::Zero => DeviceBand::default(),
            _ => self.slots[request.trial].band(request.beta, &request.model.state_error(), self.precision),
        }
    }

    fn pack(
        &self,
        request: &TrialScore<'_>,
        plan: &SlotPlan<'_>,
        round: &LanesRound,
        parcel: &mut Parcel,
    ) -> Result<(), BackendError> {
        let work = SlotWork {
            slot: self.first + request.trial,
            start: &plan.start,
            visit: plan.visit,
            basis: request.model.basis_points(),
            beta: request.beta,
            band: self.band(request),
            subset: request.subset,
        };
        parcel.add(&round.shape, round.stamp, &work)
    }

    /// Decodes and checks the answer to a request.
    fn checked(
        &mut self,
        answers: &Answers,
        place: usize,
        request: &TrialScore<'_>,
        answer: &mut Answer,
    ) -> Result<(), BackendError> {
        let n_points = self.shared.basis.n_points();
        answers.read(place, answer)?;
        plausible(answer, self.stamp, n_points, request.subset)?;
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
        Ok(())
    }

    fn charge(&mut self, points: usize) {
        if let Some(sizes) = self.shared.doubles(self.precision) {
            self.ledger.score(points, sizes.m);
        }
    }

    /// Counts a slot's round on the device, and whether its candidates caused a reset.
    pub fn count_round(&mut self, from_factor: bool, restarted: bool) {
        if let Some(sizes) = self.shared.doubles(self.precision) {
            self.ledger.screen(sizes, from_factor && !restarted);
            if restarted {
                self.ledger.start(sizes.m);
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
    fn is_on_device(&self) -> bool {
        true
    }

    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        if self.alone {
            self.lanes.prepare();
        }
        let mut round = self.lanes.round()?;
        self.follow(&round);
        self.asked.clear();
        if matches!(self.shared.basis, Basis::Own(_)) {
            // A trial's own points change the layout of the slots.
            for request in trials {
                self.facts(request)?;
            }
            round = self.lanes.round()?;
        }
        let (mut first, mut parcel) = (self.first, self.lanes.parcel(self.first, round.precision));
        let most = round.shape.most_coefficients.saturating_sub(round.shape.most_of_a_work());
        let shared = Arc::clone(&self.shared);
        for request in trials {
            let own = self.own[request.trial].clone();
            let (scale, kernel_error) =
                own.as_ref().map_or((&*shared.scale, self.kernel_error), |(scale, error)| (scale, *error));
            let (asked, plan) = self.plan(request, scale, kernel_error);
            self.asked.push(asked);
            if let Some(plan) = plan {
                if most < parcel.n_coefficients() {
                    let full = std::mem::replace(&mut parcel, Parcel::new(round.precision));
                    self.lanes.add(first, full);
                    first = self.first + request.trial;
                }
                self.pack(request, &plan, &round, &mut parcel)?;
            }
        }
        if parcel.is_empty() {
            return Ok(());
        }
        self.lanes.add(first, parcel);
        if self.alone {
            self.lanes.send();
            self.lanes.round()?;
        }
        Ok(())
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        let asked = std::mem::take(&mut self.asked);
        let (answers, mut place) = if asked.iter().any(|asked| matches!(asked, SlotTask::Device { .. })) {
            if self.alone {
                self.lanes.receive();
            }
            self.lanes.answers(self.first)?
        } else {
            (Arc::default(), 0)
        };
        let (mut again, mut answer) = (Vec::new(), Answer::default());
        for (i, ((request, asked), out)) in trials.iter().zip(&asked).zip(out.iter_mut()).enumerate() {
            match *asked {
                SlotTask::Prior => {
                    let (scale, _) = self.facts(request)?;
                    scale.best_priors(request.beta, request.subset, out);
                }
                SlotTask::Scan => self.scan(request, out),
                SlotTask::Device { from_factor } => {
                    self.checked(&answers, place, request, &mut answer)?;
                    place += 1;
                    if self.take(request, &answer, out) {
                    } else if !from_factor
                        && (matches!(request.change, Change::Weights { .. }) || matches!(self.shared.basis, Basis::Table(_)))
                    {
                        again.push(i);
                    } else {
                        self.scan(request, out);
                    }
                }
            }
        }
        self.score_again(trials, &again, out)?;
        self.lanes.charge(std::mem::take(&mut self.ledger));
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
        let mut counters = self.counters;
        if self.alone {
            counters.add(&self.lanes.counters());
        }
        counters
    }
}

impl BatchedScreen {
    /// Scores again the trials with more candidates than a device reports.
    ///
    /// First from a factor, which narrows the band; then by exact scores.
    fn score_again(&mut self, trials: &[TrialScore<'_>], again: &[usize], out: &mut [Candidates]) -> Result<(), BackendError> {
        if again.is_empty() {
            return Ok(());
        }
        if self.lanes.round()?.moves != self.moves {
            // The lanes have moved to f64 for the next round.
            again.iter().for_each(|&i| self.scan(&trials[i], &mut out[i]));
            return Ok(());
        }
        let (precision, scale) = (self.precision, Arc::clone(&self.shared.scale));
        let kernel_error = self.kernel_error;
        let mut planned = Vec::new();
        for &i in again {
            let request = &trials[i];
            let basis = SlotBasis { scale: &scale, prior: request.model.prior_variance_bound(), kernel_error, precision };
            let (slot, state) = (&mut self.slots[request.trial], request.model.state_error());
            let fits = |factor: &Factor<'_>| slot.start_factor(factor, &basis, &state);
            let factor = request.model.factor().filter(fits);
            self.slots[request.trial].follow(&state);
            match factor {
                Some(factor) => planned.push((i, SlotPlan { start: Start::Factor(factor), visit: None })),
                None => self.scan(request, &mut out[i]),
            }
        }
        if planned.is_empty() {
            return Ok(());
        }
        self.counters.rebuilds += planned.len() as u64;
        planned.iter().for_each(|_| self.count_round(true, true));
        let shape = self.lanes.round()?.shape;
        let most = shape.most_coefficients.checked_div(shape.most_of_a_work()).unwrap_or(usize::MAX).max(1);
        let mut answer = Answer::default();
        for planned in planned.chunks(most) {
            let mut stamp = 0;
            let answers = self.lanes.again(|round, parcel| {
                stamp = round.stamp;
                planned.iter().try_for_each(|(i, plan)| self.pack(&trials[*i], plan, round, parcel))
            })?;
            self.stamp = stamp;
            for (place, (i, _)) in planned.iter().enumerate() {
                let request = &trials[*i];
                self.checked(&answers, place, request, &mut answer)?;
                if !self.take(request, &answer, &mut out[*i]) {
                    self.scan(request, &mut out[*i]);
                }
            }
        }
        Ok(())
    }
}
