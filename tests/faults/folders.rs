//! Results folders: after any fault the same command makes them what they would have been.

use super::campaign::{Campaign, Faulted, assert_tidy, fine, privateer, said, sound};
use super::problems::{Files, assert_same_files, files, results, sweep_with_parameters};
use std::fs;
use std::path::Path;

/// Four parts with released parameters; the second policy has none.
pub fn spec() -> String {
    sweep_with_parameters("[[policy]]\nkind = \"tgp-ucb\"\nprivacy = { mechanism = \"laplace\" }\n")
}

fn prepare(folder: &Path) {
    fs::write(folder.join("spec.toml"), spec()).expect("written");
    fs::write(folder.join("mine.tmp"), "precious").expect("written");
}

/// Every part and parameter file that has its final name is whole.
fn assert_whole(faulted: &Faulted, reference: &Files) {
    for (name, bytes) in files(faulted.folder.path()) {
        if name.ends_with(".parquet") || name.starts_with("out/parameters/c") {
            assert!(reference.get(&name) == Some(&bytes), "{name} is not whole");
        }
    }
    assert_eq!(fs::read_to_string(faulted.path("mine.tmp")).expect("the user's file"), "precious");
}

/// After every fault the same command completes the folder, and nothing tells that there was a fault.
fn ends_the_same(campaign: &Campaign) {
    let reference = results(campaign.reference().path());
    campaign.run(|faulted| {
        assert_whole(faulted, &reference);
        faulted.then(&campaign.words, &[0]);
        assert_tidy(faulted);
        assert_same_files(&results(faulted.folder.path()), &reference, "after the same command");
        faulted.then(&["verify", "out"], &[0]);
    });
}

/// A finished folder that may not be written is a wrong argument, whichever file of it shows that first.
#[test]
fn a_folder_without_permission_is_a_wrong_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(folder.path());
    let words = ["run", "spec.toml", "--out", "out", "--quiet"];
    fine(folder.path(), &words);
    let log = folder.path().join("operations.log");
    let output = privateer(folder.path(), &words).env("PRIVATEER_FAULT_LOG", &log).output().expect("started");
    assert!(output.status.success(), "{}", said(&output));
    let operations = fs::read_to_string(&log).expect("operations");
    for (of, name) in [("Open out/.lock", ".lock"), ("Create out/.privateer-", "manifest.json")] {
        let at = 1 + operations.lines().position(|line| line.contains(of)).unwrap_or_else(|| panic!("{of}: {operations}"));
        for (kind, reason) in [("EACCES", "permission denied"), ("EROFS", "its file system is read-only")] {
            let fault = format!("{kind}@{at}");
            let refused = privateer(folder.path(), &words).env("PRIVATEER_FAULT", fault).output().expect("started");
            let expected = format!("error: `out` is a folder that cannot be used: {reason} (at the file `{name}` in it)\nhint: ");
            assert!(refused.status.code() == Some(2) && said(&refused).contains(&expected), "{}", said(&refused));
        }
    }
}

#[test]
fn run() {
    ends_the_same(&Campaign::new("run", &["run", "spec.toml", "--out", "out", "--threads", "1", "--quiet"], prepare));
}

#[test]
fn run_resumed() {
    ends_the_same(&Campaign::new("run resumed", &["run", "spec.toml", "--out", "out", "--threads", "1", "--quiet"], |folder| {
        prepare(folder);
        fine(folder, &["run", "spec.toml", "--units", "0-1", "--out", "out", "--quiet"]);
    }));
}

#[test]
fn merge() {
    ends_the_same(&Campaign::new("merge", &["merge", "shards", "--out", "out", "--quiet"], |folder| {
        prepare(folder);
        for which in ["1/2", "2/2"] {
            fine(folder, &["run", "spec.toml", "--shard", which, "--out", "shards", "--quiet"]);
        }
    }));
}

#[test]
fn report() {
    ends_the_same(&Campaign::new("report", &["report", "out"], |folder| {
        prepare(folder);
        fine(folder, &["run", "spec.toml", "--out", "out", "--quiet"]);
        fs::remove_dir_all(folder.join("out/plots")).expect("removed");
        fs::remove_file(folder.join("out/summary.csv")).expect("removed");
    }));
}

/// The checks of a campaign fail where a part is half there, a file is left, or a file of the user is gone.
#[test]
fn planted_faults_are_caught() {
    let campaign = Campaign::new("planted", &["run", "spec.toml", "--out", "out", "--quiet"], prepare);
    let reference = results(campaign.reference().path());
    let whole = sound(&campaign);
    assert_whole(&whole, &reference);
    assert_tidy(&whole);
    type Plant = fn(&Path);
    let plants: [Plant; 3] = [
        |folder| {
            let path = folder.join("out/cells/c0000-b0001.parquet");
            let bytes = fs::read(&path).expect("a part");
            fs::write(&path, &bytes[..bytes.len() / 2]).expect("cut");
        },
        |folder| fs::write(folder.join("out/plots/.privateer-0123456789abcdef-7-0123456789abcdef.tmp"), "x").expect("left"),
        |folder| fs::write(folder.join("mine.tmp"), "gone").expect("written"),
    ];
    for (at, plant) in plants.into_iter().enumerate() {
        let planted = sound(&campaign);
        plant(planted.folder.path());
        let caught = std::panic::catch_unwind(|| {
            assert_whole(&planted, &reference);
            assert_tidy(&planted);
        });
        assert!(caught.is_err(), "planted fault {at} passes");
    }
}
