//! The stored reference numbers, through the checker of the `conformance` example; and the checker itself: it must catch
//! a wrong number.

#[path = "../../examples/conformance/check/mod.rs"]
mod check;

use crate::program::{json, listed, page, root};
use serde_json::Value;

fn cases() -> Vec<(String, Value)> {
    let folders = ["bo", "oco", "pogp"].map(|folder| root().join("tests/cases").join(folder));
    let named = |path: &std::path::PathBuf| {
        (path.file_name().expect("a name").to_string_lossy().into_owned(), json(&page(&path.to_string_lossy())))
    };
    folders.iter().flat_map(|folder| listed(folder)).map(|path| named(&path)).collect()
}

fn case(name: &str) -> Value {
    cases().into_iter().find(|(found, _)| found == name).expect("the case").1
}

#[test]
fn every_file_agrees_as_far_as_it_is_known() {
    let cases = cases();
    assert_eq!(cases.len(), 28);
    for (name, file) in cases {
        let kind = check::recognise(&file).unwrap_or_else(|| panic!("{name} was not recognised"));
        let outcome = kind.check(&file);
        let numbers: usize = outcome.checked.iter().map(|section| section.numbers).sum();
        println!("{name}: {numbers} numbers, largest error {:.1e}, not yet: {:?}", outcome.largest_error(), outcome.not_yet);
        assert!(outcome.failures.is_empty(), "{name}: {:?}", outcome.failures);
        assert!(outcome.agrees(), "{name}");
        // Noise variances of 1e-5 leave eight digits fewer than ridges of order one.
        let usual = if name.starts_with("posterior_200") || name.starts_with("modeler") { 1e-9 } else { 1e-12 };
        assert!(outcome.largest_error() < usual, "{name}: within the tolerance, but worse than it ever was");
    }
}

#[test]
fn kinds_are_distinct() {
    for (name, file) in cases() {
        let kinds: Vec<&str> = check::KINDS.iter().filter(|kind| kind.recognises(&file)).map(|kind| kind.name).collect();
        assert!(kinds.len() <= 1, "{name} is {kinds:?}");
    }
}

#[test]
fn nothing_checked_is_no_agreement() {
    let file = serde_json::json!({"X": [[1.0]], "Y": [[1.0]], "se": {}, "matern": {}, "unheard-of": 1});
    let outcome = check::recognise(&file).expect("known").check(&file);
    assert_eq!((outcome.agrees(), outcome.not_yet), (false, vec!["/unheard-of".to_owned()]));
}

#[test]
fn kernels_features_and_test_functions_are_checked_whole() {
    for name in ["qff.json", "benchmarks.json", "kernels.json"] {
        let file = case(name);
        let outcome = check::recognise(&file).expect("known").check(&file);
        assert!(outcome.not_yet.is_empty(), "{name}: {:?}", outcome.not_yet);
        // Two squared exponential, ten Matern, two grids, linear, two empirical.
        assert!(name != "kernels.json" || outcome.checked.len() == 17, "{}", outcome.checked.len());
    }
}

/// Every section that passes must fail with one number of it moved by a millionth, and with one number missing.
#[test]
fn a_planted_fault_is_caught_in_every_section() {
    let spots = [
        ("kernels.json", vec!["/se/0.2/4/3", "/matern/l=0.2,nu=1.7/0/0", "/matern/l=0.7,nu=3.5/2/1", "/matern/l=0.7,nu=0.5/1/0"]),
        ("kernels.json", vec!["/se_grid_0.2/5/5", "/matern_grid_l0.2_nu2.5/0/1", "/linear/4/3"]),
        ("kernels.json", vec!["/empirical_correlation/3/3", "/empirical_covariance_over_max/0/2"]),
        ("qff.json", vec!["/rff/features/4/13", "/rff/features/0/0"]),
        ("posterior.json", vec!["/finite/mean/29", "/finite/var/0", "/finite/info_gain", "/finite/cov_diag_and_first_row/1/7"]),
        ("posterior.json", vec!["/exact2d/mean/5", "/exact2d/var/2"]),
        ("ucb_sequences.json", vec!["/runs/igp_ucb/idx/49", "/runs/igp_ucb/beta/0", "/runs/tgp_ldp/mean_final/19"]),
        ("ucb_sequences.json", vec!["/runs/tgp_heavy/var_final/3", "/runs/tgp_heavy/truncated_rounds/2"]),
        ("calibration.json", vec!["/jdp/31/gdp_mu", "/zhou_tan/0/laplace_scale", "/zhou_tan/1/igp/1", "/zhou_tan/2/tgp_b/3"]),
        ("calibration.json", vec!["/zhou_tan/0/tgp_beta/2/beta", "/zhou_tan/0/q", "/zhou_tan/2/k", "/zhou_tan/1/ata_b/2"]),
        ("calibration.json", vec!["/zhou_tan/2/ata_beta/3", "/zhou_tan/1/moma_beta/1", "/zhou_tan/0/moma_beta/0"]),
        ("ucb_sequences.json", vec!["/runs/ata_ldp/theta_final/5", "/runs/ata_heavy/b_tau", "/runs/moma_ldp/r/9/4"]),
        ("ucb_sequences.json", vec!["/runs/ata_ldp/idx/49", "/runs/ata_heavy/mean_final/3", "/runs/moma_ldp/var_final/19"]),
        ("ucb_sequences.json", vec!["/runs/moma_heavy/epoch_points/9", "/runs/moma_ldp/chosen_j/3"]),
        ("ucb_sequences.json", vec!["/runs/ata_ldp/mean_after_round/0/3", "/runs/ata_heavy/mean_after_round/3/19"]),
        ("calibration.json", vec!["/zhou_tan/0/v", "/zhou_tan/0/c", "/zhou_tan/1/K", "/zhou_tan/2/K"]),
        ("nystrom.json", vec!["/K_D/3/3", "/pinv_sqrt/5/0", "/phi/24/5", "/residual/7", "/inclusion/per_play/0"]),
        ("nystrom.json", vec!["/duplicate/gram/24/3", "/inclusion/point/0"]),
        ("lmo.json", vec!["/cases/0/v/2/4", "/cases/9/v/5/0", "/cases/5/value/3", "/cases/2/dual_norm_times_minus_r/0"]),
        ("tree_n13.json", vec!["/prefix/12/2", "/nodes_in_prefix/12/1", "/node_of_noise/5/start"]),
        ("tofw_p1.5.json", vec!["/runs/0/g/39/0", "/runs/1/d/0/3", "/runs/2/v/20/1", "/runs/2/theta/39/2", "/runs/0/final/0"]),
        ("tofw_p2.json", vec!["/runs/1/theta/39/2"]),
        ("tofw_pinf.json", vec!["/runs/2/theta/39/2"]),
        ("pofw.json", vec!["/runs/0/d/39/0", "/runs/3/v/0/3", "/runs/5/theta/39/1"]),
        ("gennoise.json", vec!["/rows/2/y/2/11", "/rows/4/kappa", "/moments/3/var", "/rows/1/plus_norm_squared_of_y/0"]),
        ("noise_levels.json", vec!["/rows/0/kappa", "/rows/9/gdp_mu"]),
        ("baselines.json", vec!["/noisy_sfw/plan/sigma0", "/noisy_sfw/theta/3", "/noisy_sgd/plan/eta", "/noisy_sgd/theta/0"]),
        ("baselines.json", vec!["/local_md_step/2/u/1"]),
        ("tree.json", vec!["/prefixes/13/nodes/2/1", "/prefixes/7/noise/0/3", "/prefixes/16/noisy_sum/2/2"]),
        ("jdp_policy.json", vec!["/actions/63", "/rounds/9/beta_half", "/rounds/63/width", "/rounds/40/ucb/4", "/regret"]),
        (
            "jdp_policy.json",
            vec!["/spectrum/kappa", "/spectrum/lam_max", "/rounds/32/V/5/0", "/rounds/63/u/2", "/rounds/1/theta/0"],
        ),
        (
            "local_jdp.json",
            vec!["/actions/31", "/rounds/9/beta_half", "/rounds/31/ucb/0", "/rounds/31/V/2/2", "/rounds/31/theta/4"],
        ),
        ("local_jdp.json", vec!["/spectrum/kappa_printed", "/spectrum/shift"]),
        ("calibration.json", vec!["/jdp/0/zcdp_rho", "/jdp/31/sigma/proof", "/jdp/7/spectrum_proof_m36_zeta0.1/kappa"]),
        ("calibration.json", vec!["/jdp/3/local/lam_max", "/jdp/12/local_replacement/1", "/sens_subgaussian/L"]),
        ("omega.json", vec!["/rows/0/root", "/rows/71/printed"]),
        ("curator.json", vec!["/cases/0/Z/11/0", "/cases/3/lifted/0/0", "/cases/5/sigma_min", "/cases/2/omega"]),
        ("grid_conditions.json", vec!["/singular_values/1", "/largest_r/2/root"]),
        ("posterior_200.json", vec!["/sets/0/mean/199", "/sets/3/var/0"]),
        ("modeler_30.json", vec!["/sequences/1/sequence/30", "/sequences/2/values/29", "/sequences/6/beta/3"]),
        ("mom_truncation.json", vec!["/mom/0/r/6", "/mom/1/r/0", "/truncation/r/3", "/sym_inv_sqrt/root/1/0"]),
    ];
    for (name, pointers) in spots {
        let file = case(name);
        let kind = check::recognise(&file).expect("known");
        for pointer in pointers {
            let mut faulty = file.clone();
            let number = faulty.pointer_mut(pointer).expect("a number");
            let value = number.as_f64().expect("a number");
            *number = Value::from(value + 1e-6 * (1.0 + value.abs()));
            let outcome = kind.check(&faulty);
            assert_eq!(outcome.failures.len(), 1, "{name}{pointer}: {:?}", outcome.failures);
            *faulty.pointer_mut(pointer).expect("a number") = Value::Null;
            assert_eq!(kind.check(&faulty).failures.len(), 1, "{name}{pointer}: null");
            let (row, key) = pointer.rsplit_once('/').expect("a row");
            match faulty.pointer_mut(row).expect("a row") {
                Value::Array(numbers) => drop(numbers.pop()),
                row => drop(row.as_object_mut().expect("a row").remove(key)),
            }
            assert_eq!(kind.check(&faulty).failures.len(), 1, "{name}{pointer}: one number short");
        }
    }
}

#[test]
fn malformed_files_are_failures_and_never_panics() {
    for text in ["{}", "[]", "null", "3", "{\"X\": 1}"] {
        assert!(check::recognise(&serde_json::from_str(text).expect("JSON")).is_none());
    }
    for text in [
        r#"{"X": [], "Y": [], "se": {"0.2": [[1.0]]}, "matern": {"nu": [[1.0]], "l=a,nu=1": [[1.0]]}}"#,
        r#"{"X": [[1.0]], "Y": [[1.0, 2.0]], "se": {"0.2": [[1.0]]}, "matern": {}}"#,
        r#"{"X": [[1.0], [1.0, 2.0]], "Y": 2, "se": {"x": 1.0}, "matern": [], "samples": [], "empirical_correlation": [[1.0]]}"#,
        r#"{"d1": 1, "d2": 1, "rff": {}}"#,
        r#"{"finite": {}, "exact2d": 3}"#,
        r#"{"finite": {"X": [], "idx": [], "y": [], "lam": 1, "kernel": {"name": "se", "l": 1}}, "exact2d": {}}"#,
        r#"{"finite": {"X": [0], "idx": [1], "y": [1], "lam": 1, "kernel": {"name": "se", "l": 1}}, "exact2d": {}}"#,
        r#"{"finite": {"X": [0], "idx": [0], "y": [1], "lam": 0, "kernel": {"name": "se", "l": 0}}, "exact2d": {}}"#,
        r#"{"X": 1, "f": [], "noise": {}, "runs": {"igp_ucb": {}, "tgp_ldp": {"params": {"R": 1}}}}"#,
        r#"{"jdp": [], "zhou_tan": {}}"#,
        r#"{"jdp": [{"alpha": -1, "beta": 2}], "zhou_tan": [{"B": 1, "R": 1, "laplace_scale": 1, "v": 1, "lam": 0, "delta": 2, "T": -1, "tgp_beta": [{"t": 0, "info": 0}]}]}"#,
        r#"{"tolerance": 1, "relative": true, "g": [[1.0]], "cases": [{"p": "0.5", "radius": 1, "dual_norm_times_minus_r": [1.0]}]}"#,
        r#"{"tolerance": 1, "relative": true, "z": [[1.0]], "noise": [[1.0, 2.0]], "nodes_in_prefix": 3}"#,
        r#"{"tolerance": 1, "relative": true, "p": "2", "radius": 1, "node_noise": [], "runs": [{"lr": 1, "start": "whole"}], "X": [[1.0]], "y": [1.0]}"#,
        r#"{"tolerance": 1, "relative": true, "unit_laplace": [[1.0]], "base_scale_t1": 1, "parameters": {}, "runs": [{}], "X": [[1.0]], "y": [1.0]}"#,
        r#"{"tolerance": 1, "relative": true, "rows": [{"plus_exponent": 1, "p": "1.5", "d": 2, "direction": [[1, 2]], "r2": []}], "moments": 1}"#,
        r#"{"tolerance": 1, "relative": true, "rows": [{"sigma_plus": 1, "sigma_gdp": 1, "p": "2", "d": 1, "n": 0, "eps": -1}]}"#,
        r#"{"tolerance": 1, "relative": true, "noisy_sfw": {"X": [[1.0]], "y": []}, "noisy_sgd": 1, "local_md_step": [{"p": 2}]}"#,
        r#"{"tolerance": 1, "Z": [[1.0]], "observed": [0], "y": [1.0], "sets": []}"#,
        r#"{"tolerance": 1, "relative": "true", "z": [[1.0]], "noise": [[1.0]], "nodes_in_prefix": [[1]]}"#,
        r#"{"d1": 1, "d2": 1, "rff": {"X": [[1.0]], "W": [[1.0, 2.0]], "features": [[1.0]]}}"#,
    ] {
        let file = serde_json::from_str(text).expect("JSON");
        let outcome = check::recognise(&file).expect("known").check(&file);
        assert!(!outcome.failures.is_empty(), "{text}");
    }
}

/// Each number of a file's own settings, replaced by one that does not fit.
#[test]
fn settings_that_do_not_fit_are_failures_and_never_panics() {
    let mut n_run = 0;
    for (name, whole) in cases() {
        let kind = check::recognise(&whole).expect("known");
        for pointer in ["", "/params", "/parameters"] {
            let Some(settings) = whole.pointer(pointer).and_then(Value::as_object) else { continue };
            for (key, _) in settings.iter().filter(|(_, value)| value.is_number()) {
                for replaced in [-1.0, 0.0, 0.5, 3.0, 1e9, 1e300] {
                    let mut file = whole.clone();
                    file.pointer_mut(pointer).expect("the settings")[key] = replaced.into();
                    let checked = std::panic::catch_unwind(|| drop(kind.check(&file)));
                    assert!(checked.is_ok(), "{name}: `{pointer}/{key}` = {replaced}");
                    n_run += 1;
                }
            }
        }
    }
    assert!(50 < n_run, "{n_run}");
}
