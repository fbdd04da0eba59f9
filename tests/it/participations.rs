//! What `privateer account` and ledgers state where one user takes part more than once, where inputs are scaled before their mechanism, and
//! where a calibration rests on the protected data. Each test failed on the statements that it is about.

use crate::program::*;
use crate::threat_models::{CONTEXTS, POINTS};
use privateer_numerics::linalg::{cholesky, solve_lower};
use privateer_privacy::streams::{Factorisation, Shape};
use privateer_privacy::sums::{Epochs, SumsNeed, joint};
use privateer_privacy::{Budget, Calibration, Delta, Epsilon, Factor, Guarantee, Request, RewardFacts, gdp_epsilon, gdp_mu};

const DELTA: f64 = 1e-3;

fn budget(epsilon: f64) -> (Epsilon, Delta) {
    (Epsilon::try_from(epsilon).expect("a budget"), Delta::try_from(DELTA).expect("a probability"))
}

/// Epsilon at 1e-3 of a group of k where one member has (4, 1e-3): k mu.
fn of_group(k: u64) -> f64 {
    let (epsilon, delta) = budget(4.0);
    gdp_epsilon(k as f64 * gdp_mu(epsilon, delta), delta)
}

/// The price reports of a spec and the exit code.
fn priced(spec: &str, participations: u64, more: &[&str]) -> (Vec<Value>, Option<i32>) {
    let k = participations.to_string();
    let words = [&["account", "spec.toml", "--participations", &k, "--json"], more].concat();
    let output = folder_with(spec).run(&words);
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap_or(Value::Null);
    let quotes = value["quotes"].as_array().into_iter().flatten().map(|quote| quote["quote"].clone()).collect();
    (quotes, code(&output))
}

/// The stated upper bound at delta = 1e-3.
fn epsilon_of(quote: &Value) -> f64 {
    let points = quote["curve"].as_array().expect("a curve");
    let point = points.iter().find(|point| point["delta"] == DELTA).expect("the delta");
    point["epsilon"]["upper"].as_f64().expect("a number")
}

/// Asserts that k = 1, 3 and 10 rounds of a user cost what a group of k users costs, and that the claim holds for k = 1 alone.
fn is_priced_as_a_group(spec: &str) {
    for (k, printed) in [(1, 4.0), (3, 17.19), (10, 110.5)] {
        let (quotes, exit) = priced(spec, k, &[]);
        let [quote] = quotes.as_slice() else { panic!("{spec}: {quotes:?}") };
        let (epsilon, guarantee) = (epsilon_of(quote), quote["guarantee"].as_str().expect("a text"));
        assert!((epsilon - of_group(k)).abs() < 1e-6 * epsilon, "{spec}, {k}: {epsilon}");
        assert!((epsilon - printed).abs() < 0.06, "{spec}, {k}: {epsilon}");
        assert_eq!((guarantee == "holds", exit), (k == 1, Some(i32::from(k != 1))), "{spec}, {k}: {guarantee}");
    }
}

fn joint_spec(policy: &str) -> String {
    let points = POINTS.replace("rounds = 10\n", "rounds = 1000\n").replace("points = 10 ", "points = 20 ");
    format!("{points}[privacy]\nepsilon = 4.0\ndelta = 1e-3\n[[policy]]\n{policy}\n")
}

/// The environment decides what running sums protect, and the words of an event fit the releases that a reward is in.
#[test]
fn what_is_protected_follows_the_environment() {
    let sums = "kind = \"jdp-gp-ucb\"";
    let sets = |spec: String| spec.replace("[environment]\n", "[environment]\nsets = { kind = \"random\", points = 4 }\n");
    let printed = format!("{sums}\nprivacy = {{ calibration = \"as-printed\" }}");
    let both = format!("{sums}\nprivacy = {{ protects = \"contexts and rewards\" }}");
    let (reward, both_units) = ("reward", "decision-set-and-reward");
    for (spec, unit, words) in [
        (joint_spec(sums), reward, "running sums of rewards: "),
        (sets(joint_spec(sums)), both_units, "running sums of phi phi^T and y phi"),
        (joint_spec(&both), both_units, "running sums of phi phi^T and y phi"),
        (joint_spec(&printed), both_units, "running sums of phi phi^T and y phi"),
        (joint_spec("kind = \"igp-ucb\""), reward, "one answer a round: "),
        (joint_spec("kind = \"batched-gp-ucb\""), reward, "one sum a batch: "),
        (joint_spec("kind = \"fixed-design\"\ncandidates = 4"), reward, "one answer of the run: "),
    ] {
        let (quotes, _) = priced(&spec, 1, &[]);
        assert_eq!(quotes[0]["threat_model"]["unit"]["kind"], unit, "{spec}");
        let event = quotes[0]["event"].as_str().expect("words");
        assert!(event.contains(words), "{spec}: {event}");
    }
}

/// Several rounds may enter at one release, so k of one user are priced as a group of k.
#[test]
fn rounds_of_one_user_in_one_release_add_up() {
    let policies = [
        "kind = \"jdp-gp-ucb\"\nrelease = { kind = \"interval\", rounds = 500 }",
        "kind = \"jdp-gp-ucb\"",
        "kind = \"jdp-gp-ucb\"\nepochs = \"restart\"",
        "kind = \"jdp-gp-ucb\"\nepochs = \"carry\"",
        "kind = \"jdp-linucb\"\nrelease = { kind = \"count\", factor = 2.0 }",
    ];
    for policy in policies {
        let spec = joint_spec(policy);
        let spec = if policy.contains("linucb") {
            spec.replace("kernel = { kind = \"squared-exponential\", lengthscale = 0.3 }", "kernel = \"linear\"")
        } else {
            spec
        };
        is_priced_as_a_group(&spec);
    }
}

/// `1' K^-1 1`, K the covariance of the noise on all releases of a stream: what a shift of all releases by one is worth, from the noise that is
/// really drawn.
fn worth_of_a_shift(factorisation: &dyn Factorisation) -> f64 {
    let n = factorisation.rounds() as usize;
    let mut columns = Vec::new();
    // Honaker's tree draws once a node: fewer than two a release.
    for unit in 0..2 * n {
        let (mut noise, mut drawn) = (factorisation.noise(Shape::Vector(1)), 0);
        let column: Vec<f64> = (0..n)
            .map(|_| {
                noise.next(&mut |out| {
                    out[0] = f64::from(u8::from(drawn == unit));
                    drawn += 1;
                })[0]
            })
            .collect();
        assert!(drawn <= 2 * n, "{drawn} draws in {n} releases");
        columns.push(column);
    }
    let covariance = |at: usize| columns.iter().map(|column| column[at / n] * column[at % n]).sum();
    let (mut factor, mut one): (Vec<f64>, Vec<f64>) = ((0..n * n).map(covariance).collect(), vec![1.0; n]);
    cholesky(&mut factor, n).expect("a covariance");
    solve_lower(&factor, &mut one);
    one.iter().map(|x| x * x).sum()
}

/// The optimal attack on real noise, of k rounds in the first row and of k rounds over two epochs, never beats the stated price, and the
/// former reaches it where the attacker sees all noise.
#[test]
fn prices_of_groups_survive_the_optimal_attack() {
    for entry in joint::ENTRIES {
        for (epochs, releases) in [(Epochs::One, 2), (Epochs::One, 8), (Epochs::Restart, 8)] {
            let need = SumsNeed { epochs, ..SumsNeed::of_features(1, releases, 8) };
            let facts = RewardFacts {
                bound: 1.0,
                noise_bound: Some(1.0),
                range: Some((0.0, 1.0)),
                noise_variance: Some(0.25),
                rounds: 8,
            };
            let budget = Budget::new(Some(4.0), Some(DELTA)).expect("a budget");
            let spec = Request { mechanism: entry.name, calibration: Calibration::Tight, budget, clip: None };
            let built = (entry.build)(&spec, &facts, need).expect("a mechanism");
            let ledger = built.ledger();
            let once = ledger.composition(1).and_then(|once| once.mu()).expect("Gaussian");
            for k in [2_u64, 3, 7] {
                let stated = ledger.composition(k).and_then(|composition| composition.mu()).expect("Gaussian");
                let factor = Factor::STREAMS.into_iter().find(|factor| factor.name() == entry.name).expect("a factor");
                // Item distance over sigma, for rewards centred to [-1/2, 1/2].
                let mu_of = |rounds: u64, k: f64| {
                    let factorisation = factor.factorisation(rounds, Default::default());
                    let columns = factorisation.sensitivity(privateer_privacy::accounting::sensitivity::Participation::ONCE);
                    k * once / columns * worth_of_a_shift(factorisation.as_ref()).sqrt()
                };
                // All in the first row, which holds several rounds where there are fewer releases than rounds.
                let attack = if epochs == Epochs::One && releases < 8 { mu_of(releases, k as f64) } else { mu_of(2, 1.0) };
                assert!(attack <= stated * (1.0 + 1e-9), "{} {epochs:?} {releases} {k}: {attack} {stated}", entry.name);
                if epochs == Epochs::One && releases == 2 && entry.name != "honaker" {
                    assert!(stated <= attack * 1.001, "{} {k}: {attack} {stated}", entry.name);
                }
                if epochs == Epochs::Restart {
                    // One round in each of k epochs, every one of them at the full budget.
                    let apart = once * (k.min(4) as f64).sqrt();
                    assert!(apart <= stated, "{} {k}: {apart} {stated}", entry.name);
                }
            }
        }
    }
}

fn contexts(policy: &str) -> String {
    let contexts = CONTEXTS.replace("rounds = 50\n", "rounds = 1000\n");
    format!("{contexts}[privacy]\nepsilon = 4.0\ndelta = 1e-3\nclip = [-1.0, 1.0]\n[[policy]]\nkind = \"{policy}\"\n")
}

#[test]
fn interactions_of_one_user_add_up() {
    is_priced_as_a_group(&contexts("dp-linucb"));
    // The range of every choice grows by k, and the squares of the ranges by k².
    let hdb = |k| priced(&contexts("dp-hdb"), k, &[]).0.remove(0);
    let (once, thrice) = (hdb(1), hdb(3));
    let squares = |quote: &Value| quote["composition"]["parts"][0][0]["squares"].as_f64().expect("a number");
    assert!((squares(&thrice) - 9.0 * squares(&once)).abs() < 1e-12 * squares(&thrice));
    assert!(13.18 <= epsilon_of(&thrice), "{}", epsilon_of(&thrice));
    // Everybody's own items are separate mechanisms: pure losses add up, and lose less at a delta.
    let local = priced(&contexts("ldp-linucb"), 3, &[]).0.remove(0);
    let pure = local["pure_epsilon"].as_f64().expect("a pure loss");
    assert!((pure - 12.0).abs() < 1e-9 && epsilon_of(&local) < 12.0, "{local}");
}

#[test]
fn contextual_reports_agree_with_their_ledger() {
    let (quotes, _) = priced(&contexts("dp-linucb"), 1, &[]);
    let quote = &quotes[0];
    assert_eq!(quote["threat_model"]["unit"]["kind"], "interaction");
    assert_eq!(quote["threat_model"]["adversary"]["kind"], "other-users");
    assert_eq!(quote["threat_model"]["participations"]["growth"], "one-stream");
    let event = quote["event"].as_str().expect("words");
    assert!(!event.contains("one answer a round") && event.contains("running sums"), "{event}");
    // 1.25 for rewards centred to [-1/2, 1/2], times a column's norm, which is at least 1: not the width of the clip.
    let sensitivity = quote["sensitivity"].as_f64().expect("a number");
    let sigma = quote["noise_size"].as_f64().expect("a number");
    let (epsilon, delta) = budget(4.0);
    assert!((sensitivity / sigma - gdp_mu(epsilon, delta)).abs() < 1e-9, "{sensitivity} over {sigma}");
}

#[test]
fn samples_of_one_user_are_a_group_or_refused() {
    let spec = |learner: &str| {
        format!(
            "rounds = 200\ntrials = 1\n\n[problem]\nkind = \"linear-regression\"\ndimension = 3\nset = {{ kind = \"lp-ball\", p = 1.5, radius = 2.0 }}\n\n[privacy]\nepsilon = 4.0\ndelta = 1e-3\n\n\
             [[learner]]\nkind = \"{learner}\"\nlearning_rate = 1.0\n"
        )
    };
    let text = spec("dp-tofw");
    let (quotes, _) = priced(&text, 3, &[]);
    let Some(quote) = quotes.first() else { panic!("no price for {text}") };
    assert!(epsilon_of(&priced(&text, 1, &[]).0[0]) < epsilon_of(quote));
    assert_eq!(quote["threat_model"]["unit"]["kind"], "sample");
    // What the noise covers is stated and free; one sample more is priced as a group.
    let text = spec("dp-ftrl").replace("delta = 1e-3", "delta = 1e-3\nparticipations = 3\nseparation = 60");
    let of = |k: u64| priced(&text, k, &[]);
    for (k, holds) in [(1, true), (3, true), (4, false)] {
        let (quotes, exit) = of(k);
        assert_eq!((quotes[0]["guarantee"] == "holds", exit), (holds, Some(i32::from(!holds))), "{k}: {quotes:?}");
        assert_eq!(quotes[0]["threat_model"]["participations"]["covered"], 3);
        assert!((epsilon_of(&quotes[0]) - 4.0).abs() < 1e-6 || !holds, "{k}");
    }
    assert!(of(3).0[0]["notes"].to_string().contains("at least 60 rounds apart"));
    let (quotes, exit) = priced(&spec("noisy-sgd"), 2, &[]);
    assert_eq!((quotes.len(), exit), (0, Some(2)), "steps on secretly drawn samples have no price for a group");
}

/// Every mechanism for returning users spends its budget and no more; what has no price, and what does not fit, is refused.
#[test]
fn users_who_return_spend_the_stated_budget() {
    let spec = |policy: &str, privacy: &str| {
        format!(
            "rounds = 64\ntrials = 1\naccepted_warnings = [\"delta\"]\n\n[environment]\nkind = \"rkhs\"\nbound = 0.5\n\
             domain = {{ kind = \"grid\", dimension = 1, points = 20 }}\nkernel = {{ kind = \"squared-exponential\", lengthscale = 0.3 }}\n\
             noise = {{ kind = \"uniform\", bound = 0.5 }}\n\n[privacy]\nepsilon = 2.0\ndelta = 1e-3\n{privacy}\n\n[[policy]]\nkind = \"{policy}\"\n"
        )
    };
    let returning = |mechanism: &str| format!("mechanism = \"{mechanism}\"\nparticipations = 4\nseparation = 16");
    let rewards = ["laplace", "duchi", "piecewise", "hybrid", "randomised-response", "warped-piecewise", "gaussian"]
        .map(|name| ("igp-ucb", name));
    let joint = ["tree", "honaker", "blt", "sqrt-toeplitz", "banded-toeplitz"].map(|name| ("jdp-gp-ucb", name));
    let others = [
        ("local-jdp-gp-ucb", "local-gaussian"),
        ("local-jdp-gp-ucb", "privunit"),
        ("batched-gp-ucb", "batch-laplace"),
        ("batched-gp-ucb", "batch-gaussian"),
        ("fixed-design", "exponential"),
    ];
    for (policy, mechanism) in rewards.into_iter().chain(joint).chain(others) {
        let (quotes, exit) = priced(&spec(policy, &returning(mechanism)), 1, &[]);
        assert_eq!(exit, Some(0), "{mechanism}");
        let quote = &quotes[0];
        let stated = &quote["threat_model"]["participations"];
        assert_eq!((&stated["covered"], &stated["separation"]), (&4.into(), &16.into()), "{mechanism}");
        let epsilon = quote["pure_epsilon"].as_f64().unwrap_or_else(|| epsilon_of(quote));
        assert!((epsilon - 2.0).abs() < 1e-9, "{mechanism}: {epsilon}");
        // One more breaks the claim.
        assert_eq!(priced(&spec(policy, &returning(mechanism)), 5, &[]).1, Some(1), "{mechanism}");
    }
    let refused = |privacy: &str| priced(&spec("igp-ucb", privacy), 1, &[]).1;
    assert_eq!(refused("mechanism = \"laplace\"\nparticipations = 5\nseparation = 16"), Some(2), "64 rounds have room for 4");
    assert_eq!(refused("mechanism = \"laplace\"\ncalibration = \"as-printed\"\nparticipations = 4"), Some(2));
    assert_eq!(refused("mechanism = \"laplace\"\nseparation = 16"), Some(2), "a distance of one round to none");
    // Releases that are rarer than rounds may hold all of a user's rounds, however many may be made: each counts as if it did.
    let rare = "jdp-gp-ucb\"\nrelease = { kind = \"determinant\", factor = 1e6, most = 64 }\nlabel = \"rare";
    for mechanism in ["auto", "banded-toeplitz", "blt"] {
        let noise = |policy: &str, privacy: &str| {
            let (quotes, exit) = priced(&spec(policy, privacy), 1, &[]);
            assert_eq!(exit, Some(0), "{mechanism}");
            quotes[0]["noise_size"].as_f64().expect("a size")
        };
        let once = noise(rare, &format!("mechanism = \"{mechanism}\""));
        let four = noise(rare, &returning(mechanism));
        assert!(mechanism == "banded-toeplitz" || (four / (4.0 * once) - 1.0).abs() < 1e-9, "{mechanism}: {four} and {once}");
        assert!(noise("jdp-gp-ucb", &returning(mechanism)) < 0.7 * four, "{mechanism}");
    }
}

/// A population states how often its people take part: the noise covers that, and noise for less is refused with what to do.
#[test]
fn populations_state_how_often_people_return() {
    let spec = |environment: &str, privacy: &str| {
        let points = POINTS.replace("rounds = 10\n", "rounds = 64\n");
        format!(
            "{points}{environment}\n[privacy]\nepsilon = 2.0\ndelta = 1e-3\n{privacy}\n[[policy]]\nkind = \"jdp-gp-ucb\"\n\
             privacy = {{ mechanism = \"blt\" }}\n"
        )
    };
    let of = |environment: &str, privacy: &str| {
        let quote = priced(&spec(environment, privacy), 1, &[]).0.remove(0);
        let stated = &quote["threat_model"]["participations"];
        let number = |key: &str| stated[key].as_u64().unwrap_or(1);
        assert!((epsilon_of(&quote) - 2.0).abs() < 1e-9, "{quote}");
        (number("covered"), number("separation"), quote["noise_size"].as_f64().expect("a size"), quote["notes"].to_string())
    };
    let (_, _, once, notes) = of("", "");
    assert!(!notes.contains("population"), "{notes}");
    let stated = of("", "participations = 4\nseparation = 20");
    let (covered, separation, noise, notes) = of("population = 20", "");
    assert_eq!((covered, separation, noise.to_bits()), (4, 20, stated.2.to_bits()), "{notes}");
    assert!(notes.contains("population of 20, in turn, a person takes part in up to 4 rounds, 20 or more apart"), "{notes}");
    // Nobody returns where there are as many people as rounds; noise for more than the population needs is fine.
    assert_eq!(of("population = 64", "").2.to_bits(), once.to_bits());
    assert_eq!(of("population = 20", "participations = 5\nseparation = 10").0, 5);
    // A draw for each round: most of 64 draws of 20 people are more than 4 of one, and near each other.
    let (covered, separation, noise, notes) = of("population = 20\narrivals = \"drawn\"", "");
    assert!(4 < covered && separation < 20 && stated.2 < noise, "{covered} {separation} {noise}");
    assert!(notes.contains(&format!("up to {covered} rounds, {separation} or more apart")), "{notes}");
    let refused = |text: &str| {
        let output = folder_with(text).run(&["check", "spec.toml"]);
        assert_eq!(code(&output), Some(2), "{text}");
        stderr(&output)
    };
    for (privacy, found) in [
        ("participations = 3\nseparation = 20", "`participations` is 3, and 4 for a person of the `population`"),
        ("participations = 4\nseparation = 21", "`separation` is 21, and 20 for a person of the `population`"),
        ("participations = 1", "`participations = 4` and `separation = 20`, or neither key"),
    ] {
        let said = refused(&spec("population = 20", privacy));
        assert!(said.contains(found), "{said}");
    }
    assert!(refused(&spec("arrivals = \"drawn\"", "")).contains("each round has a new user"));
    let printed = refused(&spec("population = 20", "calibration = \"as-printed\""));
    assert!(printed.contains("for a user who takes part once"), "{printed}");
    let file = "rounds = 5\n[environment]\nkind = \"contexts-table\"\nfile = \"t.csv\"\nsynthetic = true\nnumbers = [\"a\"]\nlabel = \"b\"\n\
                cuts = [1]\npopulation = 3\n[[policy]]\nkind = \"linucb\"\n";
    assert!(refused(file).contains("the people of `contexts-table` are the rows of its file"));
}

/// The population of a learner's problem has the price of the same returns stated.
#[test]
fn people_of_a_problem_return() {
    let spec = |problem: &str, privacy: &str, learner: &str| {
        format!(
            "rounds = 64\n[problem]\nkind = \"linear-regression\"\ndimension = 3\n{problem}\n\
             set = {{ kind = \"lp-ball\", p = 2, radius = 1.0 }}\n[privacy]\nepsilon = 2.0\ndelta = 1e-3\n{privacy}\n\
             [[learner]]\nkind = \"{learner}\"\n"
        )
    };
    for learner in ["dp-tofw", "local-md", "noisy-sfw"] {
        let of = |problem: &str, privacy: &str| {
            let quote = priced(&spec(problem, privacy, learner), 1, &[]).0.remove(0);
            let stated = &quote["threat_model"]["participations"];
            let number = |key: &str| stated[key].as_u64().unwrap_or(1);
            assert!(epsilon_of(&quote) <= 2.0 + 1e-9, "{quote}");
            let released = ["sensitivity", "noise", "event", "composition"].map(|key| quote[key].to_string()).concat();
            (number("covered"), number("separation"), released, quote["notes"].to_string())
        };
        let once = of("", "");
        let stated = of("", "participations = 4\nseparation = 20");
        let (covered, separation, noise, notes) = of("population = 20", "");
        assert_eq!((covered, separation, &noise), (4, 20, &stated.2), "{learner}: {notes}");
        assert!(notes.contains("population of 20, in turn, a person takes part in up to 4 rounds"), "{learner}: {notes}");
        assert_ne!(once.2, noise, "{learner}");
        assert_eq!(of("population = 64", "").2, once.2, "{learner}");
        assert!(4 < of("population = 20\narrivals = \"drawn\"", "").0, "{learner}");
    }
    let output =
        folder_with(&spec("population = 20", "participations = 3\nseparation = 20", "dp-tofw")).run(&["check", "spec.toml"]);
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("`participations` is 3, and 4 for a person of the `population`"), "{}", stderr(&output));
}

/// The radius of scaled inputs is stated in the units of the inputs: there it is what the noise covers.
#[test]
fn a_radius_is_stated_in_the_units_of_the_inputs() {
    let text = page("examples/papers/kharkovskii2020/branin.toml");
    for (norm, bound) in [("25.0", "0.7072"), ("25.0", "1.0"), ("0.5", "2.0")] {
        let text = text.replace("norm = 25.0", &format!("norm = {norm}")).replace("bound = 0.7072", &format!("bound = {bound}"));
        let (quotes, _) = priced(&text, 1, &[]);
        let scale: f64 = norm.parse::<f64>().expect("a number") / bound.parse::<f64>().expect("a number");
        let mut noisy = 0;
        for quote in quotes.iter().filter(|quote| quote["threat_model"]["unit"]["kind"] == "row") {
            let neighbours = &quote["threat_model"]["neighbours"];
            assert_eq!(neighbours["kind"], "within-radius", "{quote}");
            let radius = neighbours["radius"].as_f64().expect("a number");
            assert!((radius - 1.0 / scale).abs() < 1e-12 / scale, "{norm}, {bound}: {radius}");
            assert_eq!(neighbours["units"], "inputs");
            // A row of the inputs that moves by the stated radius moves what the noise is added to by `radius` of the spec.
            if let Some(sensitivity) = quote["sensitivity"].as_f64() {
                assert!((sensitivity - radius * scale).abs() < 1e-9, "{sensitivity}");
                noisy += 1;
            }
        }
        assert!(0 < noisy, "{quotes:?}");
    }
    // What a radius of 1 in units of the inputs costs where the statement is about 1/25: not (1, 1e-5).
    let delta = Delta::try_from(1e-5).expect("a probability");
    let mu = gdp_mu(Epsilon::try_from(1.0).expect("a budget"), delta);
    assert!((gdp_epsilon(25.0 * mu, delta) - 50.3).abs() < 0.1, "{}", gdp_epsilon(25.0 * mu, delta));
}

/// A table of readings with its covariance, moments and range from the data: no guarantee until the spec declares them public.
#[test]
fn numbers_of_the_data_are_declared_or_the_claim_goes() {
    let here = &folder();
    for name in ["train.csv", "test.csv"] {
        here.write(name, "a,b,c\n0.1,0.5,0.3\n0.4,0.2,0.9\n0.2,0.7,0.4\n0.3,0.6,0.1\n");
    }
    let data = here.display().to_string();
    let spec = |public: &str| {
        format!(
            "rounds = 50\ntrials = 1\n\n[environment]\nkind = \"arms-table\"\ntrain = \"train.csv\"\ntest = \"test.csv\"\n{public}\n\n[privacy]\n\
             epsilon = 1.0\nclip = [0.0, 1.0]\n\n[[policy]]\nkind = \"tgp-ucb\"\nridge = 1.0\n"
        )
    };
    let guarantee = |public: &str| {
        let (quotes, exit) = priced(&spec(public), 1, &["--data", &data]);
        let guarantee = quotes[0]["guarantee"].as_str().expect("a text").to_owned();
        (Guarantee::try_from(guarantee).expect("a guarantee"), quotes[0]["notes"].to_string(), exit)
    };
    let (undeclared, notes, exit) = guarantee("");
    assert!(matches!(&undeclared, Guarantee::NoGuarantee { erratum, .. } if erratum == "E19"), "{undeclared}");
    assert!(notes.contains("environment.public = [") && exit == Some(1), "{notes}");
    let (part, notes, _) = guarantee("public = [\"covariance\", \"range\"]");
    assert!(part.to_string().contains("mean square and variance") && !part.to_string().contains("covariance"), "{part}");
    assert!(notes.contains("declared public by the spec: the covariance of the arms; the largest reading"), "{notes}");
    let (declared, _, exit) = guarantee("public = [\"covariance\", \"moments\", \"range\"]");
    assert_eq!((declared, exit), (Guarantee::Holds, Some(0)));
    // Generated readings are nobody's.
    assert_eq!(guarantee("synthetic = true").0, Guarantee::Holds);
    here.write("spec.toml", spec("public = [\"moment\"]"));
    here.ends(&["account", "spec.toml", "--data", &data], 2, &["did you mean `moments`?", "spec.toml:8"]);
}
