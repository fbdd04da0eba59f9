//! What one measurement says, and its JSON.

use super::ceiling::Ceilings;
use super::work::Work;
use crate::record::{Count, DeviceFigures};
use privateer_backend::Counters;
use serde_json::json;

/// A measured spec on one backend.
#[derive(Debug, Clone)]
#[must_use]
pub struct Measured {
    /// Name of the job or file.
    pub job: String,
    pub cells: usize,
    pub trials: u64,
    /// Rounds of one trial of every cell, summed over the cells.
    pub rounds: u64,
    pub backend: String,
    pub device: String,
    /// Whether the device is emulated on the CPU.
    pub software_adapter: bool,
    /// Worker threads; all cores if absent.
    pub threads: Option<usize>,
    /// CPU seconds of a further trial-round; absent where twice the trials took hardly longer.
    pub marginal_seconds: Option<f64>,
    /// Seconds of a further trial-round; absent where twice the trials took hardly longer.
    pub marginal_wall: Option<f64>,
    /// CPU seconds of the whole run.
    pub cpu_seconds: f64,
    /// Seconds of each whole run.
    pub wall_seconds: Vec<f64>,
    /// Largest resident memory of the process during a run, in bytes.
    pub peak_bytes: Option<u64>,
    /// Operations of a round as if every point were scored.
    pub work: Option<Work>,
    pub ceilings: Ceilings,
    /// Checksum of the parts' digests.
    pub results_crc: Option<u32>,
    pub counters: Option<Count>,
    /// Passes of a device, with the microseconds of a trial-round by its own clock.
    pub passes: Vec<(&'static str, f64)>,
}

impl Measured {
    /// Returns the seconds of the fastest whole run.
    pub fn best_wall(&self) -> f64 {
        least(&self.wall_seconds)
    }

    /// Returns the share of the rate of a large matrix product that the plain algorithm would run at, in the f64 of decisions.
    pub fn of_arithmetic(&self) -> Option<f64> {
        let ceiling = self.ceilings.f64_flops.or(self.ceilings.f32_flops)?;
        Some(self.work?.flops / self.busy_seconds()? / ceiling)
    }

    /// Returns the share of the rate of a large copy that the plain algorithm would run at.
    pub fn of_copy(&self) -> Option<f64> {
        Some(self.work?.bytes / self.busy_seconds()? / self.ceilings.copy_bytes)
    }

    /// Returns the seconds of a trial-round for which all that the ceilings belong to is busy.
    fn busy_seconds(&self) -> Option<f64> {
        self.ceilings.threads.map_or(self.marginal_wall, |threads| Some(self.marginal_seconds? / threads as f64))
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.counters.as_ref().map_or(0, |counters| counters.of(name))
    }

    /// Returns what rounds on a device cost the host; `None` without one.
    pub fn on_device(&self) -> Option<DeviceFigures> {
        let counters = Counters::of_names(|name| self.counter(name));
        DeviceFigures::of(&counters, self.rounds / self.cells.max(1) as u64)
    }

    /// Returns all of it as JSON under stable names.
    pub fn json(&self) -> String {
        let device = self.on_device();
        json!({
            "program": concat!("privateer ", env!("CARGO_PKG_VERSION")),
            "job": self.job, "cells": self.cells, "trials": self.trials, "rounds": self.rounds,
            "backend": self.backend, "device": self.device, "software_adapter": self.software_adapter, "threads": self.threads,
            "us_per_trial_round": self.marginal_seconds.map(|seconds| 1e6 * seconds),
            "wall_us_per_trial_round": self.marginal_wall.map(|seconds| 1e6 * seconds),
            "trial_rounds_per_cpu_s": self.marginal_seconds.map(f64::recip),
            "run_cpu_s": self.cpu_seconds, "run_s": self.best_wall(), "run_s_all": self.wall_seconds,
            "peak_bytes": self.peak_bytes,
            "dense_flops_per_trial_round": self.work.map(|work| work.flops),
            "of_arithmetic": self.of_arithmetic(), "of_copy": self.of_copy(),
            "ceiling_f64_flops_per_s": self.ceilings.f64_flops, "ceiling_f32_flops_per_s": self.ceilings.f32_flops,
            "ceiling_copy_bytes_per_s": self.ceilings.copy_bytes, "ceilings": self.ceilings.how,
            "host_cpu_us_per_trial_round": device.map(|figures| figures.host_cpu_us),
            "lanes_per_submission": device.map(|figures| figures.lanes),
            "submissions_per_round": device.map(|figures| figures.submissions),
            "bytes_up_per_trial_round": device.map(|figures| figures.bytes_up),
            "bytes_down_per_trial_round": device.map(|figures| figures.bytes_down),
            "pass_us_per_trial_round":
                self.passes.iter().map(|(pass, us)| ((*pass).to_owned(), json!(us))).collect::<serde_json::Map<_, _>>(),
            "results_crc": self.results_crc, "counters": self.counters,
        })
        .to_string()
    }
}

pub(super) fn least(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}
