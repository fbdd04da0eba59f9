//! `privateer audit`: attacks every stated epsilon, and counts false alarms.

use super::output::{note, say};
use super::progress::metered;
use super::source::SpecArgs;
use crate::audit::deployment::StatedLoss;
use crate::audit::{self, AUDITS, AuditEntry, AuditFile, Case, FalseAlarms, Finding, PRINTED, PassedOver, Settings, Verdict};
use crate::registry::Registry;
use crate::spec::Sweep;
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error, closest};
use privateer_privacy::quote::short;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Mechanisms; errata (E3) or `as-printed` for the papers' false claims; specs, for whole runs; the files of a deployment, whose
    /// ledgers are compared with the exact losses of the worst pair of tables; none: every mechanism
    #[arg(value_name = "MECHANISM|ERRATUM|SPEC|DEPLOYMENT")]
    what: Vec<String>,
    /// Replays of each side of a pair; a tenth for whole runs (100 to 100000000)
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    samples: u64,
    /// Probability that no true claim among all that are named is refuted
    #[arg(long, value_name = "P", default_value_t = 0.99)]
    confidence: f64,
    /// Repeat every case at this number of seeds, and count how often it is refuted
    #[arg(long, value_name = "SEEDS", value_parser = clap::value_parser!(u64).range(1..))]
    false_alarms: Option<u64>,
    /// List what can be named
    #[arg(long)]
    list: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    spec: SpecArgs,
}

/// Audits what is named.
/// A refuted claim is exit code 1.
pub fn audit(registry: &Registry, args: &AuditArgs) -> Result<(), Error> {
    if !(0.0 < args.confidence && args.confidence < 1.0) {
        return Diagnostic::new(format!("`--confidence` is {}", args.confidence)).expected("a number > 0 and < 1").refuse();
    }
    if args.list {
        say(&listed());
        return Ok(());
    }
    // Beside other files, a file that is called as a mechanism is a file too; alone it is `./hybrid`.
    let is_there = |name: &&String| !name.ends_with(".toml") && Path::new(name).exists();
    let paths: Vec<&Path> = args.what.iter().filter(is_there).map(Path::new).collect();
    if args.what.iter().any(|name| is_there(&name) && audit::find(name).is_empty()) {
        return of_deployment(args, &paths);
    }
    let (specs, names): (Vec<String>, Vec<String>) = args.what.iter().cloned().partition(|name| name.ends_with(".toml"));
    if args.false_alarms.is_some() && !specs.is_empty() {
        return Diagnostic::new("`--false-alarms` counts over audits of mechanisms, not of specs")
            .hint("name mechanisms, or leave out the specs")
            .refuse();
    }
    // Every spec and the named mechanisms together get an equal share of the error.
    let groups = specs.len() + usize::from(specs.is_empty() || !names.is_empty());
    let confidence = 1.0 - (1.0 - args.confidence) / groups as f64;
    let settings = Settings { samples: args.samples, seed: args.spec.seed.unwrap_or(1), confidence };
    let cases = if specs.is_empty() || !names.is_empty() { cases(&names)? } else { Vec::new() };
    if let Some(seeds) = args.false_alarms {
        return counted(args, &cases, settings, seeds);
    }
    let sweeps = specs.iter().map(|path| args.spec.read(registry, Path::new(path))).collect::<Result<Vec<Sweep>, Error>>()?;
    let mut findings = metered("claims", |each| audit::audit(&cases, settings, each))?;
    let mut passed_over = Vec::new();
    for (path, sweep) in specs.iter().zip(&sweeps) {
        let whole = Settings { samples: args.samples / 10, ..settings };
        let data = args.spec.data(Path::new(path));
        let runs = metered("cells", |each| audit::of_runs(sweep, &data, &Cpu::default(), whole, each))?;
        findings.extend(runs.findings);
        passed_over.extend(runs.passed_over);
    }
    if args.json {
        let file = AuditFile { confidence: args.confidence, seed: settings.seed, findings: findings.clone(), passed_over };
        say(&serde_json::json!(file).to_string());
    } else {
        say(&table(&findings, &passed_over, args.confidence));
    }
    let refuted: Vec<String> = findings.iter().filter(|found| found.verdict == Verdict::Refuted).map(sentence).collect();
    if refuted.is_empty() {
        return Ok(());
    }
    if findings.iter().all(|found| found.verdict != Verdict::Refuted || found.erratum.is_some()) {
        return Err(Error::CheckSaidNo(format!(
            "{}\nas expected: these are formulas as printed in the papers, which `docs/privacy.md` lists as errata; no other claim is \
             refuted",
            refuted.join("\n")
        )));
    }
    Err(Error::CheckSaidNo(refuted.join("\n")))
}

/// Compares what the files of a deployment state with the exact losses.
fn of_deployment(args: &AuditArgs, paths: &[&Path]) -> Result<(), Error> {
    if let Some(other) = args.what.iter().find(|name| !paths.contains(&Path::new(name))) {
        return Diagnostic::new(format!(
            "`{other}` is named beside the files of a deployment, and no file of that name is there"
        ))
        .expected("files or folders of sessions, release states, odometers and curated tables")
        .hint("audit mechanisms and specs by a command of their own")
        .refuse();
    }
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(crate::deploy::files_in(path)?);
        } else {
            files.push(path.to_path_buf());
        }
    }
    if files.is_empty() {
        return Diagnostic::new("no file there states what it has spent")
            .hint("name the files themselves, or the folder that holds them")
            .refuse();
    }
    let found = crate::deploy::stated_losses(&files, &note)?;
    if args.json {
        say(&serde_json::json!({ "stated": found }).to_string());
    } else {
        let width = found.iter().map(|line| line.name.len()).max().unwrap_or(0);
        let number = |epsilon: Option<f64>| epsilon.map_or("-".to_owned(), short);
        let mut text = format!("{:<width$}  {:>12}  {:>12}  {:>8}  holds  for\n", "statement", "stated", "exact", "delta");
        for StatedLoss { name, change, stated, delta, exact, holds, .. } in &found {
            let (stated, exact, holds) = (number(*stated), number(*exact), if *holds { "yes" } else { "NO" });
            let _ = writeln!(text, "{name:<width$}  {stated:>12}  {exact:>12}  {:>8}  {holds:<5}  {change}", short(*delta));
        }
        say(text.trim_end());
    }
    let false_ones: Vec<String> = found
        .iter()
        .filter(|line| !line.holds)
        .map(|line| {
            let exact = line.exact.map_or("not known to be bounded".to_owned(), |exact| format!("at least {}", short(exact)));
            format!("{}: epsilon {} is stated and is {exact}, for {}", line.name, short(line.stated.unwrap_or(0.0)), line.change)
        })
        .collect();
    if false_ones.is_empty() { Ok(()) } else { Err(Error::CheckSaidNo(false_ones.join("\n"))) }
}

fn cases(names: &[String]) -> Result<Vec<Case>, Error> {
    let mut entries: Vec<&AuditEntry> = if names.is_empty() { AUDITS.iter().collect() } else { Vec::new() };
    for name in names {
        let found = if name == "as-printed" { PRINTED.iter().collect() } else { audit::find(name) };
        if found.is_empty() {
            let all = AUDITS.iter().chain(PRINTED).map(|entry| entry.name).chain(["as-printed"]);
            let near = closest(name, all).map_or(String::new(), |near| format!("did you mean `{near}`? "));
            return Diagnostic::new(format!("nothing named `{name}` is audited"))
                .expected("a mechanism, an erratum or `as-printed`")
                .hint(format!("{near}`privateer audit --list` shows all"))
                .refuse();
        }
        entries.extend(found);
    }
    // A name given twice is one audit.
    let mut known = BTreeSet::new();
    let mut cases = Vec::new();
    for entry in entries {
        cases.extend((entry.cases)()?.into_iter().filter(|case: &Case| known.insert(case.name.clone())));
    }
    Ok(cases)
}

fn listed() -> String {
    let mut text = String::from("mechanisms:\n");
    for entry in AUDITS {
        let _ = writeln!(text, "  {:<32}{}", entry.name, entry.summary);
    }
    text.push_str("printed claims that are false (all: `as-printed`):\n");
    for entry in PRINTED {
        let _ = writeln!(text, "  {:<32}{} ({})", entry.name, entry.summary, entry.erratum.unwrap_or_default());
    }
    text
}

fn counted(args: &AuditArgs, cases: &[Case], settings: Settings, seeds: u64) -> Result<(), Error> {
    let claiming: Vec<&Case> = cases.iter().filter(|case| case.claim.epsilon.is_finite()).collect();
    let counts = metered("claims", |each| {
        let count = |case: &&Case| audit::false_alarms(case, settings, seeds).inspect(|_| each(claiming.len() as u64));
        claiming.iter().map(count).collect::<Result<Vec<FalseAlarms>, Error>>()
    })?;
    if args.json {
        say(&serde_json::json!({ "counts": counts }).to_string());
        return Ok(());
    }
    let width = counts.iter().map(|count| count.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  refuted  of seeds  allowed  reached on average\n", "claim");
    for FalseAlarms { name, seeds, refuted, allowed, mean_reached } in &counts {
        let _ = writeln!(text, "{name:<width$}  {refuted:>7}  {seeds:>8}  {:>7}  {mean_reached:.3}", short(*allowed));
    }
    say(&text);
    Ok(())
}

fn claimed(found: &Finding) -> String {
    match found.epsilon {
        None => "nothing".to_owned(),
        Some(epsilon) if found.delta == 0.0 => short(epsilon),
        Some(epsilon) => format!("{} at {}", short(epsilon), short(found.delta)),
    }
}

fn sentence(found: &Finding) -> String {
    let erratum = found.erratum.as_ref().map(|erratum| format!(" ({erratum})")).unwrap_or_default();
    format!("{}: epsilon {} is claimed and is at least {}{erratum}", found.name, claimed(found), short(found.at_least))
}

fn table(findings: &[Finding], passed_over: &[PassedOver], confidence: f64) -> String {
    let width = findings.iter().map(|found| found.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  {:>14}  {:>8}  {:>7}  {:>8}  verdict\n", "claim", "epsilon", "at least", "reached", "N");
    for found in findings {
        let reached = found.reached().map_or_else(|| "-".to_owned(), |reached| format!("{reached:.3}"));
        let _ = writeln!(
            text,
            "{:<width$}  {:>14}  {:>8.4}  {reached:>7}  {:>8}  {}",
            found.name,
            claimed(found),
            found.at_least,
            found.samples,
            found.verdict
        );
    }
    for PassedOver { name, reason, .. } in passed_over {
        let _ = writeln!(text, "not attacked: {name}: {reason}");
    }
    let n_claims = findings.iter().filter(|found| found.verdict != Verdict::NoClaim).count();
    let _ = write!(
        text,
        "\nclaims attacked: {n_claims}, refuted: {}. A true claim among them is refuted with probability at most {}; an attack that fails \
         proves nothing.",
        findings.iter().filter(|found| found.verdict == Verdict::Refuted).count(),
        short(1.0 - confidence)
    );
    text
}
