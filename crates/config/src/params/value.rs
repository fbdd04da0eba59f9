//! The value tree.

use crate::error::Span;

/// Largest number of characters of a text in a message.
const SHOWN_CHARS: usize = 40;
/// Largest number of items of an array in a message.
const SHOWN_ITEMS: usize = 6;

/// A value and its place in the text (`None` for values made by the program).
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Place in the text.
    pub span: Option<Span>,
}

/// The types of value in a spec.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A number with a decimal point.
    Float(f64),
    /// A quoted text.
    Text(String),
    /// `[…]`
    Array(Vec<Node>),
    /// A `{…}` or `[…]` table.
    Table(Table),
}

/// Keys in the order of the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Place where the table starts.
    pub span: Option<Span>,
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Place of the key.
    pub key_span: Option<Span>,
    /// Value of the key.
    pub node: Node,
}

impl Node {
    /// Creates a node for a value made by the program.
    pub fn bare(value: Value) -> Self {
        Self { value, span: None }
    }
}

impl Value {
    /// Returns the name of the value's type, as shown to the user.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }

    /// Returns the value as written in a spec, for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Bool(b) => b.to_string(),
            Self::Integer(i) => i.to_string(),
            Self::Float(x) => format!("{x:?}"),
            Self::Text(text) if SHOWN_CHARS < text.chars().count() => {
                format!("\"{}…\"", text.chars().take(SHOWN_CHARS).collect::<String>())
            }
            Self::Text(text) => format!("\"{text}\""),
            Self::Array(items) if SHOWN_ITEMS < items.len() => {
                let first: Vec<String> = items.iter().take(SHOWN_ITEMS).map(|item| item.value.shown()).collect();
                format!("[{}, … {} in all]", first.join(", "), items.len())
            }
            Self::Array(items) => {
                format!("[{}]", items.iter().map(|item| item.value.shown()).collect::<Vec<String>>().join(", "))
            }
            Self::Table(_) => "{…}".to_owned(),
        }
    }

    /// Returns the value as a number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(i) => Some(*i as f64),
            Self::Float(x) => Some(*x),
            _ => None,
        }
    }

    pub(super) fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(i) = self { Some(*i) } else { None }
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the items, if it is an array.
    pub fn as_array(&self) -> Option<&[Node]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// Returns the table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }

    /// Returns the plain TOML value, without places.
    pub fn to_toml(&self) -> toml::Value {
        match self {
            Self::Bool(b) => toml::Value::Boolean(*b),
            Self::Integer(i) => toml::Value::Integer(*i),
            // As the words that stand for them: JSON has no such numbers.
            Self::Float(x) if !x.is_finite() => toml::Value::String(x.to_string()),
            Self::Float(x) => toml::Value::Float(*x),
            Self::Text(text) => toml::Value::String(text.clone()),
            Self::Array(items) => toml::Value::Array(items.iter().map(|item| item.value.to_toml()).collect()),
            Self::Table(table) => toml::Value::Table(table.to_toml()),
        }
    }
}

impl Table {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Returns the value of a key for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Sets a key, in place if it exists.
    pub fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.entries.push(Entry { key: key.to_owned(), key_span: node.span.clone(), node }),
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).node)
    }

    /// Returns the plain TOML table, without places and with sorted keys.
    pub fn to_toml(&self) -> toml::Table {
        self.entries.iter().map(|entry| (entry.key.clone(), entry.node.value.to_toml())).collect()
    }
}
