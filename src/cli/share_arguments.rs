//! Reads which share of a sweep a command is for.

use crate::engine::UnitList;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use std::path::Path;
use std::str::FromStr;

/// Reads a shard `I/N` or a list of units `a-b,c`.
pub(super) fn share<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|diagnostic: T::Err| diagnostic.to_string().replace("error: ", "").replace('\n', "; "))
}

/// What a file of unit lists is: of a million units in no order some seven megabytes.
const TASKS_FILE: Input<'static> = Input {
    most_bytes: 256 << 20,
    ..Input::small("file of tasks", "a list of units a line, as `privateer plan --write` makes it")
};

/// Reads the units of a task, from 0, from a file of one list a line.
pub(super) fn units_of_task(file: &Path, task: u64) -> Result<UnitList, Error> {
    let text = TASKS_FILE.read_text(file)?;
    let Some(line) = text.lines().nth(usize::try_from(task).unwrap_or(usize::MAX)) else {
        let n_tasks = text.lines().count();
        let problem = Diagnostic::new(format!("`{}` has no task {task}", file.display()));
        let expected = match n_tasks {
            0 => "a file with a list of units a line".to_owned(),
            n => format!("a number from 0 to {}", n - 1),
        };
        return problem.expected(expected).refuse();
    };
    line.parse::<UnitList>().map_err(|_| {
        let shown: String = line.chars().take(40).collect();
        let problem = Diagnostic::new(format!("line {} of `{}` is no list of units: `{shown}`", task + 1, file.display()));
        problem.expected("numbers and ranges, as in `0-9,12`").error()
    })
}
