//! A table of keys with the places of the calls that set them.

use privateer_config::error::{Sources, Span};
use privateer_config::params::{Entry, Node, Table, Value};
use std::panic::Location;

/// A value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Number(f64),
    /// A text or a word.
    Text(String),
    /// Several values.
    List(Vec<SettingValue>),
    /// A table.
    Item(Item),
}

macro_rules! from_types {
    ($($from:ty => |$value:ident| $into:expr;)*) => {
        $(impl From<$from> for SettingValue {
            fn from($value: $from) -> Self {
                $into
            }
        })*
    };
}

from_types! {
    bool => |flag| Self::Flag(flag);
    f64 => |number| Self::Number(number);
    i32 => |whole| Self::Whole(whole.into());
    u32 => |whole| Self::Whole(whole.into());
    i64 => |whole| Self::Whole(whole);
    // A count beyond i64 is out of every key's range, and is said to be.
    u64 => |whole| i64::try_from(whole).map_or(Self::Number(whole as f64), Self::Whole);
    usize => |whole| Self::from(whole as u64);
    &str => |text| Self::Text(text.to_owned());
    String => |text| Self::Text(text);
    Item => |item| Self::Item(item);
}

impl<T: Into<Self>> From<Vec<T>> for SettingValue {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for SettingValue {
    fn from(values: [T; N]) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl SettingValue {
    fn plain(&self) -> Value {
        match self {
            Self::Flag(flag) => Value::Bool(*flag),
            Self::Whole(whole) => Value::Integer(*whole),
            Self::Number(number) => Value::Float(*number),
            Self::Text(text) => Value::Text(text.clone()),
            Self::List(values) => Value::Array(values.iter().map(|value| Node::bare(value.plain())).collect()),
            Self::Item(_) => Value::Table(Table::default()),
        }
    }

    pub(super) fn node(&self, span: &Span, sources: &mut Sources) -> Node {
        let value = match self {
            Self::Item(item) => Value::Table(item.table(span, sources)),
            Self::List(values) => Value::Array(values.iter().map(|value| value.node(span, sources)).collect()),
            plain => plain.plain(),
        };
        Node { value, span: Some(span.clone()) }
    }

    pub(super) fn of_toml(value: &toml::Value, at: &'static Location<'static>) -> Self {
        match value {
            toml::Value::Boolean(flag) => Self::Flag(*flag),
            toml::Value::Integer(whole) => Self::Whole(*whole),
            toml::Value::Float(number) => Self::Number(*number),
            toml::Value::String(text) => Self::Text(text.clone()),
            // Specs have no dates; a reader would refuse the text.
            toml::Value::Datetime(date) => Self::Text(date.to_string()),
            toml::Value::Array(values) => Self::List(values.iter().map(|value| Self::of_toml(value, at)).collect()),
            toml::Value::Table(table) => Self::Item(Item::of_toml(table, at)),
        }
    }
}

/// A table of a spec: `kind` and keys.
///
/// ```
/// # extern crate privateer_engine as privateer;
/// use privateer::Item;
/// let domain = Item::of("grid").set("points", 50).set("dimension", 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    keys: Vec<(String, SettingValue, &'static Location<'static>)>,
    pub(super) at: &'static Location<'static>,
}

impl Item {
    /// Begins a table of this kind.
    #[track_caller]
    pub fn of(kind: &str) -> Self {
        Self::table_of_keys().set("kind", kind)
    }

    /// Begins a table without a kind, as `[privacy]` is.
    #[track_caller]
    pub fn table_of_keys() -> Self {
        Self { keys: Vec::new(), at: Location::caller() }
    }

    /// Sets a key, in place of an earlier value.
    #[must_use]
    #[track_caller]
    pub fn set(mut self, key: &str, value: impl Into<SettingValue>) -> Self {
        let (value, at) = (value.into(), Location::caller());
        match self.keys.iter_mut().find(|(known, ..)| known == key) {
            Some(found) => (found.1, found.2) = (value, at),
            None => self.keys.push((key.to_owned(), value, at)),
        }
        self
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&SettingValue> {
        self.keys.iter().find(|(known, ..)| known == key).map(|(_, value, _)| value)
    }

    pub(super) fn push(&mut self, key: &str, value: SettingValue, at: &'static Location<'static>) {
        match self.keys.iter_mut().find(|(known, ..)| known == key) {
            Some((_, SettingValue::List(values), _)) => values.push(value),
            Some(found) => found.1 = SettingValue::List(vec![value]),
            None => self.keys.push((key.to_owned(), SettingValue::List(vec![value]), at)),
        }
    }

    pub(super) fn of_toml(table: &toml::Table, at: &'static Location<'static>) -> Self {
        Self { keys: table.iter().map(|(key, value)| (key.clone(), SettingValue::of_toml(value, at), at)).collect(), at }
    }

    /// Returns the table with the places of its calls.
    pub(super) fn table(&self, span: &Span, sources: &mut Sources) -> Table {
        let entries = self.keys.iter().map(|(key, value, at)| {
            let shown = value.plain().shown();
            let source = sources.add_call(at.file(), at.line() as usize, format!("{key} = {shown}"));
            let value_span = Span { source, range: key.len() + 3..key.len() + 3 + shown.len() };
            let node = value.node(&value_span, sources);
            Entry { key: key.clone(), key_span: Some(Span { source, range: 0..key.len() }), node }
        });
        Table { entries: entries.collect(), span: Some(span.clone()) }
    }
}

impl From<&str> for Item {
    #[track_caller]
    fn from(kind: &str) -> Self {
        Self::of(kind)
    }
}
