//! Facts on a problem or a policy for manifests and reports: names, each with a flag, a number, a text, a list or a table.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::ops::Index;

/// One name and what it states.
pub type Fact = (&'static str, FactValue);

/// Facts in the order of their names; a later fact of the same name replaces an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(BTreeMap<Cow<'static, str>, FactValue>);

/// What a fact or a parameter states; in files as JSON has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FactValue {
    /// Nothing, or a number that is unknown or not finite.
    #[default]
    Missing,
    /// True or false.
    Flag(bool),
    /// A count.
    Whole(u64),
    /// A whole number below 0.
    Negative(i64),
    /// A finite number.
    Number(f64),
    /// Words.
    Text(String),
    /// Several values.
    List(Vec<FactValue>),
    /// Values by their names.
    Table(BTreeMap<String, FactValue>),
}

impl Facts {
    /// States a value under a name.
    pub fn push(&mut self, name: &'static str, value: impl Into<FactValue>) {
        self.0.insert(name.into(), value.into());
    }

    /// Returns what a name states.
    pub fn get(&self, name: &str) -> Option<&FactValue> {
        self.0.get(name)
    }

    /// Returns names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Cow<'static, str>, &FactValue)> {
        self.0.iter()
    }
}

impl FactValue {
    /// Returns data as they are written.
    ///
    /// # Panics
    /// For a type that JSON cannot hold: one with names that are not text. No type of this program is one.
    pub fn of(data: &impl Serialize) -> Self {
        serde_json::to_value(data).and_then(serde_json::from_value).expect("plain data are JSON")
    }

    /// Returns the data that are written so.
    ///
    /// # Errors
    /// If they are not of this type.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::to_value(self).and_then(serde_json::from_value)
    }

    /// Returns the value of a name; `None` without one.
    pub fn get(&self, name: &str) -> Option<&Self> {
        if let Self::Table(members) = self { members.get(name) } else { None }
    }

    /// Returns the number; `None` for anything else.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(count) => Some(*count as f64),
            Self::Negative(whole) => Some(*whole as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the words; `None` for anything else.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Index<&str> for FactValue {
    type Output = Self;

    /// Returns the value of a name; [`FactValue::Missing`] if no member has it.
    fn index(&self, name: &str) -> &Self {
        self.get(name).unwrap_or(&Self::Missing)
    }
}

/// Writes the value as compact JSON, with the names of a table in order.
impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl IntoIterator for Facts {
    type Item = (Cow<'static, str>, FactValue);
    type IntoIter = btree_map::IntoIter<Cow<'static, str>, FactValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<N: Into<Cow<'static, str>>> Extend<(N, FactValue)> for Facts {
    fn extend<I: IntoIterator<Item = (N, FactValue)>>(&mut self, facts: I) {
        self.0.extend(facts.into_iter().map(|(name, value)| (name.into(), value)));
    }
}

impl<N: Into<Cow<'static, str>>> FromIterator<(N, FactValue)> for Facts {
    fn from_iter<I: IntoIterator<Item = (N, FactValue)>>(facts: I) -> Self {
        Self(facts.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl<const N: usize> From<[Fact; N]> for Facts {
    fn from(facts: [Fact; N]) -> Self {
        facts.into_iter().collect()
    }
}

macro_rules! stated {
    ($($from:ty => $to:expr;)*) => {$(
        impl From<$from> for FactValue {
            fn from(value: $from) -> Self {
                ($to)(value)
            }
        }
    )*};
}

stated! {
    bool => Self::Flag;
    u64 => Self::Whole;
    u32 => |count| Self::Whole(u64::from(count));
    usize => |count| Self::Whole(count as u64);
    f64 => |number: f64| if number.is_finite() { Self::Number(number) } else { Self::Missing };
    &str => |text: &str| Self::Text(text.to_owned());
    String => Self::Text;
}

impl<T: Into<Self>> From<Option<T>> for FactValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for FactValue {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}
