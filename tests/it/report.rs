//! A report over two swept keys, through the public interface, with numbers invented here.

use privateer::record::{
    CellInfo, CellLedger, FOLDER_VERSION, Folder, Manifest, Measures, Role, Trace, hash_text, merge, write_part,
};
use privateer::report::write_report;
use privateer_config::params::Scalar;
use privateer_privacy::{Budget, Calibration, Claim, ClaimUnit, Event, Ledger};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const N_TRIALS: u32 = 20;
const N_ROUNDS: u32 = 1000;
const BLOCK: u32 = 8;
const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 8.0];
const DIMENSIONS: [i64; 2] = [1, 2];
/// Mean final regret at epsilon and dimension.
type Level = fn(f64, f64) -> f64;
/// Policy, share of the noise that its claim needs (`None` without privacy), level.
const POLICIES: [(&str, Option<f64>, Level); 3] = [
    ("tgp-ucb", Some(1.0), |epsilon, dimension| dimension * (90.0 + 120.0 / epsilon)),
    ("moma-gp-ucb", Some(0.5), |epsilon, dimension| dimension * (95.0 + 60.0 / epsilon)),
    ("igp-ucb", None, |_, dimension| dimension * 80.0),
];

/// A number in [-1, 1) that depends on its arguments alone.
fn noise(trial: u32, round: u32, salt: u32) -> f64 {
    let mut x = u64::from(trial) << 40 | u64::from(round) << 8 | u64::from(salt);
    for _ in 0..3 {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(17);
    }
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn cells() -> Vec<CellInfo> {
    let mut cells = Vec::new();
    for epsilon in EPSILONS {
        for dimension in DIMENSIONS {
            for (policy, noise, _) in POLICIES {
                cells.push(CellInfo {
                    cell: cells.len() as u32,
                    policy: policy.into(),
                    environment: "rkhs".into(),
                    swept: [
                        ("privacy.epsilon".into(), Scalar::Float(epsilon)),
                        ("environment.domain.dimension".into(), Scalar::Integer(dimension)),
                    ]
                    .into(),
                    role: Role::default(),
                    resolved: Default::default(),
                    ledger: ledger(epsilon, noise).into(),
                    measures: Measures::Regret,
                    warnings: Arc::default(),
                    facts: Arc::new(
                        [
                            ("points", 100_u64.pow(dimension as u32).into()),
                            ("kernel", "matern 5/2".into()),
                            ("norm_bound", 1.5.into()),
                        ]
                        .into(),
                    ),
                });
            }
        }
    }
    cells
}

fn ledger(epsilon: f64, noise: Option<f64>) -> CellLedger {
    let (mechanism, event) = match noise {
        None => ("none", Event::NonPrivate),
        Some(share) => ("laplace", Event::Laplace { scale: share * 5.0 / epsilon, sensitivity: Some(5.0) }),
    };
    let reward = Ledger::of(Claim {
        mechanism,
        calibration: Calibration::Tight,
        unit: ClaimUnit::Reward { clip: noise.map(|_| (-2.5, 2.5)) },
        event,
        budget: Budget::new(noise.map(|_| epsilon), None).expect("a budget"),
        noise_formula: "5 / epsilon".to_owned(),
        doubt: None,
        notes: Vec::new(),
    });
    CellLedger { reward, inputs: None }
}

fn rows(cell: u32, block: u32) -> Trace {
    let (_, _, level) = POLICIES[cell as usize % 3];
    let dimension = DIMENSIONS[cell as usize / 3 % 2];
    let epsilon = EPSILONS[cell as usize / 6];
    let mut rows = Trace::default();
    for trial in block * BLOCK..((block + 1) * BLOCK).min(N_TRIALS) {
        // Shared by the policies: a common draw of the function.
        let scale = 1.0 + 0.3 * noise(trial, 0, dimension as u32);
        let mut total = 0.0;
        for round in 1..=N_ROUNDS {
            let share = |t: u32| (f64::from(t) / f64::from(N_ROUNDS)).powf(0.6);
            let step = scale * level(epsilon, dimension as f64) * (share(round) - share(round - 1));
            let regret = step * (1.0 + 0.9 * noise(trial, round, cell));
            total += regret;
            let simple = scale / f64::from(round);
            rows.push(trial.into(), round.into(), Some(round as usize % 100), [regret, total, simple, 0.5 * simple]);
        }
    }
    rows
}

fn manifest() -> Manifest {
    let spec_text = "seed = 7\nrounds = 1000\ntrials = 20\n\n[sweep.product]\n\"privacy.epsilon\" = [0.5, 1, 2, 8]\n";
    Manifest {
        schema_version: FOLDER_VERSION,
        program_version: "0.1.0".to_owned(),
        spec_hash: hash_text(spec_text),
        spec_name: "What privacy costs on a smooth function".to_owned(),
        seed: "7".to_owned(),
        environment_summary: "functions drawn from an RKHS, matern 5/2, uniform noise".to_owned(),
        trials: N_TRIALS,
        rounds: N_ROUNDS,
        block: BLOCK,
        n_blocks: N_TRIALS.div_ceil(BLOCK),
        cells_a_part: 1,
        recorded: "every round".to_owned(),
        spec_text: spec_text.to_owned(),
        cells: cells(),
        tuned_rates: std::collections::BTreeMap::new(),
    }
}

/// Runs the parts whose running number is `shard_idx` modulo `n_shards`.
fn shard(out: &Path, shard_idx: usize, n_shards: usize) -> PathBuf {
    let out = out.join(format!("shard-{shard_idx}"));
    let manifest = manifest();
    let opened = Folder::open(&out, &manifest).expect("a fresh folder");
    for id in manifest.parts().skip(shard_idx).step_by(n_shards) {
        if !opened.done.contains(&id) {
            write_part(&out, &manifest.spec_hash, id, &manifest.cells[id.cell as usize], &rows(id.cell, id.block))
                .expect("written");
        }
    }
    out
}

/// The page stays in the build folder, to be looked at.
#[test]
fn shards_merge_into_a_report() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    if root.exists() {
        fs::remove_dir_all(&root).expect("cleared");
    }
    let shards: Vec<PathBuf> = (0..2).map(|shard_idx| shard(&root, shard_idx, 2)).collect();
    assert!(write_report(&shards[0], &|_| ()).expect_err("half a run").to_string().contains("36 blocks are missing"));

    let out = root.join("merged");
    merge(&shards, &out).expect("merged");
    let outcome = write_report(&out, &|_| ()).expect("reported");
    assert_eq!(outcome.n_cells(), 24);
    for row in (0..outcome.n_cells()).map(|cell| outcome.row(cell)) {
        let moments = row.main.expect("finite");
        let exponent = row.exponent.expect("enough rounds");
        assert!((exponent - 0.6).abs() < 0.03, "{} {exponent}", row.policy);
        assert!(moments.half.expect("many trials") < 0.2 * moments.mean, "{moments:?}");
    }
    // The planted price at epsilon 0.5 in one dimension: 90 + 240 against 80, with the same noise.
    let gap = outcome.row(2).paired_difference.expect("not the first policy");
    assert!((gap.mean + 250.0).abs() < 3.0 * gap.half.expect("many trials"), "{gap:?}");

    let whole = root.join("whole");
    let one = shard(&whole, 0, 1);
    let same = write_report(&one, &|_| ()).expect("reported");
    assert_eq!(fs::read(&same.summary_path).expect("summary"), fs::read(&outcome.summary_path).expect("summary"));
    assert_eq!((same.table(None, true), same.answer), (outcome.table(None, true), outcome.answer));
}
