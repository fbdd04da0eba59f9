//! `privateer slurm`: a sweep as an array job, and a job that joins and reports.

use super::output::{note, quoted, say};
use super::plan::{duration, lists, planned};
use super::source::{SpecArgs, folder_name};
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// Spec file (TOML)
    #[arg(value_name = "SPEC")]
    path: PathBuf,
    #[command(flatten)]
    spec: SpecArgs,
    /// Tasks of the array
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tasks: u32,
    /// Folder on a file system that all nodes share; a new one [default: out/SPEC-NAME]
    #[arg(long, value_name = "DIR", value_parser = super::stores::folder)]
    out: Option<PathBuf>,
    /// Time limit of a task, as Slurm writes it [default: three times the estimate, 10 minutes at least]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Processors of a task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Graphics cards of a task, which then runs with `--backend gpu`
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpus: u32,
    /// Partition
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Submit both jobs with `sbatch`
    #[arg(long)]
    submit: bool,
}

/// Seconds before a time limit at which Slurm warns a task, so that it ends between two rounds and is queued again.
const WARNING: u32 = 60;

/// A text that may stand in a comment line for Slurm.
fn plain(name: &str, text: &str) -> Result<(), Error> {
    let fine = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:./".contains(c));
    if fine {
        return Ok(());
    }
    Diagnostic::new(format!("`--{name} {text}` cannot stand in a job script")).expected("letters, digits and -_:./").refuse()
}

impl SlurmArgs {
    fn out(&self) -> Result<PathBuf, Error> {
        self.out.clone().map_or_else(|| folder_name(&self.path).map(|name| Path::new("out").join(name)), Ok)
    }

    /// Lines for Slurm that both jobs share.
    fn head(&self, name: &str, time: &str) -> String {
        let mut text = format!("#!/bin/sh\n#SBATCH --job-name={name}\n#SBATCH --time={time}\n");
        if let Some(partition) = &self.partition {
            let _ = writeln!(text, "#SBATCH --partition={partition}");
        }
        text
    }

    fn array(&self, out: &str, time: &str, tasks: usize, program: &str, data: &str) -> String {
        let mut text = self.head("privateer", time);
        let _ = write!(
            text,
            "#SBATCH --array=0-{}\n#SBATCH --cpus-per-task={}\n#SBATCH --requeue\n#SBATCH --open-mode=append\n\
             #SBATCH --signal=B:USR1@{WARNING}\n",
            tasks - 1,
            self.cpus
        );
        if 0 < self.gpus {
            let _ = writeln!(text, "#SBATCH --gpus-per-task={}", self.gpus);
        }
        let backend = if 0 < self.gpus { "gpu" } else { "cpu" };
        let _ = write!(
            text,
            r#"#SBATCH --output={out}/log-%a.txt
# One task: its units of the sweep, into a folder of its own. A task whose time ends or whose node dies is queued again and resumes;
# one that is cancelled ends, and what it finished stays.
cd {out} || exit 1
task=$SLURM_ARRAY_TASK_ID
rm -f "exit-$task"
stopped=
trap 'stopped=time; kill -TERM "$run" 2>/dev/null' USR1
trap '[ "$stopped" = time ] || stopped=cancelled; kill -TERM "$run" 2>/dev/null' TERM
{program} run spec.toml {data} --plan tasks.txt --task "$task" --out "task-$task" --threads {cpus} --backend {backend} --quiet &
run=$!
wait "$run"
code=$?
# A signal ends the wait before the program.
while kill -0 "$run" 2>/dev/null; do
    wait "$run"
    code=$?
done
if [ "$stopped" = time ]; then
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$task" && exit 0
fi
echo "$code" > "exit-$task"
exit "$code"
"#,
            cpus = self.cpus,
        );
        text
    }

    fn join(&self, out: &str, program: &str) -> String {
        let mut text = self.head("privateer-merge", "60");
        let _ = write!(
            text,
            r#"#SBATCH --output={out}/log-merge.txt
# All tasks are done: one folder with the bytes of a single run, and its report.
cd {out} || exit 1
exec {program} merge task-* --out all
"#
        );
        text
    }
}

/// Returns whether Slurm reads it as a time: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S.
fn is_time(text: &str) -> bool {
    let (days, rest) = text.split_once('-').map_or((None, text), |(days, rest)| (Some(days), rest));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    days.is_none_or(is_number) && rest.split(':').count() <= 3 && rest.split(':').all(is_number)
}

/// Writes the folder, and prints or submits its two jobs.
pub fn slurm(registry: &Registry, args: &SlurmArgs) -> Result<(), Error> {
    for (name, text) in [("time", &args.time), ("partition", &args.partition)] {
        if let Some(text) = text {
            plain(name, text)?;
        }
    }
    if let Some(time) = args.time.as_deref().filter(|time| !is_time(time)) {
        let problem = Diagnostic::new(format!("`--time` is `{time}`"));
        return problem.expected("a time as Slurm writes it: `90` minutes, `2:30:00`, `1-12` days and hours").refuse();
    }
    let out = args.out()?;
    if out.exists() {
        let hint =
            "name a new folder with `--out DIR`; an array that was stopped is submitted again with the scripts in its folder";
        return Err(Error::folder(out, "exists already", hint));
    }
    let shown = std::path::absolute(&out).map_err(|source| Error::io("find the folder", &out, source))?.display().to_string();
    plain("out", &shown)?;
    let (sweep, plan) = planned(registry, &args.spec, &args.path)?;
    let tasks = plan.deal(args.tasks as usize);
    let longest = tasks.iter().map(|task| task.seconds + plan.preparation).fold(0.0, f64::max) / f64::from(args.cpus);
    let time = args.time.clone().unwrap_or_else(|| format!("{}", (3.0 * longest / 60.0).ceil().max(10.0) as u64));
    std::fs::create_dir_all(&out).map_err(|source| Error::io("create the folder", &out, source))?;
    let program = std::env::current_exe().map_err(|source| Error::io("find this program", &out, source))?;
    let program = quoted(&program.display().to_string());
    let data = args.spec.data_options(&args.path)?.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    for (name, text) in [
        ("spec.toml", sweep.resolved.clone()),
        ("tasks.txt", lists(&tasks)),
        ("array.sh", args.array(&shown, &time, tasks.len(), &program, &data)),
        ("merge.sh", args.join(&shown, &program)),
    ] {
        let path = out.join(name);
        std::fs::write(&path, text).map_err(|source| Error::io("write the job", &path, source))?;
    }
    note(&format!(
        "{} units in {} tasks: about {} of {} each at most",
        plan.units.len(),
        tasks.len(),
        duration(longest),
        if args.cpus == 1 { "one processor".to_owned() } else { format!("{} processors", args.cpus) }
    ));
    if args.submit {
        let array = submitted(&["--parsable", &format!("{shown}/array.sh")])?;
        let merge = submitted(&["--parsable", &format!("--dependency=afterok:{array}"), &format!("{shown}/merge.sh")])?;
        say(&format!("submitted: array job {array}, then {merge}\nwatch: privateer status {shown}"));
    } else {
        say(&format!(
            "job=$(sbatch --parsable {shown}/array.sh)\nsbatch --dependency=afterok:$job {shown}/merge.sh\nprivateer status {shown}"
        ));
    }
    Ok(())
}

/// Runs `sbatch` and returns the number of the job.
fn submitted(words: &[&str]) -> Result<String, Error> {
    let hint = "the scripts are written: submit them by hand, or mend what Slurm says";
    let failed = |problem: String| Error::failed(format!("sbatch: {problem}"), hint);
    let output = Command::new("sbatch").args(words).output().map_err(|source| failed(source.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    // With several clusters the name of one follows.
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.trim().split(';').next().unwrap_or_default().to_owned())
}
