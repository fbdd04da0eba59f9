//! Deployment as a library: what the command line refuses by its arguments, the functions refuse themselves.

use privateer::deploy::{AccountOptions, RecordValue, ReleaseOptions, account, ledger, release};
use privateer_config::error::Error;

/// Returns the words of a refusal.
fn refused<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn numbers_without_meaning_and_contradictions_are_refused() {
    let of = |change: fn(&mut AccountOptions)| {
        let mut options = AccountOptions { epsilon: Some(1.0), clip: Some((0.0, 1.0)), ..AccountOptions::default() };
        change(&mut options);
        account("laplace", &options)
    };
    assert!(of(|_| ()).is_ok());
    assert!(refused(of(|options| options.participations = Some(0))).contains("`--participations` is 0"));
    assert!(refused(of(|options| options.answer_epsilon = Some(2.0))).contains("`--epsilon` and `--answer-epsilon`"));
    let stream = |change: fn(&mut AccountOptions)| {
        let mut options = AccountOptions { sigma: Some(1.0), ..AccountOptions::default() };
        change(&mut options);
        account("vector-prefix", &options)
    };
    assert!(stream(|_| ()).is_ok());
    assert!(refused(stream(|options| options.separation = Some(0))).contains("`--separation` is 0"));
    assert!(refused(stream(|options| options.epsilon = Some(1.0))).contains("`--epsilon` and `--sigma`"));
    assert!(refused(ledger(&[], None, None, &|_| ())).contains("no file is named"));
}

/// A slip, or a round that no session has, leaves no state behind.
#[test]
fn a_refused_first_release_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let options = ReleaseOptions {
        mechanism: Some("laplace".to_owned()),
        epsilon: Some(1.0),
        clip: Some((0.0, 1.0)),
        ..ReleaseOptions::default()
    };
    let first =
        |round, value| release(&state, &RecordValue { record: "0".to_owned(), round, value, yes: false }, &options, &|_| ());
    assert!(refused(first(0, 0.5)).contains("the round is 0"));
    refused(first(1, 500.0));
    refused(first(1, f64::NAN));
    assert!(!state.exists());
    first(1, 0.5).expect("released");
    assert!(state.exists());
}
