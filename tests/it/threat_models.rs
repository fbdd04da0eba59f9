//! `docs/threat-model.md`: its table is made from the ledgers themselves, one per path, with `PRIVATEER_UPDATE=1`.

use crate::program::{assert_current, folder, page, root};
use crate::support::*;
use privateer::engine::Session;
use privateer_privacy::odometer::DeploymentForm;
use privateer_privacy::release::RowsRelease;
use privateer_privacy::{Delta, Epsilon, Provenance, ThreatModel};
use std::fmt::Write;

/// Points with rewards in [0, 1].
pub const POINTS: &str = r#"
rounds = 10
trials = 1
[environment]
kind = "rkhs"
domain = { kind = "grid", dimension = 1, points = 10 }
kernel = { kind = "squared-exponential", lengthscale = 0.3 }
noise = "bernoulli"
output = "unit"
bound = 1.0
"#;

pub const CONTEXTS: &str = r#"
rounds = 50
trials = 1
[environment]
kind = "generalized-linear"
dimension = 5
arms = 2
noise = { kind = "gaussian", sd = 0.05 }
"#;

const SAMPLES: &str = r#"
rounds = 50
trials = 1
[problem]
kind = "linear-regression"
dimension = 3
set = { kind = "lp-ball", p = 1.5, radius = 2.0 }
"#;

const BUDGET: &str = "[privacy]\nepsilon = 1.0\ndelta = 1e-3\nclip = [0.0, 1.0]\n";

/// The threat models of a spec's only cell: of what it observes, and of its inputs where a curator releases them.
fn simulated(text: &str) -> Vec<ThreatModel> {
    prepared(text, &DataFolder::default(), |sweep, preparation| {
        let facts = preparation.facts_in_short(&sweep.cells[0]).expect("a ledger");
        assert_eq!(facts.ledger.reward.provenance, Provenance::Simulated);
        std::iter::once(facts.ledger.reward.threat_model).chain(facts.ledger.inputs.map(|inputs| inputs.threat_model)).collect()
    })
}

fn session(form: DeploymentForm, privacy: &str, policy: &str) -> ThreatModel {
    let here = folder();
    here.write("points.csv", "x\n0.0\n1.0\n");
    let text = format!(
        "rounds = 4\ntrials = 1\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\"]\nbound = 1.0\nstandardise = false\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 0.3 }}\nnoise = {{ kind = \"uniform\", bound = 1.0 }}\n{privacy}[[policy]]\n{policy}\n"
    );
    prepared(&text, &here.data(), |sweep, preparation| {
        let session = Session::start(sweep, preparation).expect("a session");
        assert_eq!(session.ledger(form).provenance, Provenance::Released);
        session.ledger(form).threat_model
    })
}

fn rows() -> Vec<(&'static str, ThreatModel)> {
    let (epsilon, delta) = (Epsilon::try_from(1.0).expect("a budget"), Delta::try_from(1e-3).expect("a probability"));
    let points = |policy: &str| simulated(&format!("{POINTS}{BUDGET}[[policy]]\n{policy}\n")).remove(0);
    let contexts = |policy: &str| simulated(&format!("{CONTEXTS}{BUDGET}[[policy]]\nkind = \"{policy}\"\n")).remove(0);
    let budget = "[privacy]\nepsilon = 1.0\ndelta = 1e-3\n";
    let samples = |learner: &str| {
        simulated(&format!("{SAMPLES}{budget}[[learner]]\nkind = \"{learner}\"\nlearning_rate = 1.0\n")).remove(0)
    };
    let curator = "[curator]\nepsilon = 1.0\ndelta = 1e-3\nradius = 0.5\n[[policy]]\nkind = \"gp-ucb\"\nridge = 1.0\n";
    let inputs = simulated(&format!("{POINTS}{curator}")).remove(1);
    vec![
        (
            "simulated rewards: `laplace`, `duchi`, `piecewise`, `hybrid`, `randomised-response`, `warped-piecewise`, `gaussian`",
            points("kind = \"tgp-ucb\"\nridge = 1.0"),
        ),
        ("simulated sums at public points: `jdp-gp-ucb`, `jdp-linucb`", points("kind = \"jdp-gp-ucb\"")),
        (
            "simulated sums over decision sets, or with `protects = \"contexts and rewards\"`: `jdp-gp-ucb`, `jdp-linucb`",
            points("kind = \"jdp-gp-ucb\"\nprivacy = { protects = \"contexts and rewards\" }"),
        ),
        ("simulated rewards at public points: `local-jdp-gp-ucb`", points("kind = \"local-jdp-gp-ucb\"")),
        (
            "simulated items over decision sets, or with `privunit` or `local-gaussian`: `local-jdp-gp-ucb`",
            points("kind = \"local-jdp-gp-ucb\"\nprivacy = { mechanism = \"privunit\" }"),
        ),
        ("simulated choice: `fixed-design`", points("kind = \"fixed-design\"\ncandidates = 4")),
        ("simulated sums: `batched-gp-ucb`, `dp-bpe`, `dp-se`", points("kind = \"batched-gp-ucb\"")),
        (
            "simulated shuffled answers: `batched-gp-ucb`, `dp-bpe`, `dp-se`",
            points("kind = \"batched-gp-ucb\"\nprivacy = { mechanism = \"batch-shuffle\" }"),
        ),
        ("simulated contexts: `dp-linucb`", contexts("dp-linucb")),
        ("simulated contexts: `dp-hdb`", contexts("dp-hdb")),
        ("simulated contexts: `ldp-linucb` with `privunit` or `local-gaussian`", contexts("ldp-linucb")),
        (
            "simulated samples: `dp-tofw`, `dp-ftrl`, `dp-pofw`, `noisy-sfw`, `phased-sgd`, `snowball-sgd`, `noisy-giga`",
            samples("dp-tofw"),
        ),
        ("simulated samples: `local-md` with `privunit` or Gaussian noise", samples("local-md")),
        ("simulated inputs: `[curator]`", inputs),
        (
            "`curate`, `RowsRelease`",
            RowsRelease::calibrated(epsilon, delta, 0.5, 3.0, 2).expect("a release").ledger().threat_model.clone(),
        ),
        (
            "session of the form `data-holder`",
            session(DeploymentForm::DataHolder, "[privacy]\nepsilon = 1.0\n", "kind = \"tgp-ucb\"\nridge = 1.0"),
        ),
        (
            "session of the form `trusted-curator` with a reward mechanism",
            session(DeploymentForm::TrustedCurator, "[privacy]\nepsilon = 1.0\n", "kind = \"tgp-ucb\"\nridge = 1.0"),
        ),
        ("session with sums", session(DeploymentForm::TrustedCurator, budget, "kind = \"jdp-gp-ucb\"")),
        (
            "session with sums and `protects = \"contexts and rewards\"`",
            session(
                DeploymentForm::TrustedCurator,
                budget,
                "kind = \"jdp-gp-ucb\"\nprivacy = { protects = \"contexts and rewards\" }",
            ),
        ),
        ("session with sums of batches", session(DeploymentForm::TrustedCurator, budget, "kind = \"batched-gp-ucb\"")),
    ]
}

#[test]
fn the_page_says_what_ledgers_say() {
    let mut table =
        String::from("| path | unit | against | neighbours | participations | not protected |\n|---|---|---|---|---|---|\n");
    for (path, model) in rows() {
        let ThreatModel { unit, adversary, participations, .. } = &model;
        let neighbours = model.neighbours_words();
        let _ =
            writeln!(table, "| {path} | {unit} | {adversary} | {neighbours} | {participations} | {} |", model.not_protected());
    }
    let text = page("docs/threat-model.md");
    let (before, rest) = text.split_once("<!-- table -->\n").expect("the start of the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    // A bar inside of a cell would end it.
    let table = table.replace("|phi|", "\\|phi\\|").replace("|y|", "\\|y\\|");
    let now = format!("{before}<!-- table -->\n{table}<!-- end -->{after}");
    assert_current(&root().join("docs/threat-model.md"), &now);
}
