//! Whole jobs against plain loops over plain arrays, and what the lines of JSON hold.

use super::outcome::checksum;
use super::{BenchInstance, BenchOptions, Flags, Job, Machine, Measured, Size, Workload, measure, table};
use privateer_backend::{Band, Cpu};
use privateer_numerics::linalg::{cholesky, dot, inverse_spd};
use privateer_numerics::rng::{Purpose, Streams};
use std::fs;
use std::path::Path;

fn job(workload: Workload) -> Job {
    let flags =
        Flags { points: Some(150), features: Some(36), trials: Some(5), rounds: Some(40), seed: Some(3), ..Flags::default() };
    flags.applied(Job::standard(workload, Size::Small)).expect("a job")
}

fn cpu(band: Band) -> Machine {
    let backend = std::sync::Arc::new(Cpu::with_band(band));
    Machine { backend, device: "here".to_owned(), dtypes: ["float64", "float32"], software_adapter: false, ceilings: None }
}

fn measured(job: &Job, instance: &BenchInstance, threads: usize, options: BenchOptions) -> Measured {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    measure(job, instance, &cpu(Band::Proved), &pool, options).expect("a measurement")
}

const ONCE: BenchOptions = BenchOptions { repeat: 1, verify: true };

/// The job with every matrix written out: V is inverted again in each round, all points are scored, the first best is played.
/// `noise` adds a round's noise to V.
fn by_hand(job: &Job, instance: &BenchInstance, mut noise: impl FnMut(usize, usize, &mut [f64])) -> Vec<u32> {
    let (n, m) = (job.points, job.features);
    let mut actions = vec![0; job.rounds * job.trials];
    for trial in 0..job.trials {
        let (mut gram, mut moment) = (vec![0.0; m * m], vec![0.0; m]);
        let mut point = instance.start[trial];
        for round in 0..=job.rounds {
            let phi = instance.table.row(point);
            let reward = instance.f[point] + instance.noise[round * job.trials + trial];
            for i in 0..m {
                moment[i] += reward * phi[i];
                for j in 0..m {
                    gram[i * m + j] += phi[i] * phi[j];
                }
            }
            if round == job.rounds {
                break;
            }
            let mut v = gram.clone();
            (0..m).for_each(|i| v[i * m + i] += job.ridge);
            noise(trial, round, &mut v);
            cholesky(&mut v, m).expect("positive definite");
            let inverse = inverse_spd(&v, m);
            let theta: Vec<f64> = (0..m).map(|i| dot(&inverse[i * m..(i + 1) * m], &moment)).collect();
            let score = |x: usize| {
                let phi = instance.table.row(x);
                let form: f64 = (0..m).map(|i| phi[i] * dot(&inverse[i * m..(i + 1) * m], phi)).sum();
                dot(&theta, phi) + job.beta * (job.ridge * form).sqrt()
            };
            let scores: Vec<f64> = (0..n).map(score).collect();
            point = (0..n).fold(0, |best, x| if scores[best] < scores[x] { x } else { best });
            actions[round * job.trials + trial] = point as u32;
        }
    }
    actions
}

#[test]
fn incremental_plays_what_a_plain_loop_plays() {
    let job = job(Workload::Incremental);
    let instance = BenchInstance::draw(&job);
    let expected = checksum(&by_hand(&job, &instance, |_, _, _| {}));
    let once = measured(&job, &instance, 1, ONCE);
    assert_eq!((once.actions_crc, once.wrong, once.counters.violations), (expected, Some(0), 0));
    let often = measured(&job, &instance, 3, BenchOptions { repeat: 3, verify: false });
    assert_eq!((often.actions_crc, often.seconds.len(), often.wrong), (expected, 3, None));
    assert_eq!(often.counters.rounds, 200);
}

#[test]
fn fullrank_plays_what_a_plain_loop_plays() {
    // Dense products, and interpolation from pivots.
    assert_eq!(fullrank(job(Workload::FullRank)), 0);
    let by_pivots = fullrank(Job { points: 700, rounds: 25, lengthscale: 1.0, ..job(Workload::FullRank) });
    assert!(100 <= by_pivots, "{by_pivots} of 125 trial-rounds");
}

/// Trial-rounds that were scored by interpolation.
fn fullrank(job: Job) -> u64 {
    let instance = BenchInstance::draw(&job);
    let m = job.features;
    let shift = super::tree::shift(job.rounds, m, job.node_std);
    // E_k by its definition: the sum of the nodes of k's binary expansion, each drawn row by row.
    let nodes: Vec<Vec<Vec<f64>>> = (0..job.trials as u64)
        .map(|trial| {
            let mut stream = Streams::new(job.seed, "bench").of(trial, Purpose::Mechanism("tree"));
            let mut node = || {
                let mut node = vec![0.0; m * m];
                for i in 0..m {
                    for j in i..m {
                        let scale = if i == j { std::f64::consts::SQRT_2 } else { 1.0 };
                        node[i * m + j] = scale * job.node_std * stream.normal();
                        node[j * m + i] = node[i * m + j];
                    }
                }
                node
            };
            (0..job.rounds).map(|_| node()).collect()
        })
        .collect();
    let noise = |trial: usize, round: usize, v: &mut [f64]| {
        (0..m).for_each(|i| v[i * m + i] += shift);
        let mut k = round + 1;
        while k != 0 {
            v.iter_mut().zip(&nodes[trial][k - 1]).for_each(|(entry, node)| *entry += node);
            k &= k - 1;
        }
    };
    let expected = checksum(&by_hand(&job, &instance, noise));
    let by_threads = [8, 2, 1].map(|threads| {
        let found = measured(&job, &instance, threads, ONCE);
        assert_eq!((found.actions_crc, found.wrong, found.counters.violations), (expected, Some(0), 0), "{threads} threads");
        found.counters.interpolated
    });
    by_threads[2]
}

#[test]
fn an_infinite_band_changes_nothing() {
    for workload in Workload::ALL {
        let job = Job { rounds: 15, ..job(workload) };
        let instance = BenchInstance::draw(&job);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads");
        let wide = measure(&job, &instance, &cpu(Band::Infinite), &pool, ONCE).expect("a measurement");
        assert_eq!((wide.candidates_median, wide.candidates_p99, wide.wrong), (150, 150, Some(0)));
        assert_eq!(wide.actions_crc, measured(&job, &instance, 1, ONCE).actions_crc);
    }
}

/// Noise that outgrows the shift is a failure with words.
#[test]
fn an_indefinite_matrix_is_explained() {
    let job = Job { node_std: 1e9, ..job(Workload::FullRank) };
    let mut instance = BenchInstance::draw(&job);
    // Features beyond the range of the shift.
    let table = std::sync::Arc::make_mut(&mut instance.table);
    table.values.iter_mut().for_each(|value| *value *= 1e200);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads");
    let said = measure(&job, &instance, &cpu(Band::Proved), &pool, ONCE).expect_err("refused").to_string();
    assert!(said.contains("not positive definite") && said.contains("--node-std"), "{said}");
}

#[test]
fn lines_of_json_have_the_common_names() {
    let job = job(Workload::FullRank);
    let found = measured(&job, &BenchInstance::draw(&job), 1, ONCE);
    let line = found.json();
    for name in [
        "peer",
        "variant",
        "N",
        "m",
        "B",
        "T",
        "dtype",
        "device",
        "seed",
        "repeat",
        "setup_s",
        "loop_s",
        "loop_s_all",
        "rounds_per_s",
        "trial_rounds_per_s",
        "ms_per_round",
        "us_per_trial_round",
        "model_gflops_per_s",
        "cum_regret_mean",
        "cum_regret_std",
        "simple_regret_mean",
        "actions_crc",
        "qff_max_err",
        "threads",
        "versions",
        "software_adapter",
        "candidates_median",
        "f64_scans",
        "band_violations",
    ] {
        assert!(line.get(name).is_some_and(|value| !value.is_null()), "{name}: {line}");
    }
    assert_eq!((&line["variant"], &line["N"], &line["wrong_choices"]), (&"fullrank".into(), &150.into(), &0.into()));
    assert!(line["ceiling_copy_gbytes_per_s"].is_null() && line["cum_regret_mean"].as_f64().is_some_and(|regret| 0.0 < regret));
    let emulated = Measured { backend: "gpu".to_owned(), software_adapter: true, actions_crc: 1, ..found.clone() };
    let shown = table(&[found, emulated]);
    assert!(shown.contains("software adapter: correctness only") && shown.contains("DIFFERENT POINTS"), "{shown}");
}

#[test]
fn checksums_are_of_little_endian_i64() {
    // zlib.crc32(numpy.arange(5, dtype="<i8").tobytes())
    assert_eq!(checksum(&[0, 1, 2, 3, 4]), 1_821_330_972);
    assert_eq!(checksum(&[]), 0);
}

/// Writes an array as `numpy.save` does.
fn save(path: &Path, dtype: &str, shape: &str, words: impl Iterator<Item = [u8; 8]>) {
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(words.flatten());
    fs::write(path, bytes).expect("written");
}

/// Writes an instance as other programs do.
fn store(folder: &Path, job: &Job, instance: &BenchInstance) {
    let floats = |name: &str, shape: String, values: &[f64]| {
        save(&folder.join(name), "<f8", &shape, values.iter().map(|value| value.to_le_bytes()));
    };
    let form = instance.table.form.as_ref().expect("a form");
    let (n, m) = (job.points, job.features);
    floats("x.npy", format!("({n}, 2)"), &form.points);
    floats("Phi.npy", format!("({n}, {m})"), &instance.table.values);
    floats("f.npy", format!("({n},)"), &instance.f);
    floats("noise.npy", format!("({}, {})", job.rounds + 1, job.trials), &instance.noise);
    let start = instance.start.iter().map(|&point| (point as i64).to_le_bytes());
    save(&folder.join("start.npy"), "<i8", &format!("({},)", job.trials), start);
    let stated = serde_json::json!({
        "N": n, "m": m, "B": job.trials, "T": job.rounds, "seed": job.seed, "lengthscale": job.lengthscale, "lam": job.ridge,
        "beta": job.beta, "noise_std": job.noise, "node_std": job.node_std, "peer": "instance",
    });
    fs::write(folder.join("instance.json"), stated.to_string()).expect("written");
}

#[test]
fn stored_instances_are_read_back() {
    let job = job(Workload::Incremental);
    let instance = BenchInstance::draw(&job);
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path(), &job, &instance);
    let (read, stated) = BenchInstance::read(folder.path(), Workload::Incremental).expect("an instance");
    assert_eq!(stated, job);
    assert_eq!((&read.f, &read.noise, &read.start), (&instance.f, &instance.noise, &instance.start));
    assert_eq!((&read.table.values, read.table.kernel_error), (&instance.table.values, instance.table.kernel_error));
    assert_eq!(measured(&stated, &read, 1, ONCE).actions_crc, measured(&job, &instance, 1, ONCE).actions_crc);
    // Numbers of the model may be changed, those of the arrays not.
    let flags = Flags { ridge: Some(0.5), points: Some(150), ..Flags::default() };
    assert_eq!(flags.applied_to_stored(stated).expect("a job").ridge, 0.5);
    let wrong = Flags { points: Some(151), noise: Some(0.2), ..Flags::default() };
    let said = wrong.applied_to_stored(stated).expect_err("refused").to_string();
    assert!(said.contains("`--points 151` is not what the instance was made with") && said.contains("--noise 0.2"), "{said}");
}

#[test]
fn broken_instances_are_explained() {
    let job = job(Workload::Incremental);
    let instance = BenchInstance::draw(&job);
    type Break<'a> = (&'a str, &'a dyn Fn(&Path));
    let float = |value: f64| value.to_le_bytes();
    let breaks: [Break<'_>; 8] = [
        ("is not there", &|folder| fs::remove_file(folder.join("Phi.npy")).expect("removed")),
        ("cannot be read", &|folder| fs::remove_file(folder.join("instance.json")).expect("removed")),
        ("is not understood", &|folder| fs::write(folder.join("instance.json"), "{\"N\": -1}").expect("written")),
        ("has shape [150, 1], expected [150]", &|folder| {
            save(&folder.join("f.npy"), "<f8", "(150, 1)", (0..150).map(|i| float(f64::from(i))));
        }),
        ("holds inf as entry 149", &|folder| {
            save(&folder.join("f.npy"), "<f8", "(150,)", (0..150).map(|i| float(1.0 / f64::from(149 - i))));
        }),
        ("names a point outside 0..150", &|folder| {
            save(&folder.join("start.npy"), "<i8", "(5,)", [0i64, 1, 150, 2, 3].iter().map(|i| i.to_le_bytes()));
        }),
        ("names a point outside", &|folder| {
            save(&folder.join("start.npy"), "<i8", "(5,)", [0i64, 1, -1, 2, 3].iter().map(|i| i.to_le_bytes()));
        }),
        ("holds `<f8`, expected `<i8`", &|folder| {
            save(&folder.join("start.npy"), "<f8", "(5,)", (0..5).map(|i| float(f64::from(i))));
        }),
    ];
    for (part, damage) in breaks {
        let folder = tempfile::tempdir().expect("a folder");
        store(folder.path(), &job, &instance);
        damage(folder.path());
        let error = BenchInstance::read(folder.path(), Workload::Incremental).expect_err("refused");
        assert!(error.to_string().contains(part), "{part}: {error}");
        assert_eq!(error.exit_code() as u8, 2, "{error}");
    }
    let error = BenchInstance::read(Path::new("no such folder"), Workload::Incremental).expect_err("refused");
    assert!(error.to_string().contains("is not a folder") && error.exit_code() as u8 == 2, "{error}");
}

#[test]
fn jobs_that_cannot_be_run_are_refused() {
    let standard = Job::standard(Workload::FullRank, Size::Small);
    let none = Flags::default();
    let refused = [
        (Flags { features: Some(60), ..none }, "`--features 60` is not the square of an even number"),
        (Flags { features: Some(49), ..none }, "is not the square of an even number"),
        (Flags { features: Some(0), ..none }, "is not the square of an even number"),
        (Flags { trials: Some(0), ..none }, "`--trials 0`"),
        (Flags { rounds: Some(0), ..none }, "`--rounds 0`"),
        (Flags { points: Some(usize::MAX), ..none }, "cannot be run"),
        (Flags { ridge: Some(0.0), ..none }, "`--ridge 0`"),
        (Flags { beta: Some(f64::NAN), ..none }, "`--beta NaN`"),
        (Flags { lengthscale: Some(-1.0), ..none }, "`--lengthscale -1`"),
        (Flags { points: Some(1_000_000), trials: Some(100_000), ..none }, "more than the limit"),
    ];
    for (flags, part) in refused {
        let error = flags.applied(standard).expect_err("refused");
        assert!(error.to_string().contains(part) && error.exit_code() as u8 == 2, "{part}: {error}");
    }
    let two = Flags { trials: Some(0), noise: Some(-1.0), ..none }.applied(standard).expect_err("refused").to_string();
    assert!(two.contains("--trials 0") && two.contains("--noise -1"), "all mistakes at once: {two}");
}
