//! Long work shows itself: what it counts adds up to what it announced.

use crate::problems::sweep_with_parameters;
use crate::program::finished;
use crate::support::*;
use privateer::audit::{AUDITS, Settings, audit, of_runs};
use privateer::record::verify;
use privateer::registry::Registry;
use privateer::report::{compare_report, write_report};
use privateer::run::{Plan, RunOptions, choose_parts, run_again};

/// Does some work and returns how many things it counted; each time it announced their number.
fn counted<T>(what: &str, work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T) -> (T, usize) {
    let announced = Mutex::new(Vec::new());
    let result = work(&|total| announced.lock().expect("no panic").push(total));
    let announced = announced.into_inner().expect("no panic");
    assert!(!announced.is_empty(), "{what}: nothing was counted");
    assert_eq!(announced, vec![announced.len() as u64; announced.len()], "{what}");
    (result, announced.len())
}

#[test]
fn long_work_counts_to_its_end() {
    let text = sweep_with_parameters("[sweep.product]\n\"privacy.epsilon\" = [1.0, 4.0]\n");
    let here = finished(&text);
    let (out, options, data) = (here.join("out"), RunOptions::default(), DataFolder::default());
    let sweep = sweep(&text);

    let (found, n_files) = counted("verify", |each| verify(&out, each).expect("readable"));
    assert!(found.manifest.parts().len() < n_files && n_files <= found.n_files, "{n_files} files");
    let (report, n_cells) = counted("report", |each| write_report(&out, each).expect("reported"));
    assert_eq!(n_cells, report.n_cells());
    assert_eq!(counted("comparison", |each| compare_report(&out, each).expect("readable")).1, n_cells);
    let chosen = choose_parts(&found.done, 3);
    let again = |each: &(dyn Fn(u64) + Sync)| run_again(&Registry::builtin(), &out, &found.manifest, &chosen, &options, each);
    assert_eq!(counted("rerun", |each| again(each).expect("runs")), (Vec::new(), 3));
    let (plan, n_tried) = counted("plan", |each| Plan::of(&sweep, &options, &Stop::new(), each).expect("planned"));
    assert_eq!(n_tried, plan.units.iter().map(|planned| planned.unit.cell).collect::<BTreeSet<_>>().len());

    let settings = Settings { samples: 200, ..Settings::default() };
    let cases = (AUDITS[0].cases)().expect("cases");
    assert_eq!(counted("audit", |each| audit(&cases, settings, each).expect("scores")).1, cases.len());
    let runs = counted("audit of runs", |each| of_runs(&sweep, &data, &Cpu::default(), settings, each).expect("an audit"));
    assert_eq!(runs.1, sweep.listed().len());
}
