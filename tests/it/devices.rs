//! `privateer devices` and `--backend`, with and without adapters.

use crate::program::{code, ends, privateer, stderr, stdout};
use std::path::Path;
use std::process::Output;

const SPEC: &str = "rounds = 20\ntrials = 2\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 10 }\n\
    kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 1.0 }\n[[policy]]\nkind = \"igp-ucb\"\n";

/// Runs where no driver can be found, whatever is installed.
fn without_drivers(folder: &Path, arguments: &[&str]) -> Output {
    let nothing = folder.join("no-such-driver.json");
    let mut command = privateer(folder);
    command.env("VK_DRIVER_FILES", &nothing).env("VK_ICD_FILENAMES", &nothing).args(arguments);
    command.output().expect("the program starts")
}

/// Drivers complain of a missing folder of the desktop's; the terminal is the program's alone.
#[test]
fn drivers_are_quiet() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = privateer(folder.path()).arg("devices").env_remove("XDG_RUNTIME_DIR").output().expect("started");
    assert_eq!(stderr(&output), "");
}

#[test]
fn without_an_adapter() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("spec.toml"), SPEC).expect("the spec");
    let output = without_drivers(folder.path(), &["run", "spec.toml", "--backend", "gpu"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(3), "{said}");
    assert!(said.contains("hint: use `--backend cpu`") && !said.contains("panicked"), "{said}");
    assert!(!folder.path().join("out").exists(), "a refused run made a folder");
    ends(&without_drivers(folder.path(), &["run", "spec.toml", "--quiet"]), 0, &[]);
    let record = std::fs::read_to_string(folder.path().join("out/spec/run.json")).expect("what the machine did");
    assert!(record.contains("\"backend\": \"cpu\""), "{record}");
    let output = without_drivers(folder.path(), &["devices"]);
    assert_eq!(code(&output), Some(0));
    assert!(stdout(&output).contains("CPU"), "{}", stdout(&output));
    // Without the feature there is nothing to explain.
    if cfg!(feature = "gpu") {
        let output = without_drivers(folder.path(), &["devices", "--for", "spec.toml"]);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("10 points, up to 10 visited points, 2 trials of 20 rounds"), "{}", stdout(&output));
        assert!(stdout(&output).contains("--backend auto: the CPU: there is no adapter"), "{}", stdout(&output));
        let output = without_drivers(folder.path(), &["devices", "--for", "spec.toml", "--json"]);
        let said: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!((&said["auto"], &said["gpu_s"]), (&"cpu".into(), &serde_json::Value::Null));
    }
    let output = without_drivers(folder.path(), &["devices", "--json"]);
    assert_eq!(stdout(&output).trim(), "{\"adapters\":[]}");
}

/// A whole run on whatever adapter there is: `run.json` names it, the parts are those of the CPU, `auto` takes no software.
#[test]
#[cfg(feature = "gpu")]
fn with_an_adapter() {
    let found = privateer_backend::gpu::adapters();
    if found.iter().all(|adapter| !adapter.taken_by_gpu) {
        assert!(std::env::var("PRIVATEER_GPU").as_deref() != Ok("required"), "no adapter");
        println!("skipped: no adapter");
        return;
    }
    assert!(found.iter().all(|adapter| !(adapter.taken_by_auto && adapter.kind == "software")));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("spec.toml"), SPEC).expect("the spec");
    let parts = |backend: &str| {
        let out = format!("out-{backend}");
        let arguments = ["run", "spec.toml", "--quiet", "--backend", backend, "--out", &out];
        ends(&privateer(folder.path()).args(arguments).output().expect("the program starts"), 0, &[]);
        let cells = std::fs::read_dir(folder.path().join(&out).join("cells")).expect("parts");
        let mut parts: Vec<_> = cells
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (path.file_name().map(ToOwned::to_owned), std::fs::read(&path).expect("a part")))
            .collect();
        parts.sort();
        let record = std::fs::read_to_string(folder.path().join(&out).join("run.json")).expect("what the machine did");
        (parts, record)
    };
    let (on_cpu, _) = parts("cpu");
    let (on_gpu, record) = parts("gpu");
    assert!(on_cpu == on_gpu && !on_cpu.is_empty(), "other bytes in the parts");
    assert!(record.contains("\"backend\": \"gpu\"") && record.contains(&found[0].name), "{record}");
    // Ten points are no work for a device, 1100 are, and both are said.
    std::fs::write(folder.path().join("larger.toml"), SPEC.replace("points = 10", "points = 1100")).expect("the spec");
    for (spec, is_idle) in [("spec.toml", true), ("larger.toml", false)] {
        let arguments = ["run", spec, "--backend", "gpu", "--out", &format!("said-{spec}")];
        let output = privateer(folder.path()).args(arguments).output().expect("the program starts");
        assert_eq!(stderr(&output).contains("the graphics adapter screened no round"), is_idle, "{}", stderr(&output));
        let record = std::fs::read_to_string(folder.path().join(format!("said-{spec}/run.json"))).expect("what the machine did");
        let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
        let screened = record["counters"]["rounds_screened_by_a_device"].as_u64().expect("a count");
        assert_eq!(screened == 0, is_idle, "{record}");
    }
    let output = privateer(folder.path()).arg("devices").output().expect("the program starts");
    assert!(stdout(&output).contains(&found[0].name) && stdout(&output).contains("--backend gpu"), "{}", stdout(&output));
}
