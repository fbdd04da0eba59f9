//! Implements the slots of the reference device: the passes of a round, one after the other.

use super::buffers::{Buffers, MEAN};
use super::device::ReferenceTables;
use super::fault::Fault;
use super::{factor, project, select, update};
use crate::BackendError;
use crate::device::Real;
use crate::device::answer::{ANSWER_WORDS, HEADER, MAXIMA};
use crate::device::tables::DeviceColumns;
use crate::device::{Answers, DeviceSlots, Parcel, Precision, SlotShape};
use privateer_gp::score::GramSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots in one floating-point type.
pub struct ReferenceSlots<R> {
    pub(super) buffers: Buffers<R>,
    shape: SlotShape,
    fault: Option<Fault>,
    rounds: Arc<AtomicU64>,
    sent: u64,
    /// Number of answers of the round in flight.
    in_flight: Option<usize>,
}

impl<R: Real> ReferenceSlots<R> {
    pub(super) fn new(tables: &ReferenceTables<R>, n_slots: usize) -> Self {
        let mut buffers = Buffers::new(tables.shape.extent, n_slots, Arc::clone(&tables.source), Arc::clone(&tables.base));
        let fault = tables.reference.fault;
        buffers.dropped = usize::from(fault == Some(Fault::DropsLastFeature));
        buffers.skipped_tiles = usize::from(fault == Some(Fault::SkipsLastTile));
        Self {
            buffers,
            shape: SlotShape { n_slots, ..tables.shape.clone() },
            fault,
            rounds: Arc::clone(&tables.reference.rounds),
            sent: 0,
            in_flight: None,
        }
    }

    /// Runs all passes of a packed round.
    fn run(&mut self, not_a_number: bool) {
        let buffers = &mut self.buffers;
        for upload in &buffers.round.uploads {
            let at = buffers.plane(upload.slot as u32, MEAN);
            buffers.planes[at..at + upload.values.len()].copy_from_slice(&upload.values);
        }
        let from_kernel = matches!(self.shape.columns, DeviceColumns::Kernel { .. });
        buffers.not_a_number = not_a_number;
        factor::factor(buffers, from_kernel);
        match self.shape.columns {
            DeviceColumns::Features(_) => project::shared(buffers),
            DeviceColumns::Gram | DeviceColumns::Kernel { .. } => project::gather(buffers, from_kernel),
        }
        update::update(buffers);
        update::list(buffers);
        select::select(buffers);
    }
}

impl<R: Real> DeviceSlots for ReferenceSlots<R> {
    fn shape(&self) -> SlotShape {
        self.shape.clone()
    }

    fn precision(&self) -> Precision {
        R::PRECISION
    }

    fn send(&mut self, parcels: &mut [Parcel]) -> Result<(), BackendError> {
        let round = self.rounds.fetch_add(1, Ordering::Relaxed);
        self.in_flight = None;
        self.sent += self.buffers.round.gather(parcels.iter_mut().filter_map(R::packed))?;
        if self.shape.most_coefficients < self.buffers.round.coefficients.len() {
            return Err(BackendError::unsuitable("the rows and factors of a round do not fit a submission"));
        }
        let n_works = self.buffers.round.works.len();
        let after = |first: u64| first <= round;
        match self.fault {
            Some(Fault::LosesDevice { after_rounds }) if after(after_rounds) => {
                return Err(BackendError::lost("the device is lost (planted)"));
            }
            Some(Fault::WritesNothing { after_rounds }) if after(after_rounds) => {}
            Some(Fault::NotANumber { after_rounds }) => self.run(after(after_rounds)),
            _ => self.run(false),
        }
        if let Some(Fault::Garbage { after_rounds }) = self.fault
            && after(after_rounds)
        {
            for answer in self.buffers.answers.chunks_exact_mut(ANSWER_WORDS) {
                answer[HEADER] ^= 0x5555_5555;
            }
        }
        self.in_flight = Some(n_works);
        Ok(())
    }

    fn receive(&mut self) -> Result<Answers, BackendError> {
        let n = self.in_flight.take().ok_or_else(|| BackendError::lost("no round is in flight"))?;
        let (words, maxima) = (&self.buffers.answers, &self.buffers.maxima);
        Ok(Answers {
            words: words[..(n * ANSWER_WORDS).min(words.len())].to_vec(),
            maxima: maxima[..(n * MAXIMA).min(maxima.len())].iter().map(|value| value.wide()).collect(),
        })
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn set_points(&mut self, slot: usize, gram: &dyn GramSource) -> Result<f64, BackendError> {
        let own = self.shape.own_points::<R>(slot, gram)?;
        let room = |values: &[R]| Arc::new(vec![R::default(); self.shape.n_slots * values.len()]);
        if self.shape.kernels.is_empty() {
            (self.buffers.source, self.buffers.base) = (room(&own.coords), room(&own.base));
        }
        self.shape.take(slot, &own)?;
        for (all, values) in [(&mut self.buffers.source, &own.coords), (&mut self.buffers.base, &own.base)] {
            Arc::make_mut(all)[slot * values.len()..][..values.len()].copy_from_slice(values);
        }
        Ok(own.error)
    }
}
