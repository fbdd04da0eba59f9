//! `privateer devices`: adapters, their limits, and what would be used, for a spec with reasons.

use super::output::say;
use super::source::SpecArgs;
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::Error;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Explain what `--backend auto` would take for a spec: sizes, predicted times on the CPU and on the adapter
    #[arg(long = "for", value_name = "SPEC")]
    path: Option<PathBuf>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Worker threads of the run [default: all cores]
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
    use super::{DevicesArgs, Error, Registry, say};
    use crate::engine::{Preparation, scoring_error, workloads};
    use crate::run::{cores, device_rates};
    use privateer_backend::cost::{DeviceRates, LEAST_GAIN, Prediction, WorkColumns, Workload};
    use privateer_backend::device::Precision;
    use privateer_backend::{Cpu, UpdateKind};
    use privateer_gpu::{AdapterChoice, AdapterFacts, Gpu};
    use std::path::Path;

    /// Predicts the run of a spec on the CPU and on the best adapter, and says what `auto` would take.
    pub fn explain(registry: &Registry, args: &DevicesArgs, path: &Path) -> Result<(), Error> {
        let sweep = args.spec.read(registry, path)?;
        let (data, backend) = (args.spec.data(), Cpu::default());
        let workloads = workloads(&sweep, &Preparation::new(&sweep, &data, &backend))?;
        let threads = args.threads.unwrap_or_else(cores);
        let found = crate::run::quietly(privateer_gpu::adapters);
        let adapter = found.iter().find(|adapter| adapter.taken_by_gpu);
        let measured = match adapter {
            Some(_) => Some(
                crate::run::quietly(|| Gpu::open(AdapterChoice::Any))
                    .and_then(|gpu| device_rates(&gpu))
                    .map_err(scoring_error)?,
            ),
            None => None,
        };
        if args.json {
            let predicted = |works: &[Workload]| measured.as_ref().map(|rates| Prediction::of(works, threads, rates));
            let bases: Vec<_> = workloads
                .iter()
                .map(|work| {
                    serde_json::json!({
                        "points": work.n_points, "kind": kind(work), "trials": work.trials, "rounds": work.rounds,
                        "cpu_s": predicted(&[*work]).map(|p| p.cpu_s), "gpu_s": predicted(&[*work]).map(|p| p.device_s),
                    })
                })
                .collect();
            let whole = predicted(&workloads);
            let auto = verdict(adapter, whole);
            say(&serde_json::json!({
                "threads": threads, "bases": bases, "adapter": adapter.map(|adapter| &adapter.name),
                "cpu_s": whole.map(|p| p.cpu_s), "gpu_s": whole.map(|p| p.device_s), "host_s": whole.map(|p| p.host_s),
                "auto": if auto.0 { "gpu" } else { "cpu" }, "reason": auto.1,
            })
            .to_string());
            return Ok(());
        }
        for work in &workloads {
            let Workload { n_points, trials, rounds, .. } = work;
            let predicted = measured.as_ref().map_or_else(String::new, |rates| {
                let precision = if work.precision(rates) == Precision::F64 { "f64" } else { "f32" };
                format!(": {}, screened in {precision} there", Prediction::of(&[*work], threads, rates))
            });
            say(&format!("{n_points} points, {}, {trials} trials of {rounds:.0} rounds{predicted}", kind(work)));
        }
        if workloads.is_empty() {
            say("nothing here is scored over a domain: contextual bandits and convex optimization run on the CPU");
        }
        if let (Some(adapter), Some(DeviceRates { f32_flops, f64_flops, copy_bytes })) = (adapter, measured) {
            let f64_rate = f64_flops.map_or_else(|| "no f64".to_owned(), |rate| format!("{:.3} Tflop/s in f64", rate / 1e12));
            let (name, kind) = (&adapter.name, adapter.kind);
            let (f32_rate, copy) = (f32_flops / 1e12, copy_bytes / 1e9);
            say(&format!("{name} ({kind}), measured: {f32_rate:.3} Tflop/s in f32, {f64_rate}, a copy of {copy:.0} GB/s"));
        }
        let whole = measured.as_ref().map(|rates| Prediction::of(&workloads, threads, rates));
        if let Some(whole) = whole {
            say(&format!("the whole run on {threads} threads: {whole}"));
        }
        say(&format!("--backend auto: {}", verdict(adapter, whole).1));
        Ok(())
    }

    /// Returns whether `auto` takes the adapter, and why.
    fn verdict(adapter: Option<&AdapterFacts>, whole: Option<Prediction>) -> (bool, String) {
        match (adapter, whole) {
            (Some(adapter), Some(_)) if !adapter.taken_by_auto => {
                (false, format!("the CPU: {} is {}, which computes on the CPU", adapter.name, adapter.kind))
            }
            (Some(adapter), Some(whole)) if whole.pays() => (true, format!("{}: predicted to be faster", adapter.name)),
            (Some(adapter), Some(_)) => (false, format!("the CPU: {} would not be {LEAST_GAIN} times faster", adapter.name)),
            _ => (false, "the CPU: there is no adapter that suits".to_owned()),
        }
    }

    fn kind(work: &Workload) -> String {
        let full = if work.update_kind == UpdateKind::Full { ", new every round" } else { "" };
        match work.columns {
            WorkColumns::Features(m) => format!("{m} features{full}"),
            WorkColumns::Visited(k) => format!("up to {k} visited points"),
            WorkColumns::Own(k) => format!("inputs of each trial's own, up to {k} visited"),
        }
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
        let adapters: Vec<serde_json::Value> = found
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
            |name| format!("{name} where it pays; see `privateer devices --for SPEC`")
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
