//! The value tree.

use crate::error::Span;

/// Characters of a text that messages show.
const SHOWN_CHARS: usize = 40;
/// Items of an array that messages show.
const SHOWN_ITEMS: usize = 6;

/// A value and where it was written (`None` for values made by the program).
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub span: Option<Span>,
}

/// What a spec can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a point.
    Float(f64),
    /// A quoted text.
    Text(String),
    /// `[…]`
    Array(Vec<Node>),
    /// `{…}` or `[…]` headers.
    Table(Table),
}

/// Keys in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Where the table starts.
    pub span: Option<Span>,
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Option<Span>,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// A value made by the program.
    #[must_use]
    pub fn bare(value: Value) -> Self {
        Self { value, span: None }
    }
}

impl Value {
    /// The value's type in a user's words.
    #[must_use]
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

    /// The value as it would be written in a spec, for messages.
    #[must_use]
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

    /// The number, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(i) => Some(*i as f64),
            Self::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// The plain TOML value (places dropped).
    #[must_use]
    pub fn to_toml(&self) -> toml::Value {
        match self {
            Self::Bool(b) => toml::Value::Boolean(*b),
            Self::Integer(i) => toml::Value::Integer(*i),
            Self::Float(x) => toml::Value::Float(*x),
            Self::Text(text) => toml::Value::String(text.clone()),
            Self::Array(items) => toml::Value::Array(items.iter().map(|item| item.value.to_toml()).collect()),
            Self::Table(table) => toml::Value::Table(table.to_toml()),
        }
    }
}

impl Table {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value of a key, to change it.
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

    /// The plain TOML table (places dropped, keys sorted).
    #[must_use]
    pub fn to_toml(&self) -> toml::Table {
        self.entries.iter().map(|entry| (entry.key.clone(), entry.node.value.to_toml())).collect()
    }
}
