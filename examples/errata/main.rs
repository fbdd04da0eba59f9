//! The errata of the four private papers, each shown by running or computing it:
//! `cargo run --release --example errata` for all, `… --example errata -- E3 E16` for some. Exit code 1 where one is not as stated.

mod dubey2021;
mod han2022;
mod kharkovskii2020;
mod shown;
mod zhou2021;

use shown::Erratum;
use std::process::ExitCode;

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let all: Vec<&Erratum> =
        [zhou2021::ERRATA, dubey2021::ERRATA, kharkovskii2020::ERRATA, han2022::ERRATA].into_iter().flatten().collect();
    if let Some(unknown) = asked.iter().find(|name| !all.iter().any(|erratum| erratum.name.eq_ignore_ascii_case(name))) {
        eprintln!("error: no erratum `{unknown}`\nexpected E1 to E31");
        return ExitCode::from(2);
    }
    let mut wrong = Vec::new();
    for erratum in all {
        if !asked.is_empty() && !asked.iter().any(|name| erratum.name.eq_ignore_ascii_case(name)) {
            continue;
        }
        println!("{} {}", erratum.name, erratum.about);
        let shown = (erratum.show)();
        shown.lines.iter().for_each(|line| println!("    {line}"));
        if !shown.holds {
            println!("    NOT AS STATED");
            wrong.push(erratum.name);
        }
    }
    if wrong.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("not as stated: {}", wrong.join(", "));
    ExitCode::FAILURE
}
