//! Chooses columns of a file by their names.

use privateer_config::error::{Diagnostic, Error, closest};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of wrong names that are explained.
const MOST_MISTAKES: usize = 20;

pub(super) fn choose(
    file: &str,
    names: &[String],
    named: bool,
    wanted: Option<&[String]>,
    except: &[String],
) -> Result<Vec<usize>, Error> {
    let Some(wanted) = wanted else {
        let out = if except.is_empty() { Vec::new() } else { choose(file, names, named, Some(except), &[])? };
        let out = BTreeSet::from_iter(out);
        return Ok((0..names.len()).filter(|at| !out.contains(at)).collect());
    };
    let known = if named {
        format!("one of {}", listed(names))
    } else {
        format!("a number from 1 to {}: the file has no header", names.len())
    };
    let (mut kept, mut mistakes) = (Vec::new(), Vec::new());
    if wanted.is_empty() {
        mistakes.push(Diagnostic::new(format!("no columns of `{file}` are chosen")).expected(known.clone()));
    }
    let mut places: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        places.entry(name).and_modify(|(_, is_twice)| *is_twice = true).or_insert((at, false));
    }
    for name in wanted {
        if MOST_MISTAKES <= mistakes.len() {
            break;
        }
        match places.get(name.as_str()) {
            Some(&(at, false)) => kept.push(at),
            Some((_, true)) => mistakes.push(
                Diagnostic::new(format!("`{file}` has more than one column `{name}`")).hint("rename one of them in the header"),
            ),
            None => {
                let mut diagnostic = Diagnostic::new(format!("`{file}` has no column `{name}`")).expected(known.clone());
                // A name with a comma that was taken for two names.
                let whole =
                    names.iter().find(|known| known.contains(',') && known.split(',').any(|part| part.trim() == name.trim()));
                diagnostic.hint = match whole {
                    Some(whole) => {
                        Some(format!("did you mean the one column \"{whole}\"? In a list, write its name in double quotes"))
                    }
                    None => closest(name, names.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?")),
                };
                mistakes.push(diagnostic);
            }
        }
    }
    if mistakes.is_empty() { Ok(kept) } else { Err(Error::Input(mistakes)) }
}

/// Lists at most a dozen names.
pub(in crate::env) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(12);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}
