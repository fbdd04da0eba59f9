//! `privateer cost`: from a table to an answer, whatever the order, units and size of the table; and what it refuses.

use crate::program::*;

/// Rows `x, z, value` of a smooth hill with scatter of 0.1, from a multiplicative generator.
fn hill(n: usize) -> Vec<[f64; 3]> {
    let mut state = 12_345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n)
        .map(|_| {
            let (x, z, scatter) = (next(), next(), next() + next() + next() - 1.5);
            let (dx, dz) = (x - 0.7, z - 0.3);
            [x, z, (-4.0 * (dx * dx + dz * dz)).exp() + 0.2 * scatter]
        })
        .collect()
}

fn write(here: &Folder, name: &str, rows: &[[f64; 3]]) {
    here.table(name, "x,z,value", rows.iter().map(|[x, z, value]| format!("{x},{z},{value}")));
}

const SHORT: [&str; 8] = ["--rounds", "300", "--trials", "10", "--pilots", "4", "--epsilon", "1,4"];

/// Asks for JSON, into a folder of this name.
fn asked(here: &Folder, table: &str, out: &str, more: &[&str]) -> Value {
    here.fine_json(&[&["cost", table, "--value", "value", "--json", "--out", out][..], &SHORT, more].concat())
}

fn shares(answer: &Value) -> Vec<(f64, f64, f64)> {
    let of = |budget: &Value| {
        let number = |pointer: &str| budget.pointer(pointer).and_then(Value::as_f64).expect("a number");
        (number("/share"), number("/interval/0"), number("/interval/1"))
    };
    answer["budgets"].as_array().expect("budgets").iter().map(of).collect()
}

#[test]
fn a_table_gets_one_sentence_a_chart_and_a_spec_to_go_on_from() {
    let here = &folder();
    let line = |(row, [x, z, value]): (usize, &[f64; 3])| {
        let x = if row == 7 { "NA".to_owned() } else { x.to_string() };
        format!("{row},{},3,{x},{z},{value}", ["a", "b"][row % 2])
    };
    here.table("homes.csv", "row,town,same,x,z,value", hill(120).iter().enumerate().map(line));
    let words = [&["cost", "homes.csv", "--value", "value"][..], &SHORT].concat();
    let notes = [
        "homes.csv: 120 rows; value `value`, from ",
        "inputs: x, z\n",
        "left out: row: rises by 1 from row to row",
        "left out: town: texts",
        "left out: same: constant",
        "1 row is left out for a missing number",
        "points: 119 distinct inputs",
        "state one that is known beforehand with `--range`",
    ];
    let said = stdout(&here.ends(&words, 0, &notes));
    let sizes = "119 points, 300 users, noise on each user's device, 10 trials, 4 pilot trials a factor, 16 without privacy\n";
    assert!(said.contains(sizes), "{said}");
    assert_eq!(said.matches('█').count() + said.matches('░').count() + said.matches('·').count(), 80, "{said}");
    let sentences: Vec<&str> = said.lines().filter(|line| line.starts_with("At ε = 1 the best private policy, ")).collect();
    assert!(sentences.len() == 1 && sentences[0].contains(" of what can be learnt. 80 % "), "{said}");
    assert!(said.lines().all(|line| line == sentences[0] || line.chars().count() <= 115), "{said}");
    // The page begins with the same sentences.
    let page = here.text("out/homes-cost-local/results/report.html");
    assert_eq!(answer(&page).replace('\u{a0}', " "), sentences[0]);
    // The same question again computes nothing and says the same; another one does not touch the folder.
    let before = here.bytes("out/homes-cost-local/spec.toml");
    assert_eq!(here.fine(&words), said);
    here.ends(&[&words[..], &["--seed", "2"]].concat(), 2, &["holds another question", "--out DIR"]);
    assert_eq!(here.bytes("out/homes-cost-local/spec.toml"), before);
    here.fine(&["check", "out/homes-cost-local/spec.toml", "--data", "out/homes-cost-local"]);
    here.fine(&["verify", "out/homes-cost-local/results"]);
    // The share of the sentence is that of the report's summary.
    let answer = here.fine_json(&[&words[..], &["--json"]].concat());
    let summary = csv_rows(&here.text("out/homes-cost-local/results/summary.csv"));
    for budget in answer["budgets"].as_array().expect("budgets") {
        let number = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<f64>().ok();
        let (epsilon, share) = (budget["epsilon"].as_f64(), budget["share"].as_f64().expect("a share"));
        let rows = summary.iter().filter(|row| number(row, "privacy.epsilon") == epsilon && number(row, "share_mean").is_some());
        let regret = |row: &BTreeMap<String, String>| number(row, "final_regret_mean").expect("a number");
        let best = rows.min_by(|a, b| regret(a).total_cmp(&regret(b))).expect("a policy");
        assert_eq!(best["policy"], budget["policy"].as_str().expect("a name"));
        assert!((number(best, "share_mean").expect("a share") - share).abs() < 1e-9);
    }
    assert!(answer["sentence"].as_str().is_some_and(|sentence| said.contains(sentence)), "{answer}");
}

/// Rows with equal inputs are one point: a table twice is the table once, and values of equal inputs that differ are noise.
#[test]
fn rows_with_equal_inputs_are_one_point() {
    let here = &folder();
    let rows = hill(60);
    write(here, "once.csv", &rows);
    write(here, "twice.csv", &[rows.clone(), rows.clone()].concat());
    let readings = |offset: f64| rows.iter().map(move |&[x, z, value]| [x, z, value + offset]);
    write(here, "readings.csv", &readings(-0.3).chain(readings(0.3)).collect::<Vec<_>>());
    let [once, twice, readings] = ["once", "twice", "readings"].map(|name| asked(here, &format!("{name}.csv"), name, &[]));
    assert_eq!((&once["budgets"], &once["sentence"]), (&twice["budgets"], &twice["sentence"]));
    assert!(readings["notes"].to_string().contains("120 rows have 60 distinct inputs"), "{readings}");
    let noise = |name: &str| {
        let spec: toml::Table = here.text(&format!("{name}/spec.toml")).parse().expect("TOML");
        spec["environment"]["noise"]["sd"].as_float().expect("a number")
    };
    let values: Vec<f64> = rows.iter().map(|row| row[2]).collect();
    let mean = values.iter().sum::<f64>() / 60.0;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 60.0).sqrt();
    let expected = (2.0 * 0.3_f64.powi(2)).sqrt() / deviation;
    assert!((noise("readings") - expected).abs() < 1e-4 * expected, "{} and {expected}", noise("readings"));
    assert!(noise("once") < expected, "{}", noise("once"));
}

/// What is said of a table is said in the words of the file that was named, not of the points that are written from it.
#[test]
fn notes_and_warnings_speak_of_the_file_that_was_named() {
    let here = &folder();
    let rows = hill(60);
    let outlier = |(row, [x, z, value]): (usize, &[f64; 3])| {
        let value = if row == 5 { 90_000.0 } else { *value };
        let gap = if row == 2 { "NA".to_owned() } else { x.to_string() };
        format!("{gap},{z},{value}")
    };
    here.table("mistyped.csv", "x,z,value", rows.iter().enumerate().map(outlier));
    let words = ["new", "mistyped.csv", "--value", "value", "--range=-1,1"];
    here.ends(&words, 0, &["outlier: row 6 of mistyped.csv, `value` 90000, has 98.3 % of the variance", "a mistyped cell?"]);
    let points = here.text("out/mistyped-cost-local/points.csv");
    let at = points.lines().position(|line| line.ends_with(",90000.0")).expect("a point");
    let row = format!("row {at} of `points.csv` has");
    let said = here.fine(&["check", "out/mistyped-cost-local/spec.toml"]);
    assert!(said.contains(&row), "{said}");
    // A total below the numbers, a column without a name, and a code for missing numbers.
    let coded =
        rows.iter().enumerate().map(|(i, [x, z, value])| format!("{x},{z},{},", if i % 9 == 4 { -999.0 } else { *value }));
    here.table("coded.csv", "x,z,value,", coded.chain(["Total,1,2,".to_owned()]));
    let notes = [
        "code: 7 rows have -999 for `value`, and all others from ",
        "left out: x: numbers but for 1 of 61 cells",
        "left out: a column without a name: no numbers",
    ];
    here.ends(&["new", "coded.csv", "--value", "value"], 0, &notes);
    here.ends(&["new", "coded.csv", "--value", "value", "--inputs", "x,z", "--out", "x"], 2, &["coded.csv:62:1"]);
    // Values that the inputs say nothing about.
    let coins: Vec<[f64; 3]> = rows.iter().enumerate().map(|(i, [x, z, _])| [*x, *z, 500.0 + (i % 2) as f64]).collect();
    write(here, "coins.csv", &coins);
    here.ends(&["new", "coins.csv", "--value", "value"], 0, &["noise: 82 % of the variance of `value`", "which rows were lucky"]);
    let card = here.fine(&["check", "out/coins-cost-local/spec.toml"]);
    assert!(card.contains("standard deviation 0.5); rewards and regrets count in standard deviations\n"), "{card}");
    write(here, "hill.csv", &rows);
    let said = stderr(&here.ends(&["new", "hill.csv", "--value", "value"], 0, &["noise: "]));
    assert!(!said.contains("lucky"), "{said}");
}

#[test]
fn order_and_units_of_a_table_change_no_answer() {
    let here = &folder();
    let rows = hill(150);
    write(here, "first.csv", &rows);
    write(here, "turned.csv", &rows.iter().rev().copied().collect::<Vec<_>>());
    let units = rows.iter().map(|[x, z, value]| [100.0 * x, z - 5.0, 1e4 - 300.0 * (1.0 - value)]);
    write(here, "units.csv", &units.collect::<Vec<_>>());
    let [first, turned, units] = ["first", "turned", "units"].map(|name| asked(here, &format!("{name}.csv"), name, &[]));
    assert_eq!((&first["budgets"], &first["sentence"]), (&turned["budgets"], &turned["sentence"]));
    for ((share, low, high), (other, ..)) in shares(&first).into_iter().zip(shares(&units)) {
        let half = 0.5 * (high - low);
        assert!((share - other).abs() <= 1.5 * half, "{share} ± {half} and {other}");
    }
}

/// A subsample's answer agrees with the whole table's, on two tables: a random pair of right ones fails this once in 300.
#[test]
fn a_subsample_answers_as_the_whole_table() {
    let here = &folder();
    write(here, "hill.csv", &hill(600));
    let ridges: Vec<[f64; 3]> = hill(600).iter().map(|&[x, z, value]| [x, z, (3.0 * x).sin() + 0.2 * value]).collect();
    write(here, "ridges.csv", &ridges);
    for name in ["hill", "ridges"] {
        let table = format!("{name}.csv");
        let whole = asked(here, &table, &format!("{name}-whole"), &[]);
        let part = asked(here, &table, &format!("{name}-part"), &["--points", "200"]);
        for ((share, low, high), (other, other_low, other_high)) in shares(&whole).into_iter().zip(shares(&part)) {
            let apart = (share - other).abs() / (0.25 * ((high - low).powi(2) + (other_high - other_low).powi(2))).sqrt();
            assert!(apart < 1.5, "{name}: {share} and {other}");
        }
    }
}

/// Where values tell nothing of each other every point is worth a visit: without a stated number of points some are left out, and said.
#[test]
fn a_table_of_which_every_point_is_visited_is_cut() {
    let here = &folder();
    let rows = hill(400);
    write(here, "smooth.csv", &rows);
    // A few zeros among ones, anywhere.
    let alone = |(i, row): (usize, &[f64; 3])| [row[0], row[1], f64::from(u8::from(i % 60 != 11))];
    write(here, "alone.csv", &rows.iter().enumerate().map(alone).collect::<Vec<_>>());
    let points = |table: &str, more: &[&str]| {
        let out = format!("{table}{}", more.len());
        let words = ["new", table, "--value", "value", "--rounds", "500", "--out", &out];
        let said = here.fine_json(&[&words[..], &["--json"], more].concat());
        let is_said = said["notes"].to_string().contains("400 points may take a minute or more");
        (here.text(&format!("{out}/points.csv")).lines().count() - 1, is_said)
    };
    assert_eq!(points("smooth.csv", &[]), (400, false));
    let (cut, is_said) = points("alone.csv", &[]);
    assert!((100..390).contains(&cut) && is_said, "{cut} {is_said}");
    assert_eq!(points("alone.csv", &["--points", "400"]), (400, false));
}

/// More privacy keeps less, and epsilon of 600 nearly everything, for tables, functions, arms and other specs' problems.
#[test]
fn every_kind_of_problem_is_answered() {
    let here = &folder();
    let reading = |[x, z, value]: &[f64; 3]| format!("{},{},{}", 2.0 + x, 3.0 + z, 2.2 + value);
    here.table("arms.csv", "a,b,c", hill(80).iter().map(reading));
    let own = "rounds = 10\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 50 }\n\
         kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"gaussian\", sd = 0.1 }\n[[policy]]\nkind = \"uniform\"\n";
    here.write("own.toml", own);
    let problems = [
        "--trials 6 --pilots 3 --function branin --points 100",
        "--trials 6 --pilots 3 --function branin --points 100 --trust joint",
        // Of three arms chance decides in few trials.
        "--trials 30 --pilots 10 --arms arms.csv",
        "--trials 30 --pilots 10 --arms arms.csv --trust joint",
        "--trials 6 --pilots 3 --spec own.toml --range=-3,3",
    ];
    for (which, problem) in problems.into_iter().enumerate() {
        let terms = "--json --epsilon 0.1,600 --rounds 200";
        let answer = here.fine_json(&words(&format!("cost {terms} --out out-{which} {problem}")));
        assert_eq!(answer["budgets"].as_array().map(Vec::len), Some(2), "{problem}");
        let share = |at: usize| answer["budgets"][at]["share"].as_f64().unwrap_or(f64::NAN);
        assert!(share(0) < share(1), "{problem}: {answer}");
        assert!(which == 1 || (share(1) - 1.0).abs() < 0.25, "{problem}: {answer}");
    }
    // A spec with data of its own, and what it sweeps.
    write(here, "own.csv", &hill(40));
    let table = "rounds = 10\ntrials = 1\n[environment]\nkind = \"points-table\"\nfile = \"own.csv\"\ninputs = [\"x\", \"z\"]\nvalue = \"value\"\n\
         kernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\nnoise = { kind = \"gaussian\", sd = 0.1 }\n\
         public = [\"standardisation\", \"range\"]\n[privacy]\nmechanism = \"hybrid\"\nepsilon = 1.0\nclip = [-3, 3]\n[[policy]]\nkind = \"uniform\"\n\
         [sweep.product]\n\"environment.noise.sd\" = [0.1, 0.2]\n";
    here.write("specs/table.toml", table);
    let line = format!("cost --spec specs/table.toml --epsilon {:?},2 --rounds 60 --trials 3 --pilots 1 --out", 0.1 + 0.2);
    let said = stdout(&here.ends(&[&words(&line)[..], &["a b"]].concat(), 0, &["left out: environment.noise.sd"]));
    assert!(said.contains("epsilon 0.30000000000000004  ") && said.contains("go on:  privateer run 'a b/spec.toml'\n"), "{said}");
    here.fine(&["check", "a b/spec.toml"]);
    let said = here.fine(&words("new --function branin --points 50 --out plan"));
    assert!(said.contains("go on:  privateer run plan/spec.toml\n"));
    assert_eq!(listed(&here.join("plan")).len(), 1, "nothing is run");
    here.fine(&["check", "plan/spec.toml", "--data", "plan"]);
}

/// Values without noise, linear in few or many inputs: a kernel explains everything, and no noise beyond the values is invented.
#[test]
fn exact_tables_are_learnt_where_the_budget_is_large() {
    let here = &folder();
    for (name, n_columns) in [("narrow", 1), ("broad", 8)] {
        let names: String = (0..n_columns).map(|column| format!("c{column},")).collect();
        let digits = |row: usize, column: usize| ((row * (2 * column + 7) * 37 + column * 11) % 101) as f64 / 100.0;
        let line = |row| {
            let inputs: String = (0..n_columns).map(|column| format!("{},", digits(row, column))).collect();
            format!("{inputs}{}", 5.0 + 2.0 * digits(row, 0) - digits(row, n_columns - 1))
        };
        let table = format!("{name}.csv");
        here.table(&table, &format!("{names}value"), (0..120).map(line));
        let words = ["cost", &table, "--value", "value", "--rounds", "300", "--trials", "6", "--pilots", "3", "--epsilon", "600"];
        let output = here.run(&words);
        assert!(!stderr(&output).contains("outside of the clip"), "{name}: {}", stderr(&output));
        let answer = here.fine_json(&[&words[..], &["--json"]].concat());
        assert!(answer["budgets"][0]["share"].as_f64().is_some_and(|share| 0.9 < share), "{name}: {answer}");
    }
}

/// Several numbers of users at one epsilon: each answers as it does alone, with references and factors of its own.
#[test]
fn several_numbers_of_users_answer_as_each_alone() {
    let here = &folder();
    let asked = |rounds: &str, out: &str| {
        let terms = "--function branin --points 60 --json --trials 6 --pilots 3 --epsilon 1";
        here.fine_json(&words(&format!("cost {terms} --rounds {rounds} --out {out}")))
    };
    let (all, few, many) = (asked("100,400", "all"), asked("100", "few"), asked("400", "many"));
    assert_eq!(all["budgets"], serde_json::json!([few["budgets"][0], many["budgets"][0]]));
    assert_eq!((&all["users"], &all["enough"]), (&serde_json::json!([100, 400]), &Value::Null));
    assert!(all["sentence"].as_str().is_some_and(|said| said.contains(" of what 100 rounds can teach, ")), "{all}");
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_to_do() {
    let here = &folder();
    write(here, "t.csv", &hill(30));
    here.write("texts.csv", "a,b\nx,y\nz,w\n");
    here.write("mixed.csv", "a,b,c\n1.5,2,3\n2,x,4\n3.2,5,9\n4,6,8\n");
    here.write("flat.csv", "a,b\n1.5,2\n2,2\n3.2,2\n4,2\n");
    here.write("bare.csv", "1.5,2\n2,3\n3.2,5\n");
    for (name, cell) in [("percent.csv", "2%"), ("money.csv", "$2"), ("thousands.csv", "\"1,000.5\""), ("truth.csv", "TRUE")] {
        here.write(name, format!("a,b\n1.5,2\n\n2,{cell}\n3.2,5\n"));
    }
    let cases: [(&[&str], &[&str]); 31] = [
        (&["texts.csv", "--value", "a"], &["no column of numbers"]),
        (&["t.csv"], &["which column is the reward?", "`x`, `z`, `value`", "--value COLUMN"]),
        (&["t.csv", "--value", "valu"], &["no column `valu`", "did you mean `value`?"]),
        (&["t.csv", "--value", "value", "--inputs", "x,y"], &["no column `y`"]),
        (&["t.csv", "--value", "value", "--inputs", "x,value"], &["`value` is an input and the value at once"]),
        (&["mixed.csv", "--value", "b"], &["column `b` has text instead", "mixed.csv:3:2", "a column of numbers: `a`, `c`"]),
        (&["mixed.csv", "--value", "a", "--inputs", "b"], &["column `b` has text instead", "mixed.csv:3:2"]),
        (&["percent.csv", "--value", "b"], &["percent.csv:4:2", "write the number alone"]),
        (&["money.csv", "--value", "b"], &["money.csv:4:2", "write the number alone"]),
        (&["thousands.csv", "--value", "b"], &["thousands.csv:4:2", "marks between thousands"]),
        (&["truth.csv", "--value", "b"], &["truth.csv:4:2", "write 1 and 0"]),
        (&["bare.csv", "--value", "2"], &["the first row of `bare.csv` holds numbers", "a row of names"]),
        (&["flat.csv", "--value", "b"], &["the values are constant"]),
        (&["flat.csv", "--value", "a"], &["no column of `flat.csv` is left for an input"]),
        (&["t.csv", "--value", "value", "--range", "7,9"], &["no value of `value` lies in", "units of the table"]),
        (&["t.csv", "--value", "value", "--range", "9,7"], &["LO < HI"]),
        (&["t.csv", "--value", "value", "--epsilon", "0"], &["privacy budgets: numbers > 0"]),
        (&["t.csv", "--value", "value", "--epsilon=-1,2"], &["privacy budgets: numbers > 0"]),
        (&["t.csv", "--value", "value", "--epsilon", "1,1e9"], &["beyond what mechanism `hybrid` can resolve"]),
        (&["t.csv", "--value", "value", "--epsilon", "2,1"], &["does not rise"]),
        (&["t.csv", "--value", "value", "--points", "2"], &["--points"]),
        (&["missing.csv", "--value", "value"], &["missing.csv"]),
        (&["--function", "branni"], &["there is no function", "did you mean `branin`?"]),
        (&["--function", "branin", "--range", "0,1"], &["`--range` is for a table"]),
        (&["--arms", "texts.csv"], &["fewer than two columns of numbers"]),
        (&["--arms", "t.csv", "--range", "7,9"], &["no value of a reading lies in"]),
        (&["t.csv", "--value", "value", "--inputs", "x,x"], &["names `x` twice"]),
        (&["t.csv", "--value", "value", "--out", ""], &["`--out` is empty"]),
        (&["t.csv", "--value", "value", "--rounds", "20"], &["`--rounds` does not rise"]),
        (&["t.csv", "--value", "value", "--rounds", "30", "--epsilon", "1,2"], &["with one epsilon", "with one number of users"]),
        (&[], &["required"]),
    ];
    for (words, texts) in cases {
        here.ends(&[&["cost", "--quiet", "--rounds", "20", "--trials", "2"][..], words].concat(), 2, texts);
    }
    assert!(!here.holds("out"), "a refusal leaves no folder");
}
