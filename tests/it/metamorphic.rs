//! What may be done to a table without changing the answer: rows in another order or twice, columns renamed or moved, other units.
//!
//! Twenty generated tables with warts meet every policy, without and with privacy. Where the arithmetic is the same, so are the bits;
//! elsewhere final regrets agree by Welch's test, with a false alarm in one of a million runs of this file (Bonferroni). Seeds are fixed.

use crate::contract::policies::{privacies, settings};
use crate::program::{Folder, folder};
use crate::support::*;
use privateer::registry::{CONTEXTUAL_POLICIES, POLICIES, names};
use statrs::distribution::{ContinuousCDF, StudentsT};

const TRIALS: u32 = 20;

/// Chance of a false alarm in all comparisons of this file.
const FALSE_ALARM: f64 = 1e-6;

/// More comparisons than there are.
const COMPARISONS: f64 = 1e4;

/// A table of numbers with names of columns.
#[derive(Clone)]
pub struct Grid {
    pub names: Vec<String>,
    pub rows: Vec<Vec<f64>>,
}

impl Grid {
    pub fn write(&self, folder: &Folder, name: &str) {
        let line = |row: &Vec<f64>| row.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>().join(",");
        folder.table(name, &self.names.join(","), self.rows.iter().map(line));
    }

    fn permuted(&self, stream: &mut Stream) -> Self {
        let mut copy = self.clone();
        (1..copy.rows.len()).rev().for_each(|at| copy.rows.swap(at, stream.index(at + 1)));
        copy
    }

    fn sorted_by_last(&self, sign: f64) -> Self {
        let mut copy = self.clone();
        copy.rows.sort_by(|a, b| (sign * a[a.len() - 1]).total_cmp(&(sign * b[b.len() - 1])));
        copy
    }

    fn twice(&self) -> Self {
        Self { rows: [&self.rows[..], &self.rows[..]].concat(), ..self.clone() }
    }

    fn mapped(&self, column: usize, map: impl Fn(f64) -> f64) -> Self {
        let mut copy = self.clone();
        copy.rows.iter_mut().for_each(|row| row[column] = map(row[column]));
        copy
    }

    /// Columns from the last to the first, each with another name; the names come back in the order before.
    fn moved(&self) -> (Self, Vec<String>) {
        let renamed: Vec<String> = self.names.iter().map(|name| format!("{name} of 2026")).collect();
        let reversed = |row: &Vec<f64>| row.iter().rev().copied().collect();
        let copy = Self { names: renamed.iter().rev().cloned().collect(), rows: self.rows.iter().map(reversed).collect() };
        (copy, renamed)
    }
}

/// A table of one to three inputs and a value, with offsets, skew, ties, outliers and replicates.
pub fn warty(seed: u64) -> (Grid, Stream) {
    let mut random = Streams::new(seed, "warty tables").of(0, Purpose::Domain);
    let n_inputs = 1 + random.index(3);
    let n = 8 + random.index(18);
    let offsets: Vec<f64> = (0..=n_inputs).map(|_| [0.0, 3.0, -40.0, 1e3][random.index(4)]).collect();
    let units: Vec<f64> = (0..=n_inputs).map(|_| [1.0, 1e-3, 250.0][random.index(3)]).collect();
    let (skew, whole) = (random.bernoulli(0.3), random.bernoulli(0.3));
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while rows.len() < n {
        let at: Vec<f64> = (0..n_inputs).map(|_| random.index(5) as f64 / 4.0).collect();
        let level = libm::sin(3.0 * at.iter().sum::<f64>());
        for _ in 0..[1, 1, 2, 5][random.index(4)] {
            let value = level + 0.8 * random.normal();
            let value = if skew { libm::exp(value) } else { value };
            let value = if whole { libm::round(4.0 * value) / 4.0 } else { value };
            let cells = at.iter().chain([&value]).enumerate();
            rows.push(cells.map(|(j, cell)| offsets[j] + units[j] * cell).collect());
        }
    }
    // Two rows that no column is constant without.
    let corner = |place: f64| (0..=n_inputs).map(|j| offsets[j] + units[j] * place).collect();
    rows.extend([corner(0.0), corner(1.0)]);
    let names = (0..n_inputs).map(|j| format!("in {j}")).chain(["out".to_owned()]).collect();
    (Grid { names, rows }, random)
}

/// Policies with their plainest settings, without and with privacy.
fn bandits(policies: &[&str], clip: &str) -> String {
    let mut text = String::new();
    for &policy in policies {
        let (_, lines) = settings().into_iter().find(|(name, _)| name == &policy).expect("a setting");
        let [without, with, _] = privacies(policy);
        for (label, privacy) in [("without", without), ("with", with)] {
            let clip = if label == "with" { clip } else { "" };
            text += &format!("[[policy]]\nlabel = \"{policy} {label}\"\n{lines}[policy.privacy]\n{privacy}\n{clip}\n");
        }
    }
    text
}

fn points(file: &str, columns: &[String], replicates: &str, (low, high): (f64, f64)) -> String {
    let (value, inputs) = columns.split_last().expect("a value");
    format!(
        "seed = 47\nrounds = 40\ntrials = {TRIALS}\nblock = {TRIALS}\nreferences = false\n[environment]\nkind = \"points-table\"\nfile = \"{file}\"\n\
         inputs = {inputs:?}\nvalue = \"{value}\"\nunits = \"data\"\nbound = [{low:?}, {high:?}]\nreplicates = \"{replicates}\"\n\
         public = [\"standardisation\"]\nkernel = {{ kind = \"squared-exponential\", lengthscale = 2.0 }}\n\
         noise = {{ kind = \"gaussian\", sd = 0.2 }}\n{}",
        bandits(&names(POLICIES), &format!("clip = [{low:?}, {high:?}]"))
    )
}

fn played(text: &str, here: &Folder) -> Ran {
    run_all(&sweep(text), &here.data(), &Cpu::default(), Options::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether two samples may have means that differ by at most `slack`.
fn agree(a: &[f64], b: &[f64], slack: f64) -> bool {
    let moments = |x: &[f64]| {
        let (n, mean) = (x.len() as f64, x.iter().sum::<f64>() / x.len() as f64);
        (mean, x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0) / n)
    };
    let ((mean, error), (other, its)) = (moments(a), moments(b));
    let gap = ((mean - other).abs() - slack - 1e-9 * mean.abs()).max(0.0);
    let freedom = (error + its) * (error + its) / (error * error + its * its) * (a.len() as f64 - 1.0);
    gap == 0.0 || {
        let t = StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("degrees of freedom");
        FALSE_ALARM / COMPARISONS < 2.0 * t.cdf(-gap / libm::sqrt(error + its))
    }
}

fn disagreeing(a: &Ran, b: &Ran, quantity: Quantity, slack: f64) -> Vec<usize> {
    assert_eq!(a.rows.len(), b.rows.len());
    let cells = a.rows.values().zip(b.rows.values()).enumerate();
    cells.filter(|(_, (a, b))| !agree(&finals(a, quantity), &finals(b, quantity), slack)).map(|(cell, _)| cell).collect()
}

/// Fails unless the cells of runs over other forms of a table agree with those before.
fn assert_unchanged<const N: usize>(table: &str, quantity: Quantity, before: &Ran, others: [(&str, &Ran, f64); N]) {
    for (what, other, slack) in others {
        assert_eq!(disagreeing(before, other, quantity, slack), [0; 0], "{table}: {what}");
    }
}

#[test]
fn answers_of_points_do_not_change_with_what_does_not_matter() {
    let here = &folder();
    for seed in 0..20 {
        let (grid, mut random) = warty(seed);
        let value = grid.names.len() - 1;
        let column = || grid.rows.iter().map(|row| row[value]);
        let (low, high) = (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
        let run = |grid: &Grid, names: &[String], range: (f64, f64)| {
            grid.write(here, "t.csv");
            played(&points("t.csv", names, "merged", range), here)
        };
        let before = run(&grid, &grid.names, (low, high));
        for sorted in [grid.permuted(&mut random), grid.sorted_by_last(1.0), grid.sorted_by_last(-1.0)] {
            assert_eq!(before.bits(), run(&sorted, &grid.names, (low, high)).bits(), "table {seed}: another order of rows");
        }
        let (moved, names) = grid.moved();
        assert_eq!(before.bits(), run(&moved, &names, (low, high)).bits(), "table {seed}: columns moved and renamed");
        let (factor, shift) = ([0.01, 3.0, 1e4][random.index(3)], [-7.0, 0.3, 1e4][random.index(3)]);
        let unit = |x: f64| factor * x + shift;
        let others = [
            ("rows twice", &run(&grid.twice(), &grid.names, (low, high)), 0.0),
            ("values in other units", &run(&grid.mapped(value, unit), &grid.names, (unit(low), unit(high))), 0.0),
            ("an input in other units", &run(&grid.mapped(0, unit), &grid.names, (low, high)), 0.0),
        ];
        assert_unchanged(&format!("table {seed}"), Quantity::CumulativeRegret, &before, others);
    }
}

/// A planted fault: where replicates are apart, the order of the rows decides, and the comparison sees it.
#[test]
fn the_comparison_sees_that_the_order_of_rows_decides() {
    let here = &folder();
    let rows = (0..60).map(|i| vec![f64::from(i % 6), libm::sin(f64::from(i % 6)) + 2.0 * libm::sin(f64::from(7 * i))]).collect();
    let grid = Grid { names: vec!["x".to_owned(), "y".to_owned()], rows };
    let run = |grid: Grid| {
        grid.write(here, "t.csv");
        played(&points("t.csv", &grid.names, "apart", (-3.0, 3.0)), here)
    };
    let found = disagreeing(&run(grid.sorted_by_last(1.0)), &run(grid.sorted_by_last(-1.0)), Quantity::CumulativeRegret, 0.0);
    assert!(names(POLICIES).len() / 2 <= found.len(), "{found:?}");
}

/// Readings of arms: the rows of both files in another order or twice, the arms moved and renamed.
#[test]
fn answers_of_arms_do_not_change_with_what_does_not_matter() {
    let here = &folder();
    for seed in 0..20 {
        let mut random = Streams::new(seed, "warty arms").of(0, Purpose::Domain);
        let (n_arms, unit) = (2 + random.index(6), [1.0, 0.05, 30.0][random.index(3)]);
        let means: Vec<f64> = (0..n_arms).map(|_| 1.0 + random.uniform()).collect();
        let mut readings = |n: usize| {
            let row =
                |level: f64, random: &mut Stream| means.iter().map(|mean| unit * (mean + level + random.normal())).collect();
            Grid {
                names: (0..n_arms).map(|arm| format!("arm {arm}")).collect(),
                rows: (0..n).map(|_| row(0.5 * random.normal(), &mut random)).collect(),
            }
        };
        let (train, test) = (readings(25), readings(15));
        let reach = test.rows.iter().flatten().fold(0.0_f64, |most, x| most.max(x.abs()));
        let arms = |policies: &[&str]| {
            format!(
                "seed = 47\nrounds = 40\ntrials = {TRIALS}\nblock = {TRIALS}\nreferences = false\n[environment]\nkind = \"arms-table\"\n\
                 train = \"train.csv\"\ntest = \"test.csv\"\nregret = \"raw\"\npublic = [\"covariance\", \"moments\", \"range\"]\n{}",
                bandits(policies, &format!("clip = [{:?}, {reach:?}]", -reach))
            )
        };
        train.write(here, "train.csv");
        test.write(here, "test.csv");
        // The others need coordinates.
        let plays = |policy: &&str| {
            prepared(&arms(&[*policy]), &here.data(), |sweep, preparation| preparation.cell(&sweep.cells[0]).is_ok())
        };
        let policies: Vec<&str> = names(POLICIES).into_iter().filter(plays).collect();
        assert!(5 < policies.len(), "{policies:?}");
        let run = |train: &Grid, test: &Grid| {
            train.write(here, "train.csv");
            test.write(here, "test.csv");
            played(&arms(&policies), here)
        };
        let before = run(&train, &test);
        let mut other = Streams::new(seed, "other orders").of(0, Purpose::Domain);
        let others = [
            ("another order of rows", &run(&train.permuted(&mut other), &test.permuted(&mut other)), 0.0),
            ("rows twice", &run(&train.twice(), &test.twice()), 0.0),
            // The first rounds try arms in their order, which is worth a regret of a range each.
            ("arms moved and renamed", &run(&train.moved().0, &test.moved().0), 2.0 * unit),
        ];
        assert_unchanged(&format!("table {seed}"), Quantity::CumulativeRegret, &before, others);
    }
}

/// Users of a contextual bandit, and the log of one: rows in another order, columns moved and renamed, numbers in other units.
#[test]
fn answers_of_users_and_logs_do_not_change_with_what_does_not_matter() {
    let here = &folder();
    let policies: String =
        names(CONTEXTUAL_POLICIES).into_iter().map(|name| format!("[[policy]]\nkind = \"{name}\"\n")).collect();
    for seed in 0..20 {
        let mut random = Streams::new(seed, "warty users").of(0, Purpose::Domain);
        let rows = (0..160).map(|_| {
            let (x, arm) = (random.uniform(), random.index(3) as f64);
            let dose = 40.0 * (x + 0.2 * random.normal());
            let right = f64::from(u8::from(13.0 <= dose) + u8::from(27.0 <= dose));
            vec![x, random.normal(), dose, arm, f64::from(u8::from(arm == right)), 0.25]
        });
        let named = ["age", "town", "dose", "arm", "paid", "chance"];
        let grid = Grid { names: named.map(str::to_owned).to_vec(), rows: rows.collect() };
        let run = |grid: &Grid, names: &[String], high: f64| {
            grid.write(here, "u.csv");
            let head = format!(
                "seed = 47\nrounds = 120\ntrials = {TRIALS}\nblock = {TRIALS}\nreferences = false\n[privacy]\nepsilon = 4.0\n"
            );
            let features =
                format!("file = \"u.csv\"\nnumbers = [{:?}, {:?}]\nlows = [0, -4]\nhighs = [{high:?}, 4]\n", names[0], names[1]);
            let users = format!(
                "{head}[environment]\nkind = \"contexts-table\"\n{features}label = {:?}\ncuts = [13, 27]\n{policies}",
                names[2]
            );
            let log = format!(
                "{head}[environment]\nkind = \"logged-replay\"\n{features}arm = {:?}\narms = [\"0.0\", \"1.0\", \"2.0\"]\nreward = {:?}\npropensity = {:?}\n{policies}",
                names[3], names[4], names[5]
            );
            [played(&users, here), played(&log, here)]
        };
        let before = run(&grid, &grid.names, 1.0);
        let (moved, renamed) = grid.moved();
        let others = [
            ("another order of rows", run(&grid.permuted(&mut random), &grid.names, 1.0)),
            ("columns moved and renamed", run(&moved, &renamed, 1.0)),
            ("a number in other units", run(&grid.mapped(0, |x| 365.0 * x), &grid.names, 365.0)),
        ];
        let [users, logs] = [0, 1].map(|which| others.each_ref().map(|(what, runs)| (*what, &runs[which], 0.0)));
        assert_unchanged(&format!("users {seed}"), Quantity::CumulativeRegret, &before[0], users);
        assert_unchanged(&format!("log {seed}"), Quantity::Value, &before[1], logs);
    }
}
