//! A session goes on with the claim and the noise that it was begun with, or not at all.

use super::columns::SessionRow;
use super::file::DeploymentFile;
use super::options::BudgetOptions;
use super::received::Reward;
use super::session::{ask, init, tell};
use super::session_options::{SessionChoice, SessionOptions};
use privateer_config::error::Error;
use privateer_engine::env::DataFolder;
use privateer_engine::registry::Registry;
use privateer_engine::spec::Sweep;
use privateer_privacy::odometer::DeploymentForm;

fn sweep(privacy: &str, policy: &str) -> Sweep {
    let text = format!(
        "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\"]\nbound = 1.0\nunits = \"rewards\"\n\
         kernel = \"linear\"\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\n[privacy]\n{privacy}\n[[policy]]\n{policy}\n"
    );
    Sweep::parse("spec.toml", &text, &[]).expect("a spec")
}

/// A session whose spec stands for something else than what it was begun with, as an earlier program left it: refused before anything
/// is drawn, whatever part of the claim or of the noise differs. Told rounds make no difference; the spec that it was begun with goes on.
#[test]
fn a_session_with_another_claim_is_refused() {
    let (sums, rewards) = ("kind = \"jdp-linucb\"", "kind = \"igp-ucb\"");
    let tree = "mechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\nprotects = \"contexts and rewards\"";
    let laplace = "mechanism = \"laplace\"\nepsilon = 4.0\nclip = [-1.0, 1.0]";
    let release = format!("{sums}\nrelease = {{ kind = \"interval\", rounds = 4 }}");
    let (local, items) = ("kind = \"local-jdp-gp-ucb\"", tree.replace("mechanism = \"tree\"\n", ""));
    let alone = tree.replace("\nprotects = \"contexts and rewards\"", "");
    for (policy, begun, others) in [
        (
            sums,
            tree,
            vec![
                (alone.clone(), sums), // what earlier programs protected, under a spec that says nothing of it
                (tree.replace("4.0", "2.0"), sums),
                (tree.replace("1e-5", "1e-6"), sums),
                (tree.replace("[-1.0, 1.0]", "[-1.0, 3.0]"), sums),
                (tree.replace("tree", "honaker"), sums),
                (tree.to_owned(), &release), // the same claim by other noise
            ],
        ),
        (local, &items, vec![(items.replace("\nprotects = \"contexts and rewards\"", ""), local)]),
        (
            rewards,
            laplace,
            vec![(laplace.replace("4.0", "2.0"), rewards), (laplace.replace("[-1.0, 1.0]", "[-2.0, 2.0]"), rewards)],
        ),
    ] {
        for (privacy, other) in others {
            let folder = tempfile::tempdir().expect("a folder");
            let points: String = (0..9).map(|row| format!("{}\n", f64::from(row) / 8.0)).collect();
            std::fs::write(folder.path().join("points.csv"), format!("x\n{points}")).expect("a file");
            let (state, data) = (folder.path().join("state"), DataFolder::new(Some(folder.path().to_owned())));
            let options = SessionOptions {
                form: DeploymentForm::TrustedCurator,
                column: "reward".to_owned(),
                session: None,
                allow_large_delta: false,
                budget: BudgetOptions::default(),
            };
            let begun = sweep(begun, policy);
            init(&state, ("spec.toml", &begun), &data, &options, &|_| ()).expect("a session");
            let (registry, choice) = (Registry::builtin(), SessionChoice::default());
            let asked = || ask(&registry, &state, false, &choice);
            let told = |row| tell(&registry, &state, (row, &Reward::Raw { value: 0.5, yes: false }), &choice);
            let stands_for = |sweep: &Sweep| {
                let file = DeploymentFile::open(&state).expect("a file");
                file.begin().expect("a transaction");
                let row = file.sessions().expect("sessions").remove(0);
                let (spec, spec_hash) = (sweep.resolved.clone(), sweep.hash.clone());
                file.add_session(&SessionRow { spec, spec_hash, ..row }).expect("a session");
                file.commit().expect("a disk");
            };
            let other = sweep(&privacy, other);
            for round in 0..2 {
                let row = asked().expect("a row").row;
                stands_for(&other);
                for found in [asked().map(|_| ()), told(row).map(|_| ())] {
                    let Err(Error::Input(why)) = found else { panic!("{privacy}: {found:?}") };
                    let why = format!("{why:?}");
                    assert!(why.contains("the session was begun with") && why.contains("continue it with"), "{why}");
                }
                stands_for(&begun);
                assert_eq!(told(row).expect("a reward").round, round + 1);
            }
        }
    }
}
