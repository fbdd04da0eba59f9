//! Predicts what a run takes on the CPU and on a device, and chooses: `auto` takes a device only where it clearly pays.
//!
//! The CPU is given its best case, rounds in which few points need a score, and the device its whole work; so the model errs
//! towards the CPU, which is never the wrong choice by more than what a device would have saved. Constants are measured
//! microseconds (docs/performance.md: the CPU's of one core, the host's half beside an H100); a device's rates are measured when
//! it is considered.

use crate::UpdateKind;
use crate::device::{PLANE_NUMBERS, Precision};
use crate::precision::{F64Rate, ScreenedBasis};
use std::fmt;

/// A device is taken where its predicted time is this many times smaller.
pub const LEAST_GAIN: f64 = 1.5;

/// Trials over one prepared basis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// Points of the domain.
    pub n_points: usize,
    /// What scores are linear in.
    pub columns: WorkColumns,
    /// How models change.
    pub update_kind: UpdateKind,
    /// Trials of all cells over the basis.
    pub trials: u64,
    /// Rounds of a trial, on average.
    pub rounds: f64,
}

/// Basis functions of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkColumns {
    /// This number of features of every point.
    Features(usize),
    /// Covariances with a trial's visited points, at most this many.
    Visited(usize),
    /// As `Visited`, over inputs of each trial's own.
    Own(usize),
}

/// Measured peak rates of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceRates {
    /// Operations per second in f32.
    pub f32_flops: f64,
    /// Operations per second in f64, if the device has it.
    pub f64_flops: Option<f64>,
    /// Bytes read and written per second.
    pub copy_bytes: f64,
}

impl DeviceRates {
    /// Returns the rate of f64 as a share of that of f32.
    pub fn f64_rate(&self) -> F64Rate {
        // Rates without bounds have no quotient.
        let share = |flops: f64| if flops == self.f32_flops { 1.0 } else { flops / self.f32_flops };
        self.f64_flops.map_or(F64Rate::Absent, |flops| F64Rate::Share(share(flops)))
    }
}

/// A device of which nothing is measured: faster than any.
pub const UNBOUNDED: DeviceRates =
    DeviceRates { f32_flops: f64::INFINITY, f64_flops: Some(f64::INFINITY), copy_bytes: f64::INFINITY };

/// Predicted seconds of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prediction {
    /// On the CPU alone.
    pub cpu_s: f64,
    /// With the device: both halves, which hardly hide each other.
    pub device_s: f64,
    /// The host's half of it.
    pub host_s: f64,
}

/// Seconds of the host's threads for a trial-round on a device, besides what its model costs on either path.
const HOST: f64 = 3.0e-6;
/// The same for each point where rank-one screens run in f32: they leave candidates, which the host scores, and need resets.
const HOST_POINT_F32: f64 = 7.5e-9;
/// Seconds of the host for a submission, and of the way to the device and back.
const SUBMISSION: f64 = 170.0e-6;
/// Trials in a submission at most, as the backend sends them.
const LANES: u64 = 1024;
/// Share of peak rates that passes reach.
const REACHED: f64 = 0.5;

impl Workload {
    /// Returns the trial-rounds.
    fn trial_rounds(&self) -> f64 {
        self.trials as f64 * self.rounds
    }

    /// Returns the seconds that a trial-round takes a thread of the CPU backend in its best case.
    pub fn cpu_round(&self) -> f64 {
        let n = self.n_points as f64;
        1e-6 * match (self.columns, self.update_kind) {
            // Every block is scored some five times at least, whatever the horizon.
            (WorkColumns::Features(m), UpdateKind::RankOne) => {
                0.5 + 1e-4 * (m * m) as f64 + 6e-4 * n + 5e-4 * n * m as f64 / self.rounds.max(1.0)
            }
            (WorkColumns::Features(m), UpdateKind::Full) => 10.0 + 1.9e-4 * n * m as f64,
            (WorkColumns::Visited(_), _) => 0.3 + 3e-3 * n,
            (WorkColumns::Own(_), _) => 5.0 + 7e-3 * n,
        }
    }

    /// Returns the seconds that a trial-round takes a thread of the host while a device scores.
    fn host_round(&self, rates: &DeviceRates) -> f64 {
        let model = match (self.columns, self.update_kind) {
            (WorkColumns::Features(m), UpdateKind::RankOne) => 0.3 + 1e-4 * (m * m) as f64,
            // Its factor is made on the host, and packed.
            (WorkColumns::Features(m), UpdateKind::Full) => 20.0 + 7.5e-5 * (m * m * m) as f64,
            (WorkColumns::Visited(_), _) => 0.5,
            (WorkColumns::Own(k), _) => 10.0 + 0.2 * k as f64,
        };
        let wide = self.update_kind == UpdateKind::RankOne && self.precision(rates) == Precision::F32;
        HOST + if wide { HOST_POINT_F32 * self.n_points as f64 } else { 0.0 } + 1e-6 * model
    }

    /// Returns the type in which a device with these rates screens, at the start.
    pub fn precision(&self, rates: &DeviceRates) -> Precision {
        let basis = match self.columns {
            WorkColumns::Features(_) => ScreenedBasis::Features,
            WorkColumns::Visited(_) | WorkColumns::Own(_) => ScreenedBasis::Covariances,
        };
        rates.f64_rate().screens(basis, self.update_kind)
    }

    /// Returns the seconds that a trial-round takes a device.
    fn device_round(&self, rates: &DeviceRates) -> f64 {
        let n = self.n_points as f64;
        let (flops, size) = match (self.precision(rates), rates.f64_flops) {
            (Precision::F64, Some(flops)) => (flops, 8.0),
            _ => (rates.f32_flops, 4.0),
        };
        let (operations, read) = match (self.columns, self.update_kind) {
            // A table is read once for eight trials; every other round repeats a row.
            (WorkColumns::Features(m), UpdateKind::RankOne) => (n * m as f64, n * m as f64 / 16.0),
            (WorkColumns::Features(m), UpdateKind::Full) => (n * (m * m) as f64, n * m as f64),
            // Half as many columns as at the end, on average.
            (WorkColumns::Visited(k), _) => (n * k as f64, n * k as f64 / 2.0),
            // Evaluated, at some forty operations each.
            (WorkColumns::Own(k), _) => (20.0 * n * k as f64, 0.0),
        };
        (operations / flops + size * (PLANE_NUMBERS as f64 * n + read) / rates.copy_bytes) / REACHED
    }
}

impl Prediction {
    /// Predicts a run of workloads, one after the other.
    pub fn of(workloads: &[Workload], threads: usize, rates: &DeviceRates) -> Self {
        let threads = threads.max(1) as f64;
        let mut all = Self::default();
        for work in workloads {
            let lanes = work.trials.div_ceil(2).clamp(1, LANES);
            let waves = work.trials.div_ceil(2 * lanes) as f64;
            // Few trials leave threads idle on either path.
            let busy = threads.min(work.trials as f64);
            let submissions = 2.0 * waves * work.rounds * SUBMISSION;
            let host = work.trial_rounds() * work.host_round(rates) / busy + submissions / 2.0;
            let device = work.trial_rounds() * work.device_round(rates) + submissions / 2.0;
            all.cpu_s += work.trial_rounds() * work.cpu_round() / busy;
            all.host_s += host;
            all.device_s += host + device;
        }
        all
    }

    /// Returns whether the device is at least [`LEAST_GAIN`] times faster.
    pub fn pays(&self) -> bool {
        0.0 < self.cpu_s && LEAST_GAIN * self.device_s <= self.cpu_s
    }
}

impl fmt::Display for Prediction {
    /// Writes both predictions, as in "CPU 12 s, GPU 30 s (its host half 25 s)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cpu, device, host] = [self.cpu_s, self.device_s, self.host_s].map(seconds);
        write!(f, "CPU {cpu}, GPU {device} (host half {host})")
    }
}

/// Writes seconds with two digits.
fn seconds(s: f64) -> String {
    match s {
        s if s < 0.01 => format!("{:.2} ms", 1e3 * s),
        s if s < 10.0 => format!("{s:.2} s"),
        s => format!("{s:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As measured.
    const H100: DeviceRates = DeviceRates { f32_flops: 22e12, f64_flops: Some(9.3e12), copy_bytes: 2.9e12 };
    const NOTEBOOK: DeviceRates = DeviceRates { f32_flops: 1e12, f64_flops: None, copy_bytes: 60e9 };

    fn features(n_points: usize, m: usize, trials: u64, rounds: f64) -> Workload {
        let (columns, update_kind) = (WorkColumns::Features(m), UpdateKind::RankOne);
        Workload { n_points, columns, update_kind, trials, rounds }
    }

    /// The table of cases: what is taken, by size, trials, model, threads and device.
    #[test]
    fn a_device_is_taken_where_it_pays() {
        let sums = |n, m, trials| Workload { update_kind: UpdateKind::Full, ..features(n, m, trials, 500.0) };
        let exact = |n, trials| Workload { columns: WorkColumns::Visited(100), ..features(n, 0, trials, 500.0) };
        let own = |n, trials| Workload { columns: WorkColumns::Own(50), ..features(n, 0, trials, 51.0) };
        let cases = [
            ("standard job, few trials", features(1024, 64, 32, 500.0), 16, H100, false),
            ("standard job, a sweep", features(1024, 64, 4096, 500.0), 16, H100, false),
            ("large job, few trials", features(10_000, 144, 32, 100.0), 16, H100, false),
            ("large job, a sweep", features(10_000, 144, 4096, 100.0), 16, H100, false),
            ("large job, a sweep, two threads", features(10_000, 144, 4096, 100.0), 2, H100, true),
            ("large job, a long sweep", features(10_000, 144, 4096, 5000.0), 16, H100, false),
            ("large job, a long sweep, two threads", features(10_000, 144, 4096, 5000.0), 2, H100, false),
            ("large job, a sweep, a notebook", features(10_000, 144, 4096, 100.0), 8, NOTEBOOK, false),
            ("a million points", features(1_000_000, 200, 64, 60.0), 16, H100, false),
            ("a million points, two threads", features(1_000_000, 200, 64, 60.0), 2, H100, true),
            ("a million points, a notebook", features(1_000_000, 200, 64, 60.0), 8, NOTEBOOK, false),
            ("private sums", sums(1024, 64, 1024), 16, H100, false),
            ("private sums, one at a time", sums(1024, 64, 1), 16, H100, false),
            ("exact, small", exact(100, 50), 16, H100, false),
            ("exact, large", exact(10_000, 2048), 16, H100, false),
            ("exact, large, two threads", exact(10_000, 2048), 2, H100, true),
            ("outsourced, small", own(400, 32), 16, H100, false),
            ("outsourced, large", own(10_000, 1024), 2, H100, true),
        ];
        for (name, work, threads, rates, taken) in cases {
            let prediction = Prediction::of(&[work], threads, &rates);
            assert_eq!(prediction.pays(), taken, "{name}: {prediction}");
        }
    }

    /// No device is slower than one without bounds, and more threads never speak for a device.
    #[test]
    fn predictions_are_ordered() {
        for work in [features(1024, 64, 32, 500.0), features(10_000, 144, 4096, 500.0)] {
            let of = |threads, rates| Prediction::of(&[work], threads, &rates);
            assert!(of(16, UNBOUNDED).device_s <= of(16, H100).device_s);
            assert!(of(16, H100).device_s <= of(16, NOTEBOOK).device_s);
            let gain = |threads| of(threads, H100).cpu_s / of(threads, H100).device_s;
            assert!(gain(16) <= gain(2));
        }
        assert!(!Prediction::of(&[], 4, &H100).pays(), "nothing to do");
    }
}
