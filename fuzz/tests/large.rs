//! Ten megabytes of anything are read or refused with little memory and in time that grows with their length.

use privateer::env::CuratedLedger;
use privateer::env::csv_table::{CsvOptions, read_table};
use privateer::record::{DigestList, Manifest};
use privateer::spec::{SPEC_FILE, Sweep};
use privateer_fuzz::{WORDS, seeds, with_at_most};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Reads a file as the program does; whether it is refused is no matter here.
type Read = fn(&Path) -> bool;

/// Each kind: its corpus, the name of its file, the most bytes that are read of it, up to ten megabytes, and how it is read.
const KINDS: [(&str, &str, usize, Read); 6] = [
    ("spec", "spec.toml", 1 << 20, |path| {
        SPEC_FILE.read_text(path).and_then(|text| Sweep::parse("spec.toml", &text, &[])).is_ok()
    }),
    ("csv", "t.csv", 10 << 20, |path| read_table(path, &CsvOptions::default()).is_ok()),
    ("deployment", "d", 10 << 20, |path| privateer::deploy::ledger(&[path.to_owned()], None, None, &|_| ()).is_ok()),
    ("ledger", "l.json", 10 << 20, |path| CuratedLedger::read(path).is_ok()),
    ("manifest", "manifest.json", 10 << 20, |path| path.parent().is_some_and(|folder| Manifest::load(folder).is_ok())),
    ("list", "SHA256SUMS", 10 << 20, |path| path.parent().is_some_and(|folder| DigestList::load(folder).is_ok())),
];

const MOST_BYTES: usize = 200 << 20;
/// Ten times what an optimised program may take, as this one is hardly optimised and runs beside others; a reader whose time grows
/// with the square of the length takes minutes.
const MOST_TIME: Duration = Duration::from_secs(20);

/// What a file of a kind begins with, what is said again and again in it with a number, and its end.
const REPEATED: [(&str, &str, &str); 11] = [
    ("", "key# = 1\n", ""),
    ("", "[table#]\n", ""),
    ("", "[[policy]]\nkind = \"k#\"\n", ""),
    ("[sweep.product]\n", "\"a.b#\" = [1, 2]\n", ""),
    ("seed = 1\nx = [", "#, ", "]\n"),
    ("seed = 1\nx = \"", "#", "\"\n"),
    ("x,y\n", "#,0.5\n", ""),
    ("x", ",c#", "\n1\n"),
    ("{\"a\": [", "#, ", "0]}"),
    ("{", "\"k#\": #, ", "\"z\": 0}"),
    ("", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef  f#\n", ""),
];

#[test]
fn ten_megabytes_of_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, file, length, read) in KINDS {
        let path = folder.path().join(file);
        let mut slowest = (Duration::ZERO, String::new());
        let mut read = |what: String, bytes: Vec<u8>| {
            fs::write(&path, bytes).expect("written");
            let began = Instant::now();
            with_at_most(MOST_BYTES, || {
                let _ = read(&path);
            });
            slowest = slowest.clone().max((began.elapsed(), what));
        };
        for (begin, line, end) in REPEATED {
            let mut text = begin.to_owned();
            for at in 0.. {
                if length - 100 < text.len() {
                    break;
                }
                text.push_str(&line.replace('#', &at.to_string()));
            }
            text.push_str(end);
            read(format!("{line:?}"), text.into_bytes());
        }
        for word in WORDS {
            read(format!("{word:?}"), word.repeat(length / word.len()));
        }
        for seed in seeds(kind) {
            read("a seed".to_owned(), seed.repeat(length / seed.len().max(1)));
        }
        println!("{kind}: at most {:.2} s, {}", slowest.0.as_secs_f64(), slowest.1);
        assert!(slowest.0 < MOST_TIME, "{kind}: {} took {:?}", slowest.1, slowest.0);
    }
}
