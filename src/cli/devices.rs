//! `privateer devices`: adapters, their limits, and what would be used, for a spec with reasons.

use super::output::say;
use super::source::SpecArgs;
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::Error;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Say what `--backend auto` would take for a spec: sizes, measured times on the CPU and on the adapter, the choice and why
    #[arg(long = "for", value_name = "SPEC")]
    path: Option<PathBuf>,
    /// First play some 20 rounds of the spec's cells on both, in about a minute, and keep the times for `--backend auto`
    #[arg(long, requires = "path")]
    measure: bool,
    #[command(flatten)]
    spec: SpecArgs,
    /// Worker threads of the run, at most 16 for each core [default: all cores]
    #[arg(long, value_name = "N", requires = "path")]
    threads: Option<usize>,
    /// Which adapter a run would be told to take
    #[arg(long, value_name = "NAME|INDEX")]
    adapter: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Lists the graphics adapters, or explains the choice for a spec.
pub fn devices(registry: &Registry, args: &DevicesArgs) -> Result<(), Error> {
    crate::run::prefer_adapter(args.adapter.as_deref(), None)?;
    if let Some(path) = &args.path {
        #[cfg(feature = "gpu")]
        return explained::explain(registry, args, path);
        // Mistakes in the spec are said, and that there is no choice.
        #[cfg(not(feature = "gpu"))]
        args.spec.read(registry, path)?;
    }
    listed(args.json);
    Ok(())
}

#[cfg(feature = "gpu")]
mod explained {
    use super::super::output::note;
    use super::{DevicesArgs, Error, Registry, say};
    use crate::engine::{Preparation, Workload, workloads};
    use crate::run::{AutoChoice, RatesFile, check_threads, choose, gpu_backend, measure, quietly, shape, started_threads};
    use privateer_backend::Cpu;
    use privateer_gpu::AdapterFacts;
    use std::path::Path;
    use std::time::Instant;

    /// Says what `auto` takes for a spec: by rates of its cells that are measured now, or were measured before.
    pub fn explain(registry: &Registry, args: &DevicesArgs, path: &Path) -> Result<(), Error> {
        check_threads(args.threads)?;
        let sweep = args.spec.read(registry, path)?;
        let (data, backend) = (args.spec.data(path), Cpu::default());
        let works = workloads(&sweep, &Preparation::new(&sweep, &data, &backend))?;
        let threads = started_threads(args.threads);
        let adapter = quietly(privateer_gpu::adapters).into_iter().find(|adapter| adapter.taken_by_gpu);
        let rates = if args.measure && !works.is_empty() {
            let started = Instant::now();
            let opened = gpu_backend(None, true, false, note)?;
            let open_s = started.elapsed().as_secs_f64();
            Some(measure(&sweep, &data, &works, args.threads, (&opened, open_s), &note)?)
        } else {
            None
        };
        let mut file = RatesFile::read(&note);
        if let (Some(rates), Some(adapter)) = (rates, &adapter) {
            for work in &works {
                if let Some(played) = rates.works.get(&shape(work, threads)).filter(|_| !args.json) {
                    let (cells, trials, rounds) = (work.cells.len(), played.trials, played.rounds);
                    say(&format!(
                        "played {trials} trials of up to {rounds} rounds in {cells} cells over {} points",
                        work.n_points
                    ));
                }
            }
            file.add(adapter, rates);
            // The times are said all the same.
            match file.save() {
                Ok(path) => note(&format!("the times are kept in `{}`", path.display())),
                Err(error) => {
                    note(&format!("warning: the times are not kept: {}", error.to_string().trim_start_matches("error: ")))
                }
            }
        }
        let choice = match &adapter {
            Some(adapter) => choose(&works, (1.0, threads), adapter, file.of(adapter)),
            None => {
                let reason = "cpu: there is no adapter that suits".to_owned();
                AutoChoice { is_device: false, reason, seconds: vec![None; works.len()] }
            }
        };
        print(args.json, threads, &works, adapter.as_ref(), &choice);
        Ok(())
    }

    fn print(json: bool, threads: usize, works: &[Workload], adapter: Option<&AdapterFacts>, choice: &AutoChoice) {
        let AutoChoice { is_device, reason, seconds } = choice;
        let taken = if *is_device { "gpu" } else { "cpu" };
        if json {
            let base = |(work, seconds): (&Workload, &Option<[f64; 2]>)| {
                let [cpu, gpu] = [0, 1].map(|at| seconds.map(|seconds| seconds[at]));
                let (cells, rounds) = (work.cells.len(), work.trial_rounds);
                serde_json::json!({
                    "points": work.n_points, "what": work.to_string(), "cells": cells, "trials": work.trials,
                    "trial_rounds": rounds, "cpu_s": cpu, "gpu_s": gpu,
                })
            };
            let bases: Vec<_> = works.iter().zip(seconds).map(base).collect();
            let name = adapter.map(|adapter| &adapter.name);
            let all = serde_json::json!({
                "threads": threads, "bases": bases, "adapter": name, "auto": taken, "reason": reason,
            });
            return say(&all.to_string());
        }
        for (work, seconds) in works.iter().zip(seconds) {
            let times = match (seconds, adapter) {
                (Some([cpu, gpu]), Some(adapter)) => format!("{cpu:.2} s on the CPU, {gpu:.2} s on {}", adapter.name),
                _ => "not measured".to_owned(),
            };
            say(&format!("{work}: {times}"));
        }
        if let Some(adapter) = adapter {
            say(&format!("{} ({}), {threads} threads", adapter.name, adapter.kind));
        }
        say(&format!("--backend auto: {reason}"));
    }
}

/// Lists the graphics adapters, as text or as one JSON object.
#[cfg(feature = "gpu")]
fn listed(json: bool) {
    use privateer_backend::device::Device;
    use privateer_backend::precision::F64Rate;
    use privateer_config::error::readable_bytes;
    use privateer_gpu::{AdapterChoice, Gpu, adapters};
    let found = crate::run::quietly(adapters);
    // Only the adapter that `gpu` takes is opened and measured.
    let taken = found.iter().any(|adapter| adapter.taken_by_gpu);
    let rate = taken.then(|| crate::run::quietly(|| Gpu::open(AdapterChoice::Any)).ok()).flatten().map(|gpu| gpu.f64_rate());
    if json {
        let adapters: Vec<_> = found
            .iter()
            .map(|adapter| {
                serde_json::json!({
                    "name": adapter.name,
                    "kind": adapter.kind,
                    "interface": adapter.interface,
                    "driver": adapter.driver,
                    "f64": adapter.f64,
                    "f64_share": rate.filter(|_| adapter.taken_by_gpu).and_then(F64Rate::share),
                    "subgroup_sizes": adapter.subgroups.map(|(least, most)| [least, most]),
                    "threads_used_f32": adapter.workgroups[0],
                    "threads_used_f64": adapter.workgroups[1].filter(|_| adapter.f64),
                    "max_binding_bytes": adapter.max_binding,
                    "max_buffer_bytes": adapter.max_buffer,
                    "workgroup_threads": adapter.workgroup_threads,
                    "workgroup_bytes": adapter.workgroup_bytes,
                    "storage_buffers": adapter.storage_buffers,
                    "lacks": adapter.lacks,
                    "auto_takes": adapter.taken_by_auto,
                    "gpu_takes": adapter.taken_by_gpu,
                })
            })
            .collect();
        say(&serde_json::json!({ "adapters": adapters }).to_string());
        return;
    }
    for (i, adapter) in found.iter().enumerate() {
        say(&format!("{i}  {} ({}, {})", adapter.name, adapter.kind, adapter.interface));
        say(&format!("   driver        {}", adapter.driver));
        say(&format!("   computes in   {}", if adapter.f64 { "f32 and f64" } else { "f32" }));
        say(&format!(
            "   limits        {} a binding, {} a buffer; workgroups of {} threads with {} and {} storage buffers",
            readable_bytes(adapter.max_binding as f64),
            readable_bytes(adapter.max_buffer as f64),
            adapter.workgroup_threads,
            readable_bytes(f64::from(adapter.workgroup_bytes)),
            adapter.storage_buffers
        ));
        let subgroups = match adapter.subgroups {
            None => "none: reductions in shared memory".to_owned(),
            Some((least, most)) if least == most => format!("of {least} threads"),
            Some((least, most)) => format!("of {least} to {most} threads"),
        };
        say(&format!("   subgroups     {subgroups}"));
        let threads = |at: usize| adapter.workgroups[at].map_or_else(|| "none".to_owned(), |threads| threads.to_string());
        let of_f64 = if adapter.f64 { format!(", {} in f64", threads(1)) } else { String::new() };
        say(&format!("   threads used  {} in f32{of_f64}", threads(0)));
        if let Some(rate) = rate.filter(|_| adapter.taken_by_gpu) {
            say(&format!("   screens in    {}", types(rate)));
        }
        if let Some(lacks) = &adapter.lacks {
            say(&format!("   not usable    {lacks}"));
        }
    }
    if found.is_empty() {
        say("no graphics adapter, or no Vulkan driver for one");
    }
    if found.iter().all(|adapter| adapter.kind == "software")
        && let Some(hint) = privateer_backend::hidden_card()
    {
        say(&format!("hint: {hint}"));
    }
    let of = |adapter: &privateer_gpu::AdapterFacts| format!("{} ({})", adapter.name, adapter.kind);
    let automatic = found.iter().find(|adapter| adapter.taken_by_auto).map(of);
    let any = found.iter().find(|adapter| adapter.taken_by_gpu).map(of);
    say(&format!(
        "--backend auto: {}",
        automatic.map_or_else(
            || "the CPU, as there is no hardware adapter that suits".to_owned(),
            |name| format!("{name} where `privateer devices --for SPEC --measure` found it to be faster, else the CPU")
        )
    ));
    say(&format!("--backend gpu:  {}", any.as_deref().unwrap_or("an error, as there is no adapter that suits")));
}

/// Returns the types in which a device of this rate screens, and why.
#[cfg(feature = "gpu")]
fn types(rate: privateer_backend::precision::F64Rate) -> String {
    use privateer_backend::UpdateKind::RankOne;
    use privateer_backend::device::Precision::F64;
    use privateer_backend::precision::ScreenedBasis;
    let share =
        rate.share().map_or_else(|| "f64 is not measured".to_owned(), |share| format!("f64 has {share:.2} of the rate of f32"));
    let bases = [ScreenedBasis::Features, ScreenedBasis::Covariances];
    match bases.map(|basis| rate.screens(basis, RankOne) == F64) {
        [true, _] => format!("f64: {share}"),
        [false, true] => format!("f32 over features, f64 over covariances: {share}"),
        [false, false] if rate.share().is_none() => "f32: there is no f64".to_owned(),
        [false, false] => format!("f32: {share}"),
    }
}

/// Says that there is nothing to list.
#[cfg(not(feature = "gpu"))]
fn listed(json: bool) {
    if json {
        say(&serde_json::json!({ "adapters": [] }).to_string());
    } else {
        say("built without the feature `gpu`: every backend but `cpu` is an error, and `auto` is the CPU");
    }
}
