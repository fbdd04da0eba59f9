//! A backend that gives its trials to the CPU when its device fails.
//!
//! A device may be lost, run out of memory or give back what cannot be. State lives in f64 with the trials, so the CPU opens
//! its own screens from it and carries on in the same round; nothing that is recorded changes.

use super::{Backend, Counters, Cpu, Domain, Screen};
use crate::error::Error;
use crate::score::{Basis, Candidates, TrialScore};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is called with each failure.
type Told = Arc<dyn Fn(&Error) + Send + Sync>;

/// A backend with the CPU behind it.
pub struct Fallback {
    device: Arc<dyn Backend>,
    link: Arc<Link>,
}

/// What all screens share: whether the device still works, and who is told that it does not.
struct Link {
    failed: AtomicBool,
    told: Told,
}

impl Link {
    /// The device has failed: no further screen is opened on it.
    fn fail(&self, error: &Error) {
        if !self.failed.swap(true, Ordering::SeqCst) {
            (self.told)(error);
        }
    }

    fn works(&self) -> bool {
        !self.failed.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("device", &self.device).field("works", &self.link.works()).finish_non_exhaustive()
    }
}

impl Fallback {
    /// `device` with the CPU behind it; `told` is called once when the device fails, and for each basis that does not suit it.
    pub fn new(device: Arc<dyn Backend>, told: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        Self { device, link: Arc::new(Link { failed: AtomicBool::new(false), told: Arc::new(told) }) }
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
        let device = if self.link.works() {
            match self.device.prepare(basis) {
                Ok(domain) => Some(domain),
                Err(error) if is_of_device(&error) => {
                    // Another basis may still suit the device.
                    (self.link.told)(&error);
                    None
                }
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        Ok(Arc::new(FallbackDomain(Arc::new(Shared {
            basis: basis.clone(),
            device,
            cpu: Mutex::new(None),
            link: Arc::clone(&self.link),
        }))))
    }
}

struct Shared {
    basis: Basis,
    /// `None` where the basis does not suit the device.
    device: Option<Arc<dyn Domain>>,
    /// Made when first needed: it may hold a table of its own.
    cpu: Mutex<Option<Arc<dyn Domain>>>,
    link: Arc<Link>,
}

impl Shared {
    fn device(&self) -> Option<&Arc<dyn Domain>> {
        self.device.as_ref().filter(|_| self.link.works())
    }

    fn cpu(&self) -> Result<Arc<dyn Domain>, Error> {
        let mut cpu = self.cpu.lock().unwrap_or_else(PoisonError::into_inner);
        match cpu.as_ref() {
            Some(domain) => Ok(Arc::clone(domain)),
            None => Ok(Arc::clone(cpu.insert(Cpu::default().prepare(&self.basis)?))),
        }
    }
}

struct FallbackDomain(Arc<Shared>);

impl Domain for FallbackDomain {
    fn batch(&self, rounds: u64) -> usize {
        match self.0.device() {
            Some(device) => device.batch(rounds),
            None => self.0.cpu().map_or(1, |cpu| cpu.batch(rounds)),
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
    shared: Arc<Shared>,
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

    /// Leaves the device for the CPU if the error is one that this mends.
    fn leave(&mut self, error: Error) -> Result<(), Error> {
        if !(self.on_device && is_of_device(&error)) {
            return Err(error);
        }
        self.shared.link.fail(&error);
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
