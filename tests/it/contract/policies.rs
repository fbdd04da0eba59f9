//! Policies over every posterior: valid choices, finite betas, the same again from the same releases, better than chance.

use crate::support::{prepared, ran};
use privateer::engine::{Quantity, decide};
use privateer::env::DataFolder;
use privateer::policy::{Policy, PolicyStreams, Proposal};
use privateer::registry::{FEATURES, Kind, POLICIES, Registry, documentation, names};
use privateer_backend::{Domain, Screen};
use privateer_config::error::Error;
use privateer_gp::score::{Candidates, Moments, TrialScore};
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::{Released, Signal};
use std::sync::{Arc, LazyLock};

/// The posteriors that a policy can be given, as lines of its table.
fn posteriors(policy: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    if let Some(accepts) = accepts(policy, "features") {
        // Few random frequencies: a model holds the square of their number.
        let accepted = names(FEATURES).into_iter().filter(|name| accepts.contains(&format!("`{name}`")));
        lines.extend(accepted.map(|name| match name {
            "random-fourier" => format!("features = {{ kind = \"{name}\", features = 25 }}\n"),
            _ => format!("features = \"{name}\"\n"),
        }));
    }
    lines
}

/// Their betas grow with the root of the number of features: a smaller factor for horizons of some hundred rounds.
const SKETCHED: &str = "beta = { kind = \"order\", factor = 0.1 }\nridge = 0.5\nq = 8.0\n";

/// Asks for a large domain.
const LARGE: &str = "# large domain\n";

/// What a policy accepts under a key, if it reads the key.
fn accepts(policy: &str, path: &str) -> Option<&'static str> {
    // Every item of the registry is asked for its keys, and settings are listed thousands of times.
    static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| documentation(&Registry::builtin(), "policy"));
    let kind = KINDS.iter().find(|kind| kind.name == policy).expect("documented");
    kind.keys.iter().find(|key| key.path == path).map(|key| key.accepts.as_str())
}

fn reads(policy: &str, path: &str) -> bool {
    accepts(policy, path).is_some()
}

/// Whether a policy keeps a Nystrom dictionary of its own.
fn sketched(policy: &str) -> bool {
    reads(policy, "resample")
}

/// Every policy with every posterior and some ways to start, betas kept to the theorem's orders.
pub fn settings() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for policy in names(POLICIES) {
        let mut add = |lines: String| all.push((policy, format!("kind = \"{policy}\"\n{lines}")));
        for posterior in posteriors(policy) {
            let beta = if reads(policy, "beta") { "beta = { kind = \"order\", factor = 0.5 }\n" } else { "" };
            let ridge = if reads(policy, "ridge") { "ridge = 0.5\n" } else { "" };
            let scored = if sketched(policy) { SKETCHED.to_owned() } else { format!("{beta}{ridge}") };
            add(format!("{posterior}{scored}"));
        }
        if sketched(policy) {
            let (doubling, fixed) = ("\"doubling\"", "{ kind = \"fixed\", size = 12 }");
            for resample in [doubling, fixed, "{ kind = \"fixed\", points = [0, 9, 20, 31, 40, 49] }"] {
                add(format!("resample = {resample}\n{SKETCHED}"));
            }
            // Where their mean and spread² are not a table.
            for resample in ["\"every-round\"", doubling, fixed] {
                add(format!("resample = {resample}\n{SKETCHED}{LARGE}"));
            }
        }
        if from_sums(policy) {
            for line in [
                "repair = { kind = \"shift\", multiple = 0.1, spectrum = \"as-printed\" }",
                "repair = \"clip\"",
                "repair = \"none\"",
                "release = \"count\"",
                "release = { kind = \"interval\", rounds = 7 }",
                "release = { kind = \"determinant\", factor = 1.5 }",
                "epochs = \"restart\"",
                "epochs = \"carry\"",
            ] {
                if !(policy.starts_with("local") && line.starts_with("epochs")) {
                    add(format!("{line}\nbeta = {{ kind = \"order\", factor = 0.3 }}\nridge = 0.5\n"));
                }
            }
        }
        if policy == "batched-gp-ucb" {
            add("batch = 4\n".to_owned());
        }
        if policy == "fixed-design" {
            add("candidates = 10\npulls = 2\n".to_owned());
        }
        if reads(policy, "moment_order") {
            let scored = if sketched(policy) { SKETCHED } else { "beta = { kind = \"order\", factor = 0.1 }\nridge = 0.5\n" };
            add(format!("moment = 4.0\nmoment_order = 1.4\n{scored}"));
        }
        if reads(policy, "initial") {
            add("initial = { kind = \"random\", points = 7 }\n".to_owned());
            add("initial = \"lowest-index\"\nbeta = { kind = \"constant\", value = 2.0 }\n".to_owned());
        }
    }
    // The theorem's k would be more than these horizons.
    all.iter_mut().filter(|(name, _)| *name == "moma-gp-ucb").for_each(|(_, text)| text.push_str("k = 3\n"));
    all
}

/// Whether a policy learns from private sums.
fn from_sums(policy: &str) -> bool {
    reads(policy, "repair")
}

/// Ways to protect what a policy learns from.
pub fn privacies(policy: &str) -> [String; 3] {
    let all = if ["batched-gp-ucb", "dp-bpe", "dp-se"].contains(&policy) {
        ["mechanism = \"none\"", "mechanism = \"batch-gaussian\"\nepsilon = 1.0\ndelta = 1e-3", "epsilon = 1.0"]
    } else if policy == "fixed-design" {
        ["mechanism = \"none\"", "mechanism = \"exponential\"\nepsilon = 4.0", "epsilon = 1.0"]
    } else if from_sums(policy) {
        ["mechanism = \"none\"", "calibration = \"corrected\"\nepsilon = 4.0\ndelta = 1e-3", "epsilon = 4.0\ndelta = 1e-3"]
    } else {
        ["mechanism = \"none\"", "mechanism = \"laplace\"\nepsilon = 1.0", "epsilon = 1.0"]
    };
    all.map(str::to_owned)
}

pub fn spec(policy: &str, privacy: &str) -> String {
    let points = if policy.contains(LARGE) { 300 } else { 50 };
    format!(
        "seed = 3\nrounds = 60\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", points = {points} }}\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 0.2 }}\nnoise = {{ kind = \"uniform\", bound = 0.5 }}\n\
         [privacy]\n{privacy}\n[[policy]]\n{policy}"
    )
}

/// One way to go on: the policy, its random streams, its screen.
pub struct Way {
    pub policy: Box<dyn Policy>,
    streams: PolicyStreams,
    screen: Option<Box<dyn Screen>>,
}

impl Way {
    pub fn new(policy: Box<dyn Policy>, streams: PolicyStreams, domain: Option<&Arc<dyn Domain>>) -> Self {
        Self { policy, streams, screen: domain.map(|domain| domain.open(1)) }
    }

    /// The next point and the beta that led to it, if one did.
    pub fn next(&mut self, n_points: usize) -> (usize, Option<u64>) {
        self.try_next(n_points).expect("finite scores")
    }

    /// The same, or an error where the scores are not finite.
    pub fn try_next(&mut self, n_points: usize) -> Result<(usize, Option<u64>), Error> {
        let beta = match self.policy.propose(&mut self.streams) {
            Proposal::Play(point) => {
                assert!(point < n_points, "{point}");
                return Ok((point, None));
            }
            Proposal::Random { source, n_points: stated } => {
                assert_eq!(stated, n_points);
                return Ok((self.streams.of(source).index(n_points), None));
            }
            Proposal::Score { beta } => beta,
            Proposal::Refused(why) => panic!("{why}"),
        };
        let policy_model = self.policy.model().expect("a policy that scores has a model");
        let (model, change) = policy_model.scored();
        let mut answer = [Candidates::default()];
        let request = TrialScore::new(0, change, beta, model);
        self.screen.as_mut().expect("a screen").round(&[request], &mut answer).map_err(privateer::engine::scoring_error)?;
        let candidates = &answer[0].points;
        assert!(!candidates.is_empty() && candidates.is_sorted(), "{candidates:?}");
        assert!(candidates.iter().all(|&point| (point as usize) < n_points));
        let point = decide(&answer[0], model, beta, &mut Vec::new())?;
        policy_model.screened();
        Ok((point, Some(beta.to_bits())))
    }

    /// Takes a round that was played before, without scoring.
    fn take(&mut self, point: usize, signal: &Released<Signal>) {
        if let Proposal::Random { source, n_points } = self.policy.propose(&mut self.streams) {
            self.streams.of(source).index(n_points);
        }
        self.policy.update(point, signal);
    }

    fn moments(&mut self, n_points: usize) -> Vec<Moments> {
        self.policy.scores().map(|model| (0..n_points).map(|point| model.exact(point)).collect()).unwrap_or_default()
    }
}

pub fn policy_streams(streams: &Streams) -> PolicyStreams {
    PolicyStreams { start: streams.of(0, Purpose::Start), own: streams.of(0, Purpose::Policy("p")) }
}

#[test]
fn choices_and_betas() {
    for (name, setting) in settings() {
        for privacy in privacies(name) {
            let text = spec(&setting, &privacy);
            let cell =
                prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
            let trial = cell.trial(0).expect("a trial");
            let facts = trial.setting;
            let way = |policy, streams| Way::new(policy, streams, cell.domain.as_ref());
            let n = cell.environment.gram.n_points();
            let mut ways = vec![way(trial.policy, policy_streams(&cell.streams))];
            let (mut noise, mechanism) = (cell.streams.of(0, Purpose::Noise), cell.streams.of(0, Purpose::Mechanism("p")));
            let (mut privatizer, mut stream) = (trial.mechanism.privatizer(), mechanism);
            let (mut visited, mut signals) = (Vec::new(), Vec::new());
            assert_eq!(ways[0].policy.recommend(), None, "{name}: nothing was played");
            for round in 1..=60 {
                if [1, 4, 9, 30].contains(&round) {
                    // A new policy that is told the same again, as a session does: nothing is scored.
                    let mut again = way(cell.maker.make(&facts).expect("a policy"), policy_streams(&cell.streams));
                    for (point, signal) in visited.iter().copied().zip(&signals) {
                        again.take(point, signal);
                    }
                    ways.push(again);
                }
                let choices: Vec<_> = ways.iter_mut().map(|way| way.next(n)).collect();
                assert!(choices[0].1.is_none_or(|beta| (0.0..=f64::MAX).contains(&f64::from_bits(beta))), "{name}: beta");
                assert!(choices.iter().all(|choice| *choice == choices[0]), "{name} round {round}: {choices:?}");
                let point = choices[0].0;
                visited.push(point);
                let queries: Vec<_> = ways.iter_mut().map(|way| way.policy.query(point)).collect();
                assert!(queries.iter().all(|query| *query == queries[0]), "{name}: equal states ask alike");
                let reward = trial.instance.observe(point, &mut noise);
                let signal = privatizer.release(&queries[0], reward, (&mut stream).into());
                drop(queries);
                signals.push(signal.clone());
                for way in &mut ways {
                    way.policy.update(point, &signal);
                    assert!(visited.contains(&way.policy.recommend().expect("something was played")), "{name}");
                }
            }
            let last = ways[0].moments(n);
            let best = ways[0].policy.recommend();
            for way in &mut ways {
                assert_eq!(way.moments(n), last, "{name}: equal states to the last bit");
                assert_eq!(way.policy.recommend(), best);
            }
        }
    }
}

/// On a smooth function with little noise every policy that learns loses less than a third of what chance loses.
#[test]
fn better_than_chance() {
    let regret = |policy: &str| {
        regret_after(&spec(policy, "mechanism = \"none\"").replace("rounds = 60", "rounds = 200\ntrials = 6"), 200, 6)
    };
    let chance = regret("kind = \"uniform\"\n");
    for (name, setting) in settings() {
        // A linear model has a test of its own; 50 arms without a kernel have 4 plays each, and a design that never ends plays by chance.
        let arms = ["successive-elimination", "dp-se", "ucb1"];
        let is_endless = name == "fixed-design" && !setting.contains("pulls");
        let is_left_out = name == "uniform" || name == "jdp-linucb" || arms.contains(&name);
        if is_left_out || is_endless || setting.contains("points = 7") {
            continue;
        }
        let regret = regret(&setting);
        println!("{setting:?}: {regret}");
        assert!(regret < chance / 3.0, "{setting}: {regret}, chance {chance}");
    }
}

/// Mean over trials of the regret of a spec's first cell at the end of a round.
pub fn regret_after(text: &str, round: u32, n_trials: usize) -> f64 {
    let found = ran(text);
    let rows = found.cell(0);
    let last: Vec<f64> =
        (0..rows.round.len()).filter(|&i| rows.round[i] == round).map(|i| rows[Quantity::CumulativeRegret][i]).collect();
    assert_eq!(last.len(), n_trials);
    last.iter().sum::<f64>() / n_trials as f64
}
