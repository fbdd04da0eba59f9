//! A backend that gives its trials to the CPU when its device is lost.
//!
//! State lives in f64 with the trials, so the CPU can open its own screens from it. A device that is lost or has no memory left
//! ([`Error::Device`]) has answered rightly so far: the CPU carries on in the same round and nothing recorded changes. A device
//! that gave a wrong answer ([`Error::Untrusted`]) may have done so before: that error ends the run.

use super::{Backend, Counters, Cpu, Domain, Screen, UpdateKind};
use privateer_config::error::Error;
use privateer_gp::score::{Basis, Candidates, TrialScore};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is called with each failure.
type FailureObserver = Arc<dyn Fn(&Error) + Send + Sync>;

/// A backend with the CPU behind it.
pub struct Fallback {
    device: Arc<dyn Backend>,
    link: Arc<FallbackLink>,
}

/// What all screens share: who is told of failures.
struct FallbackLink {
    /// What was told already: a lost device fails for every basis with the same words.
    said: Mutex<BTreeSet<String>>,
    told: FailureObserver,
}

impl FallbackLink {
    fn tell(&self, error: &Error) {
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
    /// `device` with the CPU behind it; `told` is called once with each failure that is worded differently.
    pub fn new(device: Arc<dyn Backend>, told: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        let link = FallbackLink { said: Mutex::default(), told: Arc::new(told) };
        Self { device, link: Arc::new(link) }
    }
}

/// Failures that the CPU makes good.
fn is_of_device(error: &Error) -> bool {
    matches!(error, Error::Device { .. })
}

impl Backend for Fallback {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn adapter(&self) -> Option<String> {
        self.device.adapter()
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, Error> {
        let device = match self.device.prepare(basis) {
            Ok(domain) => Some(domain),
            Err(error) if is_of_device(&error) => {
                // Another basis may still suit the device.
                self.link.tell(&error);
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Arc::new(FallbackDomain(Arc::new(FallbackShared {
            basis: basis.clone(),
            device,
            failed: AtomicBool::new(false),
            cpu: Mutex::new(None),
            link: Arc::clone(&self.link),
        }))))
    }
}

struct FallbackShared {
    basis: Basis,
    /// `None` where the basis does not suit the device.
    device: Option<Arc<dyn Domain>>,
    /// The device has failed with this basis: it is lost, or has no room for it.
    failed: AtomicBool,
    /// Made when first needed: it may hold a table of its own.
    cpu: Mutex<Option<Arc<dyn Domain>>>,
    link: Arc<FallbackLink>,
}

impl FallbackShared {
    fn device(&self) -> Option<&Arc<dyn Domain>> {
        self.device.as_ref().filter(|_| !self.failed.load(Ordering::SeqCst))
    }

    fn cpu(&self) -> Result<Arc<dyn Domain>, Error> {
        let mut cpu = self.cpu.lock().unwrap_or_else(PoisonError::into_inner);
        match cpu.as_ref() {
            Some(domain) => Ok(Arc::clone(domain)),
            None => Ok(Arc::clone(cpu.insert(Cpu::default().prepare(&self.basis)?))),
        }
    }
}

struct FallbackDomain(Arc<FallbackShared>);

impl Domain for FallbackDomain {
    fn most_in_batch(&self) -> usize {
        self.0.device().map_or(usize::MAX, |device| device.most_in_batch())
    }

    fn batch(&self, update_kind: UpdateKind) -> usize {
        match self.0.device() {
            Some(device) => device.batch(update_kind),
            None => self.0.cpu().map_or(1, |cpu| cpu.batch(update_kind)),
        }
    }

    fn in_flight(&self) -> usize {
        self.0.device().map_or(1, |device| device.in_flight())
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        let screen = self.0.device().map(|device| device.open(n_trials));
        Box::new(FallbackScreen {
            shared: Arc::clone(&self.0),
            n_trials,
            on_device: screen.is_some(),
            screen,
            left: Counters::default(),
        })
    }
}

struct FallbackScreen {
    shared: Arc<FallbackShared>,
    n_trials: usize,
    on_device: bool,
    /// `None` until the CPU's is needed.
    screen: Option<Box<dyn Screen>>,
    /// Counts of a screen that was left.
    left: Counters,
}

impl FallbackScreen {
    fn screen(&mut self) -> Result<&mut Box<dyn Screen>, Error> {
        if self.screen.is_none() {
            self.screen = Some(self.shared.cpu()?.open(self.n_trials));
        }
        self.screen.as_mut().ok_or_else(|| Error::Failed {
            problem: "a screen could not be opened".to_owned(),
            hint: "this is a fault of the program: please report it".to_owned(),
        })
    }

    /// Leaves the device for the CPU if the device is lost; returns any other error.
    fn leave(&mut self, error: Error) -> Result<(), Error> {
        if !self.on_device || !is_of_device(&error) {
            return Err(error);
        }
        self.shared.failed.store(true, Ordering::SeqCst);
        self.shared.link.tell(&error);
        self.left.fallbacks += 1;
        if let Some(screen) = self.screen.take() {
            self.left.add(&screen.counters());
        }
        self.on_device = false;
        Ok(())
    }
}

impl Screen for FallbackScreen {
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), Error> {
        match self.screen()?.begin(trials) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.leave(error)?;
                self.screen()?.begin(trials)
            }
        }
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), Error> {
        match self.screen()?.finish(trials, out) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.leave(error)?;
                self.screen()?.round(trials, out)
            }
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = self.left;
        if let Some(screen) = &self.screen {
            counters.add(&screen.counters());
        }
        counters
    }
}
