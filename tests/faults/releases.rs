//! Releases and sessions: a fault never makes two of one, and never leaves what would tell more than was released.

use super::campaign::{Campaign, ask, assert_tidy, counted, fine, said, says_kept};
use super::problems::{CURATE, LAPLACE, files, spec};
use privateer::env::CuratedLedger;
use privateer::record::hash_bytes;
use std::fs;
use std::path::Path;

pub fn table(folder: &Path) {
    let rows: String = (0..30).map(|i| format!("{},{}\n", f64::from(i % 6) * 0.3, f64::from(i / 6) * 0.3)).collect();
    fs::write(folder.join("data.csv"), format!("x,y\n{rows}")).expect("written");
    fs::write(folder.join("mine.tmp"), "precious").expect("written");
}

pub fn modeler(folder: &Path, privacy: &str, policy: &str) {
    table(folder);
    fine(folder, &CURATE);
    spec(folder, privacy, policy);
}

const SUMS: (&str, &str) = (
    "[privacy]\nmechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n",
    "kind = \"jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }",
);

/// Two rows asked for and told, and a third asked for.
fn in_the_middle(folder: &Path, (privacy, policy): (&str, &str)) {
    modeler(folder, privacy, policy);
    fine(folder, &["init", "state", "modeler.toml"]);
    for reward in ["0.5", "-0.25"] {
        fine(folder, &["tell", "state", &ask(folder), reward]);
    }
    ask(folder);
}

#[test]
fn curate() {
    let campaign = Campaign::new("curate", &CURATE, table);
    campaign.run(|faulted| {
        let (released_inputs, ledger) = (faulted.path("released.csv"), faulted.path("released.csv.ledger.json"));
        let (published, ledger_before) = (fs::read(&released_inputs).ok(), ledger.exists());
        assert!(published.is_none() || ledger.exists(), "released inputs without a ledger");
        match faulted.code() {
            Some(0) => assert!(published.is_some()),
            Some(_) => assert!(published.is_none() && !ledger.exists(), "it says that nothing was released"),
            None => {}
        }
        let left = files(faulted.folder.path()).keys().any(|name| name.contains(".privateer-"));
        // The same command: it makes the release that was not made, and never one that was.
        let again = faulted.then(&CURATE, &[0, 2]);
        assert_eq!(said(&again).contains("removed"), left || (published.is_none() && ledger_before));
        assert_eq!(again.status.code() == Some(2), published.is_some());
        if let Some(published) = published {
            assert!(said(&again).contains("is there already"));
            assert_eq!(fs::read(&released_inputs).expect("released inputs"), published, "a second release");
        }
        let recorded = CuratedLedger::read(&ledger).expect("a ledger");
        assert_eq!(recorded.sha256, hash_bytes(&fs::read(&released_inputs).expect("released inputs")));
        assert_tidy(faulted);
        assert_eq!(fs::read_to_string(faulted.path("mine.tmp")).expect("the user's file"), "precious");
    });
}

#[test]
fn init() {
    let words = ["init", "state", "modeler.toml"];
    let campaign = Campaign::new("init", &words, |folder| modeler(folder, SUMS.0, SUMS.1)).on_database();
    campaign.run(|faulted| {
        let made = counted(faulted.folder.path(), "state", "SELECT count(*) FROM sessions") == 1;
        assert!(faulted.killed() || made == says_kept(faulted));
        let again = faulted.then(&words, &[0, 2]);
        assert_eq!(again.status.code() == Some(2), made);
        faulted.then(&["ask", "state"], &[0]);
        assert_tidy(faulted);
    });
}

/// After a fault the session is the one before or the one after.
fn tells(name: &'static str, spec: (&str, &str)) {
    super::campaign::tells(
        name,
        &["state"],
        |folder| in_the_middle(folder, spec),
        |faulted| {
            let of = |sql: &str| counted(faulted.folder.path(), "state", sql);
            let (releases, spends) = (of("SELECT count(*) FROM releases"), of("SELECT count(*) FROM spends"));
            assert_eq!(releases, spends, "an answer without a spend, or a spend without an answer");
            assert_eq!(of("SELECT count(*) FROM sessions WHERE asked IS NULL"), releases - 2);
            releases == 3
        },
    );
}

#[test]
fn tell() {
    tells("tell", SUMS);
}

#[test]
fn tell_each_reward() {
    tells("tell each", (LAPLACE, "kind = \"igp-ucb\""));
}

#[test]
fn ask_and_undo() {
    let none = ("[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    for words in [["ask", "state"], ["undo", "state"]] {
        let campaign = Campaign::new(words[0], &words, |folder| {
            in_the_middle(folder, none);
            fine(folder, &["tell", "state", &ask(folder), "0.125"]);
        })
        .on_database();
        // The rounds that are told, and the row that is asked for.
        let read = |folder: &Path| {
            let of = |sql: &str| counted(folder, "state", sql);
            (of("SELECT count(*) FROM releases"), of("SELECT coalesce(max(asked), -1) FROM sessions"))
        };
        let (before, reference) = (read(campaign.before.path()), read(campaign.reference().path()));
        campaign.run(|faulted| {
            let after = read(faulted.folder.path());
            assert!(after == before || after == reference);
            faulted.then(if after == before { &words } else { &["ask", "state"] }, &[0]);
            assert_eq!(read(faulted.folder.path()), reference);
            assert_tidy(faulted);
        });
    }
}
