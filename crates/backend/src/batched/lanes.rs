//! Joins the rounds of several screens into one submission of a device.
//!
//! A lane is one trial on the device. Screens plan and pack their trials on any threads; one call sends all of them, one
//! waits for them, and each screen decodes its own answers. A screen that was opened alone makes both calls itself. A round
//! whose rows and factors do not fit one binding is sent in several submissions, of which the last is in flight.

use super::ledger::MemoryLedger;
use super::shared::BatchedShared;
use crate::device::{Answers, DeviceSlots, Parcel, Precision, SlotShape};
use crate::{BackendError, Counters, Together, UpdateKind};
use privateer_gp::score::GramSource;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The lanes of screens that send their rounds together.
pub struct Lanes {
    shared: Arc<BatchedShared>,
    n_lanes: usize,
    pub start: Precision,
    state: Mutex<LanesState>,
}

struct LanesState {
    /// The device's slots, or why there are none any more.
    slots: Result<Box<dyn DeviceSlots>, BackendError>,
    /// Cost of f32 so far, while f64 is an option.
    ledger: Option<MemoryLedger>,
    /// Stamp of the last submission.
    stamp: u32,
    moves: u32,
    /// Packed works that wait for the next submission, by the first lane of their screen.
    waiting: BTreeMap<usize, Parcel>,
    /// Parcels of the submission in flight.
    sent: BTreeMap<usize, Parcel>,
    /// The place of each screen's first work in the submission in flight.
    in_flight: BTreeMap<usize, usize>,
    /// Answers to all submissions of the round in flight but the last.
    early: Answers,
    /// Answers to the last works of each screen, and the place of the first one: a screen may read them later than others.
    answers: BTreeMap<usize, (Arc<Answers>, usize)>,
    counters: Counters,
}

/// What a screen must know to plan and pack a round.
pub struct LanesRound {
    pub shape: SlotShape,
    pub precision: Precision,
    /// Stamp of the coming submission.
    pub stamp: u32,
    /// Number of moves to f64 so far; each resets all lanes.
    pub moves: u32,
}

impl Lanes {
    /// Opens `n_lanes` lanes; without room for them on the device, every round fails.
    pub fn new(shared: Arc<BatchedShared>, n_lanes: usize, update_kind: UpdateKind) -> Self {
        let start = shared.start(update_kind);
        let state = LanesState {
            slots: shared.tables(start).and_then(|tables| tables.slots(n_lanes)),
            ledger: shared.doubles(start).map(|_| MemoryLedger::default()),
            stamp: 0,
            moves: 0,
            waiting: BTreeMap::new(),
            sent: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            early: Answers::default(),
            answers: BTreeMap::new(),
            counters: Counters::default(),
        };
        Self { shared, n_lanes, start, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, LanesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn round(&self) -> Result<LanesRound, BackendError> {
        self.state().round()
    }

    pub fn set_points(&self, lane: usize, gram: &dyn GramSource) -> Result<f64, BackendError> {
        self.state().slots.as_mut().map_err(|error| error.clone())?.set_points(lane, gram)
    }

    /// Returns an empty parcel, or a used one.
    pub fn parcel(&self, first: usize, precision: Precision) -> Parcel {
        let used = self.state().sent.remove(&first).filter(|parcel| parcel.precision() == precision);
        let mut parcel = used.unwrap_or_else(|| Parcel::new(precision));
        parcel.clear();
        parcel
    }

    /// Adds a screen's works to the next submission.
    pub fn add(&self, first: usize, parcel: Parcel) {
        let mut state = self.state();
        state.answers.remove(&first);
        state.waiting.insert(first, parcel);
    }

    pub fn charge(&self, costs: MemoryLedger) {
        if let Some(ledger) = &mut self.state().ledger {
            ledger.add(costs);
        }
    }

    /// Returns the answers to a submission with the last works of this screen, and the place of the first one.
    pub fn answers(&self, first: usize) -> Result<(Arc<Answers>, usize), BackendError> {
        let state = self.state();
        state.slots.as_ref().map_err(Clone::clone)?;
        state.answers.get(&first).cloned().ok_or_else(|| BackendError::lost("the round of a screen was not sent"))
    }

    /// Sends the works of one screen again, and waits for its answers. The others' are not in flight.
    ///
    /// * `pack` — packs them, given the round's stamp
    pub fn again(
        &self,
        pack: impl FnOnce(&LanesRound, &mut Parcel) -> Result<(), BackendError>,
    ) -> Result<Answers, BackendError> {
        let mut state = self.state();
        state.stamp = next(state.stamp);
        let round = state.round()?;
        let mut parcel = Parcel::new(round.precision);
        pack(&round, &mut parcel)?;
        let n_works = parcel.len();
        let slots = state.slots.as_mut().map_err(|error| error.clone())?;
        let before = slots.sent();
        let answers = slots.send(&mut [parcel]).and_then(|()| slots.receive());
        let bytes = slots.sent() - before;
        state.count(1, n_works, bytes);
        match &answers {
            Ok(answers) => state.counters.received += answers.bytes(),
            Err(error) => state.slots = Err(error.clone()),
        }
        answers
    }
}

/// Returns the stamp after this one; memory that was never written may hold 0.
fn next(stamp: u32) -> u32 {
    stamp.checked_add(1).unwrap_or(1)
}

/// Sends parcels in as few submissions as hold them; answers to all but the last go to `early`. Returns their number.
fn in_groups(slots: &mut dyn DeviceSlots, mut parcels: &mut [Parcel], early: &mut Answers) -> Result<u64, BackendError> {
    let most = slots.shape().most_coefficients;
    *early = Answers::default();
    let mut submissions = 0;
    while !parcels.is_empty() {
        if 0 < submissions {
            early.append(&slots.receive()?);
        }
        let mut sum = 0usize;
        let fits = |parcel: &&Parcel| {
            sum = sum.saturating_add(parcel.n_coefficients());
            sum <= most
        };
        let n = parcels.iter().take_while(fits).count().max(1);
        let (group, rest) = parcels.split_at_mut(n);
        slots.send(group)?;
        (parcels, submissions) = (rest, submissions + 1);
    }
    Ok(submissions)
}

impl LanesState {
    fn round(&self) -> Result<LanesRound, BackendError> {
        let slots = self.slots.as_ref().map_err(Clone::clone)?;
        Ok(LanesRound { shape: slots.shape(), precision: slots.precision(), stamp: self.stamp, moves: self.moves })
    }

    fn count(&mut self, submissions: u64, n_works: usize, sent: u64) {
        self.counters.submissions += submissions;
        self.counters.lanes += n_works as u64;
        self.counters.sent += sent;
    }
}

impl Together for Lanes {
    /// Moves to f64 once f32 has cost as much; all lanes are reset.
    fn prepare(&self) {
        let mut state = self.state();
        state.stamp = next(state.stamp);
        let (Some(ledger), Some(sizes)) = (&state.ledger, self.shared.doubles(self.start)) else { return };
        if !ledger.is_dear(sizes, self.n_lanes) {
            return;
        }
        state.ledger = None;
        // Without room for f64 the lanes stay in f32.
        let Ok(slots) = self.shared.tables(Precision::F64).and_then(|tables| tables.slots(self.n_lanes)) else { return };
        state.counters.doubled += 1;
        state.moves += 1;
        state.slots = Ok(slots);
    }

    fn send(&self) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Ok(slots) = &mut state.slots else { return };
        if state.waiting.is_empty() {
            return;
        }
        let (mut at, mut places) = (0, BTreeMap::new());
        for (first, parcel) in &state.waiting {
            places.insert(*first, at);
            at += parcel.len();
        }
        let (firsts, mut parcels): (Vec<usize>, Vec<Parcel>) = std::mem::take(&mut state.waiting).into_iter().unzip();
        let before = slots.sent();
        let sent = in_groups(slots.as_mut(), &mut parcels, &mut state.early);
        let bytes = slots.sent() - before;
        state.sent = firsts.into_iter().zip(parcels).collect();
        match sent {
            Ok(submissions) => {
                state.in_flight = places;
                state.count(submissions, at, bytes);
            }
            Err(error) => state.slots = Err(error),
        }
    }

    fn receive(&self) {
        let mut guard = self.state();
        let state = &mut *guard;
        let places = std::mem::take(&mut state.in_flight);
        let Ok(slots) = &mut state.slots else { return };
        if places.is_empty() {
            return;
        }
        match slots.receive() {
            Ok(mut answers) => {
                if state.early.len() != 0 {
                    state.early.append(&answers);
                    answers = std::mem::take(&mut state.early);
                }
                state.counters.received += answers.bytes();
                let answers = Arc::new(answers);
                state.answers.extend(places.into_iter().map(|(first, place)| (first, (Arc::clone(&answers), place))));
            }
            Err(error) => state.slots = Err(error),
        }
    }

    fn counters(&self) -> Counters {
        self.state().counters
    }
}
