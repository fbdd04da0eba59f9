//! `privateer devices` and `--backend`, with and without adapters.

use crate::program::*;

const SPEC: &str = "rounds = 20\ntrials = 2\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 10 }\n\
    kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 1.0 }\n[[policy]]\nkind = \"igp-ucb\"\n";

/// Runs where no driver can be found, whatever is installed.
fn without_drivers(folder: &Folder, arguments: &[&str], expected: i32, texts: &[&str]) -> String {
    let nothing = folder.join("no-such-driver.json");
    let mut command = privateer(folder);
    command.env("VK_DRIVER_FILES", &nothing).env("VK_ICD_FILENAMES", &nothing).args(arguments);
    let output = command.output().expect("the program starts");
    ends(&output, expected, texts);
    stdout(&output)
}

/// Drivers complain of a missing folder of the desktop's; the terminal is the program's alone.
#[test]
fn drivers_are_quiet() {
    let output = privateer(&folder()).arg("devices").env_remove("XDG_RUNTIME_DIR").output().expect("started");
    assert_eq!(stderr(&output), "");
}

#[test]
fn without_an_adapter() {
    let here = &folder_with(SPEC);
    without_drivers(here, &["run", "spec.toml", "--backend", "gpu"], 3, &["hint: use `--backend cpu`"]);
    assert!(!here.holds("out"), "a refused run made a folder");
    without_drivers(here, &["run", "spec.toml", "--quiet"], 0, &[]);
    let record = here.text("out/spec/run.json");
    assert!(record.contains("\"backend\": \"cpu\""), "{record}");
    let said = without_drivers(here, &["devices"], 0, &[]);
    assert!(said.contains("CPU"), "{said}");
    // Without the feature there is nothing to explain.
    if cfg!(feature = "gpu") {
        let said = without_drivers(here, &["devices", "--for", "spec.toml"], 0, &[]);
        assert!(said.contains("10 points, up to 10 visited points, 2 trials of 20 rounds"), "{said}");
        assert!(said.contains("--backend auto: the CPU: there is no adapter"), "{said}");
        let said = json(&without_drivers(here, &["devices", "--for", "spec.toml", "--json"], 0, &[]));
        assert_eq!((&said["auto"], &said["gpu_s"]), (&"cpu".into(), &Value::Null));
    }
    assert_eq!(without_drivers(here, &["devices", "--json"], 0, &[]).trim(), "{\"adapters\":[]}");
}

/// A whole run on whatever adapter there is: `run.json` names it, the parts are those of the CPU, `auto` takes no software.
#[test]
#[cfg(feature = "gpu")]
fn with_an_adapter() {
    let found = privateer_gpu::adapters();
    if found.iter().all(|adapter| !adapter.taken_by_gpu) {
        assert!(std::env::var("PRIVATEER_GPU").as_deref() != Ok("required"), "no adapter");
        println!("skipped: no adapter");
        return;
    }
    assert!(found.iter().all(|adapter| !(adapter.taken_by_auto && adapter.kind == "software")));
    let here = &folder_with(SPEC);
    let parts = |backend: &str| {
        here.fine(&["run", "spec.toml", "--quiet", "--backend", backend, "--out", backend]);
        (files(&here.join(backend).join("cells")), here.text(&format!("{backend}/run.json")))
    };
    let (on_cpu, _) = parts("cpu");
    let (on_gpu, record) = parts("gpu");
    assert!(on_cpu == on_gpu && !on_cpu.is_empty(), "other bytes in the parts");
    assert!(record.contains("\"backend\": \"gpu\"") && record.contains(&found[0].name), "{record}");
    // Ten points are no work for a device, 1100 are, and both are said.
    here.write("larger.toml", SPEC.replace("points = 10", "points = 1100"));
    for (spec, is_idle) in [("spec.toml", true), ("larger.toml", false)] {
        let output = here.run(&["run", spec, "--backend", "gpu", "--out", &format!("said-{spec}")]);
        assert_eq!(stderr(&output).contains("the graphics adapter screened no round"), is_idle, "{}", stderr(&output));
        let record = here.json(&format!("said-{spec}/run.json"));
        let screened = record["counters"]["rounds_screened_by_a_device"].as_u64().expect("a count");
        assert_eq!(screened == 0, is_idle, "{record}");
    }
    let said = here.fine(&["devices"]);
    assert!(said.contains(&found[0].name) && said.contains("--backend gpu"), "{said}");
}
