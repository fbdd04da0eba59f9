//! Contexts from tables: what becomes of rows, and what a log says of a policy.

use super::contextual::policies;
use super::cuts;
use crate::support::{fact, prepared, run_all, sweep};
use privateer::engine::{Options, Quantity};
use privateer::env::DataFolder;
use privateer_backend::Cpu;
use privateer_numerics::rng::{Purpose, Streams};
use std::fmt::Write as _;

fn folder(name: &str, text: &str) -> (tempfile::TempDir, DataFolder) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), text).expect("a file");
    let data = DataFolder::new(Some(folder.path().to_owned()));
    (folder, data)
}

const PEOPLE: &str = "age,town,weight,dose\n30,A,NA,10\n40,B,60,21\n-5,A,80,48.9\n400,C,100,49\n50,B,70,70\n";

fn users(more: &str) -> String {
    format!(
        "rounds = 5\ntrials = 3\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"contexts-table\"\nfile = \"users.csv\"\n\
         numbers = [\"age\", \"weight\"]\nlows = [0, 50]\nhighs = [100, 100]\nmissing = \"middle\"\ncategories = [\"town\"]\nleast = 2\n\
         label = \"dose\"\ncuts = [21, 49]\n{more}\n[[policy]]\nkind = \"random-arm\"\n"
    )
}

/// Numbers on their public scales, a feature for each level of at least two rows, every user once a trial.
#[test]
fn rows_become_users() {
    let (_folder, data) = folder("users.csv", PEOPLE);
    prepared(&users(""), &data, |sweep, preparation| {
        let cell = preparation.contextual(&sweep.cells[0]).expect("a cell");
        let facts = &cell.environment.facts;
        assert_eq!((facts.n_arms, facts.dimension, facts.length, facts.largest_entry), (3, 5, 2.0, 1.0));
        assert_eq!((facts.range, facts.mean_range), (Some((0.0, 1.0)), (0.0, 1.0)));
        let told = &cell.environment.described;
        let fact = |name: &str| fact(told, name).expect("a fact");
        assert_eq!((fact("numbers beyond"), fact("numbers missing")), (2_u64.into(), 1_u64.into()));
        assert_eq!(fact("share of users"), vec![0.2, 0.4, 0.4].into());
        // 1, age, weight, town A, town B; the right arm.
        let expected = [
            ([1.0, -0.4, 0.0, 1.0, 0.0], 0),
            ([1.0, -0.2, -0.6, 0.0, 1.0], 1),
            ([1.0, -1.0, 0.2, 1.0, 0.0], 1),
            ([1.0, 1.0, 1.0, 0.0, 0.0], 2),
            ([1.0, 0.0, -0.2, 0.0, 1.0], 2),
        ];
        let mut orders = Vec::new();
        for trial in 0..3 {
            let mut users = (cell.environment.draw)(trial).expect("users");
            let mut order = Vec::new();
            for _ in 0..5 {
                users.next();
                let close = |row: &[f64; 5]| row.iter().zip(users.context()).all(|(a, b)| (a - b).abs() < 1e-12);
                let at = expected.iter().position(|(row, _)| close(row)).expect("a row of the file");
                let right = |arm: usize| f64::from(u8::from(arm == expected[at].1));
                assert_eq!(users.means(), [right(0), right(1), right(2)]);
                order.push(at);
            }
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4], "everybody comes once");
            orders.push(order);
        }
        orders.dedup();
        assert!(1 < orders.len(), "trials differ in order: {orders:?}");
    });
}

/// Contexts beyond a stated length are shortened to it and counted.
#[test]
fn a_stated_length_is_kept() {
    let (_folder, data) = folder("users.csv", PEOPLE);
    prepared(&users("length = 1.5"), &data, |sweep, preparation| {
        let cell = preparation.contextual(&sweep.cells[0]).expect("a cell");
        assert_eq!(cell.environment.facts.length, 1.5);
        let mut instance = (cell.environment.draw)(0).expect("users");
        let mut shortened = 0;
        for _ in 0..5 {
            instance.next();
            let length = instance.context().iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(length <= 1.5 + 1e-12);
            shortened += u64::from(1.5 - 1e-9 < length);
        }
        let told = &cell.environment.described;
        assert_eq!((fact(told, "contexts shortened"), shortened), (Some(3_u64.into()), 3));
    });
}

/// A log of 4000 rows: arm `a` pays where x = 1 and `b` where x = -1, always; `a` was shown with probability 0.8 where x = 1 and 0.3 elsewhere, and
/// a third arm, which policies do not have, one time in ten.
fn log() -> String {
    let mut stream = Streams::new(3, "log").of(0, Purpose::Noise);
    let mut text = "x,arm,reward,p\n".to_owned();
    for _ in 0..4000 {
        let (x, random) = (stream.bernoulli(0.5), stream.uniform());
        let p_a = if x { 0.8 } else { 0.3 };
        let (arm, p) = if random < p_a {
            ("a", p_a)
        } else if random < 0.9 {
            ("b", 0.9 - p_a)
        } else {
            ("c", 0.1)
        };
        let reward = u8::from((arm == "a") == x && arm != "c");
        let x = if x { 1 } else { -1 };
        writeln!(text, "{x},{arm},{reward},{p}").expect("memory");
    }
    text
}

fn replay(policies: &str) -> String {
    format!(
        "seed = 8\nrounds = 4000\ntrials = 4\nblock = 4\n[environment]\nkind = \"logged-replay\"\nfile = \"log.csv\"\nnumbers = [\"x\"]\n\
         lows = [-1]\nhighs = [1]\narm = \"arm\"\narms = [\"a\", \"b\"]\nreward = \"reward\"\npropensity = \"p\"\n[privacy]\nepsilon = 50.0\n{policies}"
    )
}

/// Estimates against the truth: random arms are worth 1/2, a policy that learns comes near 1. Rows are taken with the least propensity, 0.1,
/// whoever chooses. False alarms: five standard errors of eight estimates, below 1e-5.
#[test]
fn replays_estimate_what_a_policy_is_worth() {
    let (_folder, data) = folder("log.csv", &log());
    let text =
        replay("[[policy]]\nkind = \"random-arm\"\n[[policy]]\nkind = \"linucb\"\nbeta = { kind = \"scaled\", factor = 0.1 }\n");
    let run = run_all(&sweep(&text), &data, &Cpu::default(), Options::default()).expect("a run");
    for (cell, truth) in [(0, 0.5), (1, 1.0)] {
        let rows = run.cell(cell);
        assert!(!rows.has(Quantity::Regret) && rows[Quantity::Value].len() == rows.round.len());
        for i in (0..rows.round.len()).filter(|&i| rows.round[i] == 4000) {
            let (value, error, taken) = (rows[Quantity::Value][i], rows[Quantity::StandardError][i], rows[Quantity::Taken][i]);
            // At truth 1 all but the first rows earn: the estimate is within what learning takes.
            let slack = if truth == 1.0 { 0.03 } else { 0.0 };
            assert!((value - truth).abs() < 5.0 * error + slack, "cell {cell}: {value} ± {error}");
            assert!((0.0..0.05).contains(&error), "{error}");
            // Among these arms the least propensity is 0.1, that of `b` where x = 1: 400 rows, standard deviation 19.
            assert!((taken - 400.0).abs() < 95.0, "{taken}");
        }
    }
}

/// A planted fault: propensities that are not those of the log give another value.
#[test]
fn wrong_propensities_show() {
    let (_folder, data) = folder("log.csv", &log().replace(",0.8\n", ",0.4\n"));
    let run = run_all(&sweep(&replay("[[policy]]\nkind = \"random-arm\"\n")), &data, &Cpu::default(), Options::default())
        .expect("a run");
    let rows = run.cell(0);
    let far =
        |&i: &usize| rows.round[i] == 4000 && 5.0 * rows[Quantity::StandardError][i] < (rows[Quantity::Value][i] - 0.5).abs();
    assert_eq!((0..rows.round.len()).filter(far).count(), 4, "{:?}", rows[Quantity::Value].last());
}

/// All policies, the same bytes for any batch and shard; claims hold.
#[test]
fn replays_have_the_same_bytes() {
    let (_folder, data) = folder("log.csv", &log());
    let sweep = sweep(&replay(&policies()).replace("block = 4", "block = 2").replace("rounds = 4000", "rounds = 400"));
    cuts::whole("replays", &sweep, &data, &[(2, Some(3))]);
}
