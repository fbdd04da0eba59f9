//! Moves trials to the CPU when their device fails.
//!
//! State lives in f64 with the trials, so the CPU can open its own screens from it. A device that is lost or has no memory
//! left answered correctly before: the CPU continues in the same round. A device that returned impossible data
//! ([`BackendError::Untrusted`]) may have answered wrongly before: the error goes to the caller, who starts again,
//! and by then every screen is the CPU's. In both cases no recorded number changes. A screen of the CPU may take more memory than
//! the device's: whoever plays many screens in turn asks [`Screen::is_on_device`].

use super::contract::Apart;
use super::{Ahead, Backend, Counters, Cpu, Domain, Screen, SumEnds, Together, UpdateKind};
use crate::BackendError;
use privateer_gp::KernelSum;
use privateer_gp::score::{Basis, Candidates, TrialScore};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type FailureObserver = Arc<dyn Fn(&BackendError) + Send + Sync>;

/// A backend with the CPU as its fallback.
pub struct Fallback {
    device: Arc<dyn Backend>,
    link: Arc<FallbackLink>,
}

/// State that all screens share: trust in the device, and the callback for failures.
struct FallbackLink {
    /// Reported messages; a lost device fails for every basis with the same words.
    said: Mutex<BTreeSet<String>>,
    told: FailureObserver,
}

impl FallbackLink {
    fn tell(&self, error: &BackendError) {
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(error.to_string()) {
            (self.told)(error);
        }
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Fallback {
    /// Adds the CPU as a fallback to `device`; `told` is called once per distinct failure message.
    pub fn new(device: Arc<dyn Backend>, told: impl Fn(&BackendError) + Send + Sync + 'static) -> Self {
        let link = FallbackLink { said: Mutex::default(), told: Arc::new(told) };
        Self { device, link: Arc::new(link) }
    }
}

impl Backend for Fallback {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn adapter(&self) -> Option<String> {
        self.device.adapter()
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, BackendError> {
        let device = match self.device.prepare(basis) {
            Ok(domain) => Some(domain),
            Err(error) if error.can_be_replaced() => {
                // Another basis may still suit the device.
                self.link.tell(&error);
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Arc::new(Arc::new(FallbackShared {
            basis: basis.clone(),
            device,
            failed: AtomicBool::new(false),
            cpu: OnceLock::new(),
            link: Arc::clone(&self.link),
        })))
    }
}

struct FallbackShared {
    basis: Basis,
    /// `None` if the basis does not suit the device.
    device: Option<Arc<dyn Domain>>,
    /// Whether the device has failed with this basis: it is lost, or has no memory for it.
    failed: AtomicBool,
    /// Created when first needed, because it may hold a table of its own.
    cpu: OnceLock<Arc<dyn Domain>>,
    link: Arc<FallbackLink>,
}

impl FallbackShared {
    fn device_in_use(&self) -> Option<&Arc<dyn Domain>> {
        self.device.as_ref().filter(|_| !self.failed.load(Ordering::SeqCst))
    }

    fn cpu(&self) -> &Arc<dyn Domain> {
        self.cpu.get_or_init(|| Cpu::default().domain(&self.basis))
    }

    /// Wraps a device's screen; `None` begins on the CPU.
    fn wrapped(self: &Arc<Self>, n_trials: usize, screen: Option<Box<dyn Screen>>) -> Box<dyn Screen> {
        Box::new(FallbackScreen {
            shared: Arc::clone(self),
            n_trials,
            on_device: screen.is_some(),
            screen: screen.unwrap_or_else(|| self.cpu().open(n_trials)),
            left: Counters::default(),
        })
    }
}

impl Domain for Arc<FallbackShared> {
    fn most_in_batch(&self) -> usize {
        self.device_in_use().map_or(usize::MAX, |device| device.most_in_batch())
    }

    fn batch(&self, update_kind: UpdateKind) -> usize {
        self.device_in_use().unwrap_or_else(|| self.cpu()).batch(update_kind)
    }

    fn in_flight(&self) -> usize {
        self.device_in_use().map_or(1, |device| device.in_flight())
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        self.wrapped(n_trials, self.device_in_use().map(|device| device.open(n_trials)))
    }

    fn open_ahead(&self, n_lanes: usize, n_rounds: u64) -> Option<Arc<Ahead>> {
        self.device_in_use().and_then(|device| device.open_ahead(n_lanes, n_rounds))
    }

    fn ends_of(&self, draw: &dyn Fn() -> Option<Vec<Arc<KernelSum>>>) -> Result<Vec<SumEnds>, BackendError> {
        self.device_in_use().map_or_else(|| Ok(Vec::new()), |device| device.ends_of(draw))
    }

    fn open_on_host(&self) -> Box<dyn Screen> {
        self.cpu().open(1)
    }

    fn lanes(&self, update_kind: UpdateKind) -> Option<usize> {
        self.device_in_use().and_then(|device| device.lanes(update_kind))
    }

    fn open_together(&self, sizes: &[usize], update_kind: UpdateKind) -> (Vec<Box<dyn Screen>>, Arc<dyn Together>) {
        let Some(device) = self.device_in_use() else {
            return (sizes.iter().map(|&n_trials| self.wrapped(n_trials, None)).collect(), Arc::new(Apart));
        };
        let (screens, together) = device.open_together(sizes, update_kind);
        (screens.into_iter().zip(sizes).map(|(screen, &n_trials)| self.wrapped(n_trials, Some(screen))).collect(), together)
    }
}

struct FallbackScreen {
    shared: Arc<FallbackShared>,
    n_trials: usize,
    on_device: bool,
    screen: Box<dyn Screen>,
    /// Counts of the screen that was abandoned.
    left: Counters,
}

impl FallbackScreen {
    /// Moves to the CPU after a device error; returns an error that the move does not resolve.
    fn leave(&mut self, error: BackendError) -> Result<(), BackendError> {
        if !self.on_device || !error.can_be_replaced() {
            return Err(error);
        }
        self.shared.failed.store(true, Ordering::SeqCst);
        self.shared.link.tell(&error);
        self.left.fallbacks += 1;
        self.left.add(&self.screen.counters());
        self.screen = self.shared.cpu().open(self.n_trials);
        self.on_device = false;
        Ok(())
    }
}

impl Screen for FallbackScreen {
    fn is_on_device(&self) -> bool {
        self.on_device && self.screen.is_on_device()
    }

    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        self.screen.begin(trials).or_else(|error| {
            self.leave(error)?;
            self.screen.begin(trials)
        })
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        self.screen.finish(trials, out).or_else(|error| {
            self.leave(error)?;
            self.screen.round(trials, out)
        })
    }

    fn counters(&self) -> Counters {
        let mut counters = self.left;
        counters.add(&self.screen.counters());
        counters
    }
}
