//! `privateer devices`: adapters, their limits, and what would be used.

use super::commands::say;

/// Lists the graphics adapters, as text or as one JSON object.
#[cfg(feature = "gpu")]
pub fn devices(json: bool) {
    use privateer_backend::gpu::adapters;
    use privateer_config::error::readable_bytes;
    let found = adapters();
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
        if let Some(lacks) = &adapter.lacks {
            say(&format!("   not usable    {lacks}"));
        }
    }
    if found.is_empty() {
        say("no graphics adapter, or no Vulkan driver for one");
    }
    let of = |adapter: &privateer_backend::gpu::AdapterFacts| format!("{} ({})", adapter.name, adapter.kind);
    let automatic = found.iter().find(|adapter| adapter.taken_by_auto).map(of);
    let any = found.iter().find(|adapter| adapter.taken_by_gpu).map(of);
    say(&format!("--backend auto: {}", automatic.as_deref().unwrap_or("the CPU, as there is no hardware adapter that suits")));
    say(&format!("--backend gpu:  {}", any.as_deref().unwrap_or("an error, as there is no adapter that suits")));
}

/// Says that there is nothing to list.
#[cfg(not(feature = "gpu"))]
pub fn devices(json: bool) {
    if json {
        say(&serde_json::json!({ "adapters": [] }).to_string());
    } else {
        say("built without the feature `gpu`: every backend but `cpu` is an error, and `auto` is the CPU");
    }
}
