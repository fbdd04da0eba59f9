//! Names of columns, as an option states them.

use std::iter::Peekable;
use std::str::{Chars, FromStr};

/// Names of columns, separated by commas; a name that holds a comma stands in double quotes, as in CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNames(Vec<String>);

impl ColumnNames {
    /// Returns the names of all occurrences of the option, in order.
    pub fn of_all(stated: &[Self]) -> Vec<String> {
        stated.iter().flat_map(|Self(names)| names).cloned().collect()
    }
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rest = text.chars().peekable();
        let mut names = Vec::new();
        loop {
            while rest.next_if(|c| c.is_whitespace()).is_some() {}
            let name = if rest.next_if_eq(&'"').is_some() { Some(quoted(&mut rest)?) } else { None };
            let after: String = std::iter::from_fn(|| rest.next_if(|&c| c != ',')).collect();
            let after = after.trim();
            if let Some(name) = name.as_ref().filter(|_| !after.is_empty()) {
                return Err(format!("`{after}` follows the closing quote of `{name}`: write a comma between two names"));
            }
            // Headers are read without the space around a name.
            names.push(name.map_or_else(|| after.to_owned(), |name| name.trim().to_owned()));
            if rest.next().is_none() {
                return Ok(Self(names));
            }
        }
    }
}

/// Reads up to the closing quote; a doubled quote is one of the name.
fn quoted(rest: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut name = String::new();
    while let Some(c) = rest.next() {
        if c != '"' {
            name.push(c);
        } else if rest.next_if_eq(&'"').is_some() {
            name.push('"');
        } else {
            return Ok(name);
        }
    }
    Err(format!("the quote before `{name}` is not closed; expected two, as in \"height, cm\",weight"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        for (text, names) in [
            ("a,b", &["a", "b"] as &[&str]),
            (" a , b c ", &["a", "b c"]),
            ("\"height, cm\",weight", &["height, cm", "weight"]),
            ("weight, \"height, cm\" ", &["weight", "height, cm"]),
            ("\"5\"\" disc\",5\" disc", &["5\" disc", "5\" disc"]),
            ("a,,b", &["a", "", "b"]),
            ("", &[""]),
        ] {
            assert_eq!(text.parse::<ColumnNames>().map(|names| names.0), Ok(names.iter().map(|&name| name.to_owned()).collect()));
        }
        assert!("\"a,b".parse::<ColumnNames>().is_err() && "\"a\"b,c".parse::<ColumnNames>().is_err());
    }
}
