//! Published data sets, where they are on this machine: facts that their documentation states. Without them, a line that
//! says so and no failure.

use crate::support::*;

/// The folder that holds this file, or a line on why the test says nothing.
fn data(file: &str) -> Option<DataFolder> {
    let folder = real_data().filter(|folder| folder.join(file).is_file());
    if folder.is_none() {
        println!("skipped: no data (`{file}`)");
    }
    folder.map(|folder| DataFolder::new(Some(folder)))
}

fn spec(environment: &str, rounds: u64, trials: u64) -> String {
    format!("seed = 4\nrounds = {rounds}\ntrials = {trials}\n[environment]\n{environment}\n[[policy]]\nkind = \"uniform\"\n")
}

/// Facts of the environment by name, the mean of every arm, and the regret of every arm.
struct Seen {
    facts: Facts,
    means: Vec<f64>,
    regrets: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Seen {
    fn of(environment: &str, data: &DataFolder) -> Self {
        prepared(&spec(environment, 1000, 1), data, |sweep, preparation| {
            let cell = preparation.cell(&sweep.cells[0]).expect("a cell");
            let instance = (cell.environment.draw)(0).expect("a table");
            let n = cell.environment.gram.n_points();
            Self {
                facts: cell.environment.facts.clone(),
                means: (0..n).map(|arm| instance.mean(arm)).collect(),
                regrets: (0..n).map(|arm| instance.regret(arm)).collect(),
                diagonal: (0..n).map(|arm| cell.environment.gram.diagonal(arm)).collect(),
            }
        })
    }

    fn fact(&self, name: &str) -> f64 {
        let found = fact(&self.facts, name).and_then(|value| value.as_f64());
        found.unwrap_or_else(|| panic!("no fact `{name}` among {:?}", self.facts))
    }

    fn largest(&self, place: usize) -> f64 {
        let mut means = self.means.clone();
        means.sort_by(|a, b| b.total_cmp(a));
        means[place]
    }

    fn mean_gap(&self) -> f64 {
        self.regrets.iter().sum::<f64>() / self.regrets.len() as f64
    }
}

/// Agreement to the digits that the documentation gives.
fn agrees(found: f64, stated: f64, digit: f64) {
    assert!((found - stated).abs() <= 0.5001 * digit, "{found} where {stated} is stated");
}

const LIGHT: &str =
    "kind = \"arms-table\"\ntrain = \"light_sensor_cmu/iw_train_raw.csv\"\ntest = \"light_sensor_cmu/iw_test_raw.csv\"";

#[test]
fn light_sensors() {
    let Some(data) = data("light_sensor_cmu/iw_train_raw.csv") else { return };
    let seen = Seen::of(LIGHT, &data);
    assert_eq!((seen.means.len(), seen.fact("best arm"), seen.fact("rows")), (41, 4.0, 192.0));
    agrees(seen.fact("largest mean"), 945.541667, 1e-6);
    agrees(seen.largest(1), 912.927083, 1e-6);
    agrees(seen.largest(40), 164.229167, 1e-6);
    agrees(seen.fact("R,"), 835.28125, 1e-5);
    agrees(seen.fact("v,"), 377_421.27, 1e-2);
    agrees(seen.fact("c,"), 82_954.23, 1e-2);
    agrees(seen.mean_gap(), 0.488, 1e-3);
    assert!(seen.diagonal.iter().all(|variance| (variance - 1.0).abs() < 1e-12), "a correlation matrix");
}

/// Uniform play loses the mean gap a round: about 488 of 1000, five standard errors wide (an arm's gap scatters by at most
/// one half, over 20000 plays).
#[test]
fn uniform_play_on_light_sensors() {
    let Some(data) = data("light_sensor_cmu/iw_train_raw.csv") else { return };
    let sweep = sweep(&spec(LIGHT, 1000, 20));
    let found = run_all(&sweep, &data, &Cpu::default(), Options::default()).expect("a run");
    let last = finals(found.cell(0), Quantity::CumulativeRegret);
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert_eq!(last.len(), 20);
    assert!((mean - 488.0).abs() < 0.5 + 5.0 * 500.0 / libm::sqrt(20_000.0), "{mean}");
}

const TICKERS: [&str; 29] = [
    "AAPL", "AXP", "BA", "CAT", "CSCO", "CVX", "DIS", "GE", "GS", "HD", "IBM", "INTC", "JNJ", "JPM", "KO", "MCD", "MMM", "MRK",
    "MSFT", "NKE", "PFE", "PG", "TRV", "UNH", "UTX", "V", "VZ", "WMT", "XOM",
];

#[test]
fn stocks() {
    let Some(data) = data("stocks_dow29/fin.csv") else { return };
    let whole = "kind = \"arms-table\"\ntrain = \"stocks_dow29/fin.csv\"\ntest = \"stocks_dow29/fin.csv\"";
    let refused = prepared(&spec(whole, 10, 1), &data, |sweep, preparation| preparation.cell(&sweep.cells[0]).err());
    let message = refused.expect("the first column holds dates").to_string();
    assert!(message.contains("column `Date` has text instead of a number"), "{message}");
    let seen = Seen::of(&format!("{whole}\ncolumns = {TICKERS:?}"), &data);
    assert_eq!((seen.means.len(), seen.fact("best arm"), seen.fact("rows")), (29, 3.0, 823.0));
    agrees(seen.fact("largest mean"), 237.328269, 1e-6);
    agrees(seen.largest(1), 205.078931, 1e-6);
    agrees(seen.largest(28), 20.042561, 1e-6);
    agrees(seen.fact("v,"), 14_437.856_6, 1e-4);
    agrees(seen.fact("R,"), 203.291731, 1e-6);
    agrees(seen.fact("c,"), 754.2187, 1e-4);
    agrees(seen.mean_gap(), 0.5634, 1e-4);
}

#[test]
fn intel_lab() {
    let Some(data) = data("intel_lab/intelTemperatureTest.csv") else { return };
    let seen = Seen::of(
        "kind = \"arms-table\"\narms = \"rows\"\nheader = \"no\"\ntrain = \"intel_lab/intelTemperatureTrain.csv\"\n\
         test = \"intel_lab/intelTemperatureTest.csv\"\nkernel = { kind = \"empirical-covariance\", normalise = \"covariance\" }",
        &data,
    );
    assert_eq!((seen.means.len(), seen.fact("best arm"), seen.fact("rows")), (50, 18.0, 96.0));
    agrees(seen.fact("largest mean"), 24.605208, 1e-6);
    agrees(seen.largest(1), 24.471875, 1e-6);
    agrees(seen.fact("R,"), 11.928, 1e-3);
    agrees(seen.fact("c,"), 9.146, 1e-3);
    let widest = seen.diagonal.iter().fold(0.0_f64, |most, variance| most.max(*variance));
    assert!((widest - 1.0).abs() < 1e-12, "divided by the largest variance: {widest}");
}

/// A gzip file with quoted fields and a text column, of which three columns are taken by name.
#[test]
fn king_county() {
    let Some(data) = data("king_county/kc_house_data.csv.gz") else { return };
    let environment = |standardise: bool| {
        format!(
            "kind = \"points-table\"\nfile = \"king_county/kc_house_data.csv.gz\"\ninputs = [\"lat\", \"long\"]\nvalue = \"price\"\n\
             standardise = {standardise}\nkernel = {{ kind = \"squared-exponential\", lengthscale = 0.3 }}\n\
             noise = {{ kind = \"gaussian\", sd = 1.0 }}"
        )
    };
    let seen = Seen::of(&format!("{}\nreplicates = \"apart\"", environment(false)), &data);
    assert_eq!((seen.means.len(), seen.fact("points"), seen.fact("dimension")), (21_613, 21_613.0, 2.0));
    assert_eq!((seen.largest(0), seen.largest(21_612)), (7_700_000.0, 75_000.0));
    agrees(seen.means.iter().sum::<f64>() / 21_613.0, 540_088.14, 1e-2);
    let seen = Seen::of(&format!("{}\nreplicates = \"apart\"", environment(true)), &data);
    let n = seen.means.len() as f64;
    let (mean, square) = (seen.means.iter().sum::<f64>() / n, seen.means.iter().map(|x| x * x).sum::<f64>() / n);
    assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12, "{mean} {square}");
    // By Python's dictionaries: 20 832 places, whose prices scatter by 114 095 where there are several.
    let seen = Seen::of(&environment(false), &data);
    assert_eq!((seen.means.len(), seen.fact("rows of the table"), seen.largest(0)), (20_832, 21_613.0, 7_700_000.0));
    assert_eq!(seen.means[0], 380_000.0, "the place in the south-west corner");
    agrees(seen.fact("standard deviation of rewards within a point"), 114_095.164_557, 1e-3);
}

fn of_users(environment: &str, rounds: u64) -> String {
    format!("rounds = {rounds}\n[environment]\n{environment}\n[[policy]]\nkind = \"random-arm\"\n")
}

/// What a contextual cell of this environment says of its data, by the starts of the facts' names.
fn told(environment: &str, rounds: u64, data: &DataFolder) -> Facts {
    prepared(&of_users(environment, rounds), data, |sweep, preparation| preparation.facts(&sweep.cells[0]).expect("facts").facts)
}

/// Three dose arms, right for 27.0, 61.2 and 11.8 % of 5528 patients.
#[test]
fn warfarin() {
    let Some(data) = data("warfarin_iwpc/warfarin_iwpc_5528.csv.gz") else { return };
    let environment = "kind = \"contexts-table\"\nfile = \"warfarin_iwpc/warfarin_iwpc_5528.csv.gz\"\n\
        label = \"Therapeutic Dose of Warfarin\"\ncuts = [21, 49.001]\nnumbers = [\"Height (cm)\"]\nlows = [120]\nhighs = [210]\n\
        categories = [\"Gender\"]";
    let message = prepared(&of_users(environment, 5528), &data, |sweep, preparation| {
        preparation.facts(&sweep.cells[0]).expect_err("NA").to_string()
    });
    assert!(message.contains("`Height (cm)` has `NA` instead of a number"), "{message}");
    let facts = told(&format!("{environment}\nmissing = \"middle\""), 5528, &data);
    let fact = |name: &str| fact(&facts, name);
    assert_eq!(fact("users in the file"), Some(5528_u64.into()));
    // 1, height, two levels of gender: `NA` has four patients.
    assert_eq!(fact("features of a context"), Some(4_u64.into()));
    assert_eq!(fact("numbers missing"), Some(1081_u64.into()));
    let Some(FactValue::List(shares)) = fact("share of users") else { panic!("no shares") };
    shares.iter().zip([0.270, 0.612, 0.118]).for_each(|(found, stated)| agrees(found.as_f64().expect("a number"), stated, 1e-3));
}

/// 10 000 rows of uniform play among 34 arms with 46 clicks.
#[test]
fn open_bandit() {
    let Some(data) = data("open_bandit_men/random_men.csv.gz") else { return };
    let facts = told(
        "kind = \"logged-replay\"\nfile = \"open_bandit_men/random_men.csv.gz\"\narm = \"item_id\"\narms = [\"11\", \"25\"]\n\
         reward = \"click\"\npropensity = \"propensity_score\"\ncategories = [\"user_feature_0\"]",
        10_000,
        &data,
    );
    let fact = |name: &str| fact(&facts, name).and_then(|value| value.as_f64());
    assert_eq!((fact("rows of the log"), fact("rows with these arms")), (Some(10_000.0), Some(345.0 + 334.0)));
    agrees(fact("mean reward in the log").expect("a mean"), 0.0046, 1e-12);
    agrees(fact("least propensity").expect("a floor"), 1.0 / 34.0, 1e-12);
}
