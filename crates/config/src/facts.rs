//! Facts on a problem or a policy for manifests and reports: names, each with a flag, a number, a text or a list.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::vec::IntoIter;

/// One name and what it states.
pub type Fact = (&'static str, FactValue);

/// Facts in the order of their names; a later fact of the same name replaces an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Cow<'static, str>, FactValue>", into = "BTreeMap<Cow<'static, str>, FactValue>")]
pub struct Facts(Vec<(Cow<'static, str>, FactValue)>);

/// What a fact states; in files as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FactValue {
    /// A number that is unknown or not finite.
    Missing,
    /// True or false.
    Flag(bool),
    /// A count.
    Whole(u64),
    /// A finite number.
    Number(f64),
    /// Words.
    Text(String),
    /// Several values.
    List(Vec<FactValue>),
}

impl Facts {
    /// States a value under a name.
    pub fn push(&mut self, name: &'static str, value: impl Into<FactValue>) {
        self.extend([(name, value.into())]);
    }

    /// Returns what a name states.
    pub fn get(&self, name: &str) -> Option<&FactValue> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok().map(|at| &self.0[at].1)
    }

    /// Returns names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Cow<'static, str>, &FactValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl FactValue {
    /// Returns the number; `None` for anything else.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(count) => Some(*count as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the words; `None` for anything else.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl IntoIterator for Facts {
    type Item = (Cow<'static, str>, FactValue);
    type IntoIter = IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<N: Into<Cow<'static, str>>> Extend<(N, FactValue)> for Facts {
    fn extend<I: IntoIterator<Item = (N, FactValue)>>(&mut self, facts: I) {
        for (name, value) in facts.into_iter().map(|(name, value)| (name.into(), value)) {
            match self.0.binary_search_by(|(known, _)| known.cmp(&name)) {
                Ok(at) => self.0[at].1 = value,
                Err(at) => self.0.insert(at, (name, value)),
            }
        }
    }
}

impl From<BTreeMap<Cow<'static, str>, FactValue>> for Facts {
    fn from(facts: BTreeMap<Cow<'static, str>, FactValue>) -> Self {
        Self(facts.into_iter().collect())
    }
}

impl From<Facts> for BTreeMap<Cow<'static, str>, FactValue> {
    fn from(facts: Facts) -> Self {
        facts.0.into_iter().collect()
    }
}

impl<N: Into<Cow<'static, str>>> FromIterator<(N, FactValue)> for Facts {
    fn from_iter<I: IntoIterator<Item = (N, FactValue)>>(facts: I) -> Self {
        let mut all = Self::default();
        all.extend(facts);
        all
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
