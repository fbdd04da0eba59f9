//! Guessing and policies without privacy are played beside what a spec lists, once for each problem, and change nothing that it lists.

use crate::support::*;
use privateer::engine::{Role, is_privacy_key};

const POINTS: &str = "rounds = 30\ntrials = 3\nblock = 2\n[environment]\nkind = \"gp-sample\"\ndomain = { kind = \"grid\", points = 20 }\n\
    kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"gaussian\", sd = 0.1 }\n\
    [privacy]\nepsilon = 1.0\nclip = [-3.0, 3.0]\n";
const USERS: &str = "rounds = 60\ntrials = 2\n[environment]\nkind = \"generalized-linear\"\ndimension = 6\narms = 2\n\
    noise = { kind = \"uniform\", bound = 0.1 }\n[privacy]\nepsilon = 5.0\ndelta = 1e-3\n";
const SAMPLES: &str = "rounds = 60\ntrials = 2\n[problem]\nkind = \"linear-regression\"\ndimension = 3\nset = { kind = \"lp-ball\", p = 1.5 }\n\
    [privacy]\nepsilon = 1.0\n";

fn added(sweep: &Sweep) -> Vec<(&str, &Role)> {
    sweep.cells[sweep.listed().len()..].iter().map(|cell| (&*cell.policy, &cell.role)).collect()
}

fn without(of: &str) -> Role {
    Role::WithoutPrivacy(of.into())
}

fn bits(sweep: &Sweep) -> BTreeMap<String, Vec<u64>> {
    let mut by_cell: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (unit, bits) in ran_of(sweep).bits_by_unit() {
        // The first word holds the number of the cell, which moves.
        by_cell.entry(sweep.cells[unit.cell as usize].label()).or_default().extend(&bits[1..]);
    }
    by_cell
}

#[test]
fn every_kind_of_problem_has_them() {
    for (spec, policies, expected) in [
        (
            POINTS,
            "[[policy]]\nkind = \"tgp-ucb\"\n",
            vec![("uniform", Role::Guessing), ("tgp-ucb without privacy", without("tgp-ucb"))],
        ),
        (
            USERS,
            "[[policy]]\nkind = \"dp-linucb\"\nshift = 0.5\n[[policy]]\nkind = \"dp-hdb\"\n[[policy]]\nkind = \"ldp-linucb\"\nridge = 2.0\n",
            vec![
                ("random-arm", Role::Guessing),
                ("linucb without privacy", without("dp-linucb")),
                ("dp-hdb without privacy", without("dp-hdb")),
                ("ldp-linucb without privacy", without("ldp-linucb")),
            ],
        ),
        // A learner is compared with its starting point.
        (
            SAMPLES,
            "[[learner]]\nkind = \"dp-tofw\"\n[[learner]]\nkind = \"ofw\"\n",
            vec![("dp-tofw without privacy", without("dp-tofw"))],
        ),
        // What is listed is not added, whatever it is called; nor is anything where nothing is private.
        (
            POINTS,
            "[[policy]]\nkind = \"tgp-ucb\"\nridge = 2\n[[policy]]\nkind = \"tgp-ucb\"\nlabel = \"open\"\nridge = 2\nprivacy = { mechanism = \"none\" }\n\
             [[policy]]\nkind = \"uniform\"\nlabel = \"dice\"\n",
            vec![],
        ),
        (POINTS, "[[policy]]\nkind = \"tgp-ucb\"\nprivacy = { mechanism = \"none\" }\n", vec![]),
        // Another ridge is another policy, and a label that is taken is not taken twice.
        (
            POINTS,
            "[[policy]]\nkind = \"tgp-ucb\"\nlabel = \"uniform\"\nridge = 2\n[[policy]]\nkind = \"tgp-ucb\"\nlabel = \"tgp-ucb without privacy\"\n\
             ridge = 3\nprivacy = { mechanism = \"none\" }\n",
            vec![("guessing", Role::Guessing), ("uniform without privacy", without("uniform"))],
        ),
    ] {
        println!("{policies}");
        let sweep = sweep(&format!("{spec}{policies}"));
        let found: Vec<(&str, Role)> = added(&sweep).into_iter().map(|(name, role)| (name, role.clone())).collect();
        assert_eq!(found, expected, "{policies}");
        ran_of(&sweep);
    }
}

/// A policy may be called `privacy`, names may be taken, and two that are private by their kind have a reference each.
#[test]
fn names_mislead_nobody() {
    for (key, expected) in [
        ("privacy.epsilon", true),
        ("curator.epsilon", true),
        ("policy.a.privacy.mechanism", true),
        ("policy.0.curator.epsilon", true),
        ("learner.curator.privacy.epsilon", true),
        ("policy.privacy.beta.factor", false),
        ("policy.curator.ridge", false),
        ("environment.noise.sd", false),
    ] {
        assert_eq!(is_privacy_key(key), expected, "{key}");
    }
    let named = |label: &str, ridge: u32| format!("[[policy]]\nkind = \"tgp-ucb\"\nlabel = \"{label}\"\nridge = {ridge}\n");
    let all = [named("uniform", 2), named("guessing", 3), named("guessing 2", 4)].concat();
    let of = |sweep: &Sweep| added(sweep).into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    let names = of(&sweep(&format!("{POINTS}{all}")));
    assert_eq!(names[..2], ["guessing 3", "tgp-ucb without privacy"]);
    assert_eq!(names[2..], ["guessing without privacy", "guessing 2 without privacy"]);
    let swept = format!("{POINTS}{}[sweep.product]\n\"policy.privacy.ridge\" = [1, 2]\n", named("privacy", 1));
    assert_eq!(added(&sweep(&swept)).len(), 4, "two ridges are two problems");
    let twins =
        "[[policy]]\nkind = \"dp-linucb\"\n[[policy]]\nkind = \"dp-linucb\"\nlabel = \"b\"\nprivacy = { epsilon = 1.0 }\n";
    let twins = sweep(&format!("{USERS}{twins}[sweep.product]\n\"privacy.delta\" = [1e-3, 1e-4]\n"));
    let roles: Vec<&Role> = added(&twins).into_iter().map(|(_, role)| role).collect();
    assert_eq!(roles, [&Role::Guessing, &without("dp-linucb"), &without("b")]);
}

#[test]
fn each_problem_has_them_once() {
    let policy = "[[policy]]\nkind = \"igp-ucb\"\n";
    let swept = |keys: &str| sweep(&format!("{POINTS}{policy}[sweep.product]\n{keys}"));
    assert_eq!(added(&swept("\"privacy.epsilon\" = [0.5, 1.0, 2.0]\n")).len(), 2);
    assert_eq!(added(&swept("\"policy.igp-ucb.privacy.mechanism\" = [\"laplace\", \"duchi\"]\n")).len(), 2);
    assert_eq!(added(&swept("\"environment.domain.points\" = [20, 30]\n\"privacy.epsilon\" = [0.5, 1.0]\n")).len(), 4);
    assert_eq!(added(&swept("\"policy.igp-ucb.ridge\" = [0.1, 1.0]\n\"privacy.epsilon\" = [0.5, 1.0]\n")).len(), 4);
    let off = sweep(&format!("references = false\n{POINTS}{policy}"));
    assert!(added(&off).is_empty());
    let log = "rounds = 40\n[environment]\nkind = \"logged-replay\"\nfile = \"log.csv\"\nnumbers = [\"x\"]\nlows = [-1]\nhighs = [1]\narm = \"arm\"\narms = [\"a\", \"b\"]\n\
               reward = \"reward\"\npropensity = \"propensity\"\n[privacy]\nepsilon = 1.0\ndelta = 1e-3\n[[policy]]\nkind = \"dp-linucb\"\n";
    assert!(added(&sweep(log)).is_empty(), "what a log says is an estimate");
}

/// A spec without references records the same of what it lists, and one that lists them the same of them.
#[test]
fn they_are_what_a_spec_would_list() {
    let policy = "[[policy]]\nkind = \"tgp-ucb\"\nridge = 0.5\n";
    let with = bits(&sweep(&format!("{POINTS}{policy}")));
    let off = bits(&sweep(&format!("references = false\n{POINTS}{policy}")));
    let listed = bits(&sweep(&format!(
        "references = false\n{POINTS}{policy}[[policy]]\nkind = \"tgp-ucb\"\nridge = 0.5\nlabel = \"tgp-ucb without privacy\"\n\
         privacy = {{ mechanism = \"none\" }}\n[[policy]]\nkind = \"uniform\"\nprivacy = {{ mechanism = \"none\" }}\n"
    )));
    assert_eq!(with, listed);
    assert_eq!((off.len(), &off["tgp-ucb"]), (1, &with["tgp-ucb"]));
}
