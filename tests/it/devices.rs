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
        assert!(said.contains("10 points, visited points, 2 trials of 20 rounds: not measured"), "{said}");
        assert!(said.contains("--backend auto: cpu: there is no adapter"), "{said}");
        without_drivers(here, &["devices", "--for", "spec.toml", "--measure"], 3, &["no graphics adapter"]);
        assert!(!here.holds("cache"), "nothing was measured");
        let said = json(&without_drivers(here, &["devices", "--for", "spec.toml", "--json"], 0, &[]));
        assert_eq!((&said["auto"], &said["bases"][0]["gpu_s"]), (&"cpu".into(), &Value::Null));
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

/// What `--measure` plays is kept and said again; a file that does not fit is said and ignored, and no run needs it.
#[test]
#[cfg(feature = "gpu")]
fn times_are_kept() {
    const KEPT: &str = "cache/privateer/rates.json";
    if !privateer_gpu::adapters().iter().any(|adapter| adapter.taken_by_gpu) {
        assert!(std::env::var("PRIVATEER_GPU").as_deref() != Ok("required"), "no adapter");
        return println!("skipped: no adapter");
    }
    let here = &folder_with(&SPEC.replace("points = 10", "points = 1100"));
    let explain = ["devices", "--for", "spec.toml", "--threads", "1"];
    let explained = |more: &[&str], texts: &[&str]| {
        let output = here.run(&[&explain[..], more].concat());
        ends(&output, 0, texts);
        stdout(&output)
    };
    assert!(explained(&[], &[]).contains("1100 points, visited points, 2 trials of 20 rounds: not measured"));
    let said = explained(&["--measure"], &["the times are kept in"]);
    assert!(said.contains("played 2 trials of up to 20 rounds in 1 cells over 1100 points"), "{said}");
    let of = |text: &str| text.lines().find(|line| line.contains("s on the CPU")).map(str::to_owned);
    assert_eq!(of(&explained(&[], &[])), of(&said), "the kept times");
    assert!(of(&said).is_some() && said.contains("--backend auto: cpu: "), "{said}");
    let json = json(&explained(&["--json"], &[]));
    assert!(json["bases"][0]["cpu_s"].as_f64().is_some_and(|seconds| 0.0 < seconds), "{json}");
    // Other numbers of trials or threads are not measured by this.
    for more in [["--trials", "4"], ["--threads", "2"]] {
        let words = ["devices", "--for", "spec.toml"].into_iter().chain(more).collect::<Vec<_>>();
        assert!(here.fine(&words).contains("not measured"), "{more:?}");
    }
    // Half of these rounds are fewer than the policy can be played for.
    here.write("means.toml", here.text("spec.toml").replace("\"igp-ucb\"", "\"moma-gp-ucb\"\nk = 15"));
    here.ends(&["devices", "--for", "means.toml", "--measure"], 0, &["not measured, as few rounds cannot be played"]);
    // A software driver is not taken, whatever its times: it computes on the CPU, on as many threads as it likes.
    let whole = here.text(KEPT);
    let mut fast: Value = serde_json::from_str(&whole).expect("JSON");
    let machine = fast["machines"].as_object_mut().and_then(|all| all.values_mut().next()).expect("a machine");
    machine["open_s"] = 0.0.into();
    machine["works"].as_object_mut().expect("works").values_mut().for_each(|work| work["gpu"] = work["cpu"].clone());
    here.write(KEPT, fast.to_string());
    let software = privateer_gpu::adapters().iter().all(|adapter| !adapter.taken_by_auto);
    assert_eq!(explained(&[], &[]).contains("which computes on the CPU"), software);
    // What cannot be read is named and ignored, by runs too, and measured again.
    for broken in ["", "{ \"program\"", "[1, 2]", &whole.replace("\"privateer ", "\"privateer 9"), &whole.replace("0.", "\"")] {
        here.write(KEPT, broken);
        assert!(explained(&[], &["warning: the measured rates in", "are ignored"]).contains("not measured"), "{broken}");
    }
    here.fine(&["run", "spec.toml", "--quiet"]);
    here.remove(KEPT);
    here.write(&format!("{KEPT}/a"), "a folder stands there");
    explained(&["--measure"], &["are ignored", "warning: the times are not kept"]);
    // Data that is not there is missed before anything is played.
    let table = "rounds = 5\n[environment]\nkind = \"points-table\"\nfile = \"nothing.csv\"\ninputs = [\"x\"]\nvalue = \"y\"\n\
        noise = \"none\"\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\n[[policy]]\nkind = \"igp-ucb\"\n";
    here.write("table.toml", table);
    let output = here.run(&["devices", "--for", "table.toml", "--measure"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("nothing.csv"), "{}", stderr(&output));
}
