//! The backend over a device, its prepared bases and its screens.

use super::trust::{plausible, untrusted, violations};
use crate::backend::device::{
    Answer, Band4, CAPACITY, Device, LaneWork, Lanes, NewMean, Precision, Start, TableSpec, Tables, Visit,
};
use crate::backend::lane::{Lane, fits};
use crate::backend::playable::playable;
use crate::backend::scale::Scale;
use crate::backend::{Backend, Band, Counters, Domain, Pace, Screen};
use crate::error::Error;
use crate::score::{Basis, Candidates, Change, Factor, ScoreModel, TrialScore, lowest_within_tie};
use std::sync::Arc;

/// Screens kept in flight: while one is scored, the trials of the other are updated.
const IN_FLIGHT: usize = 2;

/// Most trials in a batch: enough to fill a large device at a few thousand points.
const MOST_IN_BATCH: usize = 256;

/// A backend that screens on a device.
#[derive(Debug)]
pub struct Batched {
    device: Arc<dyn Device>,
    band: Band,
    precision: Option<Precision>,
}

impl Batched {
    /// Screens on this device, in f32 over features and in f64, where the device has it, over kernels: their differences
    /// cancel.
    #[must_use]
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self { device, band: Band::Proved, precision: None }
    }

    /// The same in one type for everything.
    #[must_use]
    pub fn with_precision(mut self, precision: Option<Precision>) -> Self {
        self.precision = precision;
        self
    }

    /// The same with another band, for tests of the contract.
    #[must_use]
    pub fn with_band(mut self, band: Band) -> Self {
        self.band = band;
        self
    }
}

impl Backend for Batched {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn adapter(&self) -> Option<String> {
        Some(self.device.description())
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, Error> {
        let spec = match basis {
            Basis::Table(table) => TableSpec::Features(table),
            Basis::Gram(gram) => TableSpec::Gram(gram.as_ref()),
            Basis::Own(n_points) => TableSpec::Own(*n_points),
        };
        if let Basis::Gram(gram) = basis
            && gram.dense_column(0).is_none()
            && gram.form().is_none()
        {
            return Err(Error::Device {
                problem: format!(
                    "a covariance of {} points is neither a table nor a formula that devices evaluate",
                    gram.n_points()
                ),
                hint: "use `--backend cpu`: the answers are the same".to_owned(),
            });
        }
        let precision = self.precision.unwrap_or(match basis {
            Basis::Gram(_) | Basis::Own(_) if self.device.computes_in(Precision::F64) => Precision::F64,
            _ => Precision::F32,
        });
        let tables = self.device.tables(spec, precision)?;
        Ok(Arc::new(BatchedDomain(Arc::new(Shared {
            scale: Arc::new(Scale::of(basis)),
            basis: basis.clone(),
            tables,
            band: self.band,
            precision,
        }))))
    }
}

/// What all screens over a basis share.
struct Shared {
    basis: Basis,
    scale: Arc<Scale>,
    tables: Box<dyn Tables>,
    band: Band,
    precision: Precision,
}

struct BatchedDomain(Arc<Shared>);

impl Domain for BatchedDomain {
    fn most_in_batch(&self) -> usize {
        IN_FLIGHT * self.0.tables.most_lanes()
    }

    fn batch(&self, _pace: Pace) -> usize {
        (IN_FLIGHT * self.0.tables.most_lanes()).clamp(1, MOST_IN_BATCH)
    }

    fn in_flight(&self) -> usize {
        IN_FLIGHT
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        let shared = Arc::clone(&self.0);
        let on_device = shared.tables.lanes(n_trials);
        Box::new(BatchedScreen {
            on_device,
            lanes: (0..n_trials).map(|i| Lane::new(7 * i)).collect(),
            own: vec![None; n_trials],
            shared,
            stamp: 0,
            asked: Vec::new(),
            answers: Vec::new(),
            counters: Counters::default(),
        })
    }
}

/// Who answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The device; whether it started from a factor.
    Device { from_factor: bool },
    /// The prior alone.
    Prior,
    /// Exact scores of every point: the numbers do not fit the device's type.
    Scan,
}

/// Scale and kernel error of a trial's own inputs.
type Own = (Arc<Scale>, f64);

struct BatchedScreen {
    shared: Arc<Shared>,
    on_device: Result<Box<dyn Lanes>, Error>,
    lanes: Vec<Lane>,
    own: Vec<Option<Own>>,
    stamp: u32,
    asked: Vec<Asked>,
    answers: Vec<Answer>,
    counters: Counters,
}

/// A start with its data.
enum OwnedStart<'a> {
    Keep,
    Prior,
    Upload(Vec<f64>, Vec<f64>),
    Factor(Factor<'a>),
}

/// A lane's part of a round with its data.
struct Plan<'a> {
    start: OwnedStart<'a>,
    visit: Option<Visit<'a>>,
}

impl BatchedScreen {
    fn device(&mut self) -> Result<&mut Box<dyn Lanes>, Error> {
        match &mut self.on_device {
            Ok(lanes) => Ok(lanes),
            Err(error) => {
                Err(Error::Device { problem: error.problem(), hint: "use `--backend cpu`: the answers are the same".to_owned() })
            }
        }
    }

    /// The scale and kernel error of a trial's basis; a trial's own inputs are put on the device when first met.
    fn facts(&mut self, request: &TrialScore<'_>) -> Result<Own, Error> {
        if !matches!(self.shared.basis, Basis::Own(_)) {
            return Ok((Arc::clone(&self.shared.scale), self.shared.tables.kernel_error()));
        }
        if let Some(own) = &self.own[request.trial] {
            return Ok(own.clone());
        }
        let Some(gram) = request.model.own_gram() else {
            return Err(Error::Failed {
                problem: "a policy over inputs of its trials' own has none in one of them".to_owned(),
                hint: "this is a fault of the policy, not of the device: please report it".to_owned(),
            });
        };
        let error = self.device()?.set_points(request.trial, gram.as_ref())?;
        let own = (Arc::new(Scale::of(&Basis::Gram(Arc::clone(gram)))), error);
        self.own[request.trial] = Some(own.clone());
        Ok(own)
    }

    /// Decides what a lane does this round. `None`: the host answers.
    fn plan<'a>(&mut self, request: &TrialScore<'a>) -> Result<(Asked, Option<Plan<'a>>), Error> {
        let (scale, kernel_error) = self.facts(request)?;
        let precision = self.shared.precision;
        let table = matches!(self.shared.basis, Basis::Table(_));
        let n_points = self.shared.basis.n_points();
        let model = request.model;
        let prior = model.prior_variance_bound();
        let lane = &mut self.lanes[request.trial];
        let observations = model.n_observations();
        if observations == 0 && !matches!(request.change, Change::Factor) {
            (lane.fresh, lane.has_row, lane.scanned) = (false, false, None);
            return Ok((Asked::Prior, None));
        }
        if !fits(&[prior, request.width, request.width * prior.sqrt()], precision) {
            (lane.fresh, lane.has_row, lane.scanned) = (false, false, None);
            return Ok((Asked::Scan, None));
        }
        let was_fresh = lane.fresh;
        let scanned = lane.scanned.take();
        // What a start costs: on the host a factorization, as much as an exact score a row of it, else an exact score a point.
        let price = match request.change {
            Change::Weights { row, .. } => row.len(),
            _ if table => scale.largest.len(),
            _ => n_points,
        };
        let dear = price.max(32) as u64 <= lane.extra;
        let (row, start_anew) = match request.change {
            Change::None => (None, !was_fresh || dear),
            Change::Rebuild | Change::Factor => (None, true),
            Change::Row { row, scale, mean_step, repeated, rebuilt } => {
                (Some((row, scale, NewMean::Step(mean_step), repeated)), rebuilt || !was_fresh || dear)
            }
            Change::Weights { row, scale, repeated, weights } => {
                (Some((row, scale, NewMean::Weights(weights), repeated)), !was_fresh || dear)
            }
        };
        let continues = !matches!(request.change, Change::Rebuild | Change::Factor | Change::Row { rebuilt: true, .. });
        let unit = precision.unit();
        let mut covers_row = false;
        let start = match scanned {
            Some((mean, variance)) if continues => {
                lane.start(prior, 0.0, largest(&mean), unit);
                OwnedStart::Upload(mean, variance)
            }
            _ if !start_anew => OwnedStart::Keep,
            _ if observations == 1 && row.is_some() && continues => {
                lane.start(prior, scale.prior_error, 0.0, unit);
                OwnedStart::Prior
            }
            _ => {
                covers_row = true;
                let factor = model.factor().filter(|f| lane.start_factor(f, &scale, prior, kernel_error, precision));
                match factor {
                    Some(factor) => OwnedStart::Factor(factor),
                    None if matches!(request.change, Change::Factor) => {
                        lane.fresh = false;
                        return Ok((Asked::Scan, None));
                    }
                    None => {
                        let (mean, variance) = exact_scores(model, n_points);
                        if !fits(&[largest(&mean)], precision) {
                            // A new row was not projected either.
                            (lane.fresh, lane.has_row) = (false, false);
                            return Ok((Asked::Scan, None));
                        }
                        lane.start(prior, 0.0, largest(&mean), unit);
                        OwnedStart::Upload(mean, variance)
                    }
                }
            }
        };
        let mut visit = None;
        match row {
            Some((_, _, _, repeated)) if covers_row => lane.has_row &= repeated,
            Some((row, scale_of_row, mean, repeated)) => {
                let new_row = !(repeated && lane.has_row);
                let fits = (!new_row || lane.row(row, &scale, prior, kernel_error, precision))
                    && match mean {
                        NewMean::Step(step) => lane.visit(scale_of_row, step, precision),
                        NewMean::Weights(w) => lane.visit_with(scale_of_row, w, &scale, prior, kernel_error, precision),
                    };
                if !fits {
                    (lane.fresh, lane.has_row) = (false, false);
                    return Ok((Asked::Scan, None));
                }
                visit = Some(Visit { row: new_row.then_some(row), scale: scale_of_row, mean });
            }
            None => lane.has_row &= matches!(request.change, Change::None),
        }
        let kept = matches!(start, OwnedStart::Keep);
        self.counters.rebuilds += u64::from(was_fresh && !kept && !matches!(request.change, Change::Factor));
        let from_factor = matches!(start, OwnedStart::Factor(_));
        Ok((Asked::Device { from_factor }, Some(Plan { start, visit })))
    }

    /// The band that goes to the device.
    fn band(&self, request: &TrialScore<'_>) -> Band4 {
        match self.shared.band {
            Band::Zero => Band4::default(),
            _ => self.lanes[request.trial].band(request.width, request.model.state_error(), self.shared.precision),
        }
    }

    /// Sets the device to work on these requests.
    fn submit(&mut self, planned: &[(TrialScore<'_>, Plan<'_>)]) -> Result<(), Error> {
        // 0 is what memory that was never written may hold.
        self.stamp = self.stamp.checked_add(1).unwrap_or(1);
        let stamp = self.stamp;
        let work: Vec<LaneWork<'_>> = planned
            .iter()
            .map(|(request, plan)| LaneWork {
                lane: request.trial,
                start: match &plan.start {
                    OwnedStart::Keep => Start::Keep,
                    OwnedStart::Prior => Start::Prior,
                    OwnedStart::Upload(mean, variance) => Start::Upload { mean, variance },
                    OwnedStart::Factor(factor) => Start::Factor(factor),
                },
                visit: plan.visit,
                basis: request.model.basis_points(),
                width: request.width,
                band: self.band(request),
                subset: request.subset,
            })
            .collect();
        self.device()?.submit(stamp, &work)
    }

    /// Waits for the device and checks what it says: one answer for each request, in order.
    fn collect(&mut self, requests: &[TrialScore<'_>]) -> Result<Vec<Answer>, Error> {
        let mut answers = std::mem::take(&mut self.answers);
        let stamp = self.stamp;
        self.device()?.collect(&mut answers)?;
        if answers.len() != requests.len() {
            return Err(untrusted(&format!("gave {} answers to {} requests", answers.len(), requests.len())));
        }
        let n_points = self.shared.basis.n_points();
        for (answer, request) in answers.iter_mut().zip(requests) {
            plausible(answer, stamp, n_points, request.subset)?;
            let lane = &mut self.lanes[request.trial];
            if request.subset.is_none() {
                lane.seen(answer.largest_mean, answer.largest_variance);
            }
            let broken = if self.shared.band == Band::Proved { violations(lane, answer, request, n_points) } else { 0 };
            if 0 < broken {
                self.counters.violations += broken;
                return Err(untrusted(&format!(
                    "claims scores between {} and {} for the best of trial {}, and exact scores lie beyond",
                    answer.best_lower, answer.best_upper, request.trial
                )));
            }
        }
        Ok(answers)
    }

    /// The best point by exact scores of all, which are kept as the lane's next start.
    fn scan(&mut self, request: &TrialScore<'_>, out: &mut Candidates) {
        self.counters.scans += 1;
        out.points.clear();
        let exact = |point: u32| (point, request.model.exact(point as usize));
        let all: Vec<_> = playable(self.shared.basis.n_points(), request.subset).map(exact).collect();
        let scored: Vec<(u32, f64)> = all.iter().map(|(point, moments)| (*point, moments.upper(request.width))).collect();
        match lowest_within_tie(&scored) {
            // By exact scores of all there is one best.
            Some(point) => out.points.push(point),
            // A NaN is handed on: the decision reports it.
            None => out.points.extend(scored.iter().map(|(point, _)| *point)),
        }
        let lane = &mut self.lanes[request.trial];
        if request.subset.is_none() && lane.fresh {
            let (mean, variance): (Vec<f64>, Vec<f64>) = all.iter().map(|(_, m)| (m.mean, m.variance)).unzip();
            let fits = largest(&mean) <= self.shared.precision.largest();
            lane.scanned = fits.then_some((mean, variance));
        }
    }

    /// Takes an answer that names all of its candidates; false for one that does not.
    fn take(&mut self, request: &TrialScore<'_>, answer: &Answer, out: &mut Candidates) -> bool {
        if CAPACITY < answer.count as usize {
            return false;
        }
        self.lanes[request.trial].extra += u64::from(answer.count - 1);
        out.points.clear();
        out.points.extend_from_slice(&answer.points);
        true
    }
}

impl Screen for BatchedScreen {
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), Error> {
        self.asked.clear();
        let mut planned = Vec::with_capacity(trials.len());
        for request in trials {
            let (asked, plan) = self.plan(request)?;
            self.asked.push(asked);
            planned.extend(plan.map(|plan| (*request, plan)));
        }
        if planned.is_empty() { Ok(()) } else { self.submit(&planned) }
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), Error> {
        let asked = std::mem::take(&mut self.asked);
        let by_device = |asked: &Asked| matches!(asked, Asked::Device { .. });
        let requests: Vec<_> = trials.iter().zip(&asked).filter(|(_, a)| by_device(a)).map(|(request, _)| *request).collect();
        let answers = if requests.is_empty() { Vec::new() } else { self.collect(&requests)? };
        let mut next = answers.iter();
        let mut again = Vec::new();
        for (i, ((request, asked), out)) in trials.iter().zip(&asked).zip(out.iter_mut()).enumerate() {
            match *asked {
                Asked::Prior => {
                    let (scale, _) = self.facts(request)?;
                    scale.best_priors(request.width, request.subset, out);
                }
                Asked::Scan => self.scan(request, out),
                Asked::Device { from_factor } => {
                    let Some(answer) = next.next() else { return Err(untrusted("gave too few answers")) };
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
        self.look_again(trials, &again, out)?;
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
        let sent = self.on_device.as_ref().map_or(0, |lanes| lanes.sent());
        Counters { sent, ..self.counters }
    }
}

impl BatchedScreen {
    /// Looks again at trials with more candidates than a device names: from a factor, which makes the band narrow; then by
    /// exact scores.
    fn look_again(&mut self, trials: &[TrialScore<'_>], again: &[usize], out: &mut [Candidates]) -> Result<(), Error> {
        let (precision, scale) = (self.shared.precision, Arc::clone(&self.shared.scale));
        let kernel_error = self.shared.tables.kernel_error();
        let mut planned = Vec::new();
        for &i in again {
            let request = trials[i];
            let prior = request.model.prior_variance_bound();
            let lane = &mut self.lanes[request.trial];
            match request.model.factor().filter(|factor| lane.start_factor(factor, &scale, prior, kernel_error, precision)) {
                Some(factor) => planned.push((i, (request, Plan { start: OwnedStart::Factor(factor), visit: None }))),
                None => self.scan(&request, &mut out[i]),
            }
        }
        if planned.is_empty() {
            return Ok(());
        }
        self.counters.rebuilds += planned.len() as u64;
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

/// Whether the model of such a change has a factor.
fn by_factor(change: Change<'_>) -> bool {
    matches!(change, Change::Weights { .. })
}

/// Mean and variance of every point.
fn exact_scores(model: &dyn ScoreModel, n_points: usize) -> (Vec<f64>, Vec<f64>) {
    (0..n_points).map(|point| model.exact(point)).map(|moments| (moments.mean, moments.variance)).unzip()
}

/// The largest magnitude; NaN if there is one.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| if value.is_nan() { f64::NAN } else { most.max(value.abs()) })
}
