//! The reader of one table: typed getters that check, record and report.

use super::{Count, Extensions, Items, List, Node, Number, Table, Value, is_representable};
use crate::error::{Diagnostic, Error, Place, Sources, Span, suggestion};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Collects the errors of a spec while it is read, so that all are reported at once.
#[derive(Debug, Default)]
pub struct Sink {
    sources: Sources,
    added: Extensions,
    diagnostics: RefCell<Vec<Diagnostic>>,
    /// The rendered errors, by which duplicates are found.
    shown: RefCell<BTreeSet<String>>,
    /// Number of errors beyond [`MOST_KEPT`], which are counted alone.
    more: Cell<usize>,
    /// Source and byte of every key that is unknown: policies that share a table report it once.
    unknown: RefCell<BTreeSet<(usize, usize)>>,
}

/// The numbers that an array may hold; see [`super::is_representable`].
const ANY_NUMBER: &str = "0, or a number of size 1e-50 to 1e50";

/// Number of errors that are kept: a text of a million mistakes needs no million explanations.
const MOST_KEPT: usize = 200;

impl Sink {
    /// Creates an empty sink over the texts that spans point into.
    pub fn new(sources: Sources) -> Self {
        Self { sources, ..Self::default() }
    }

    /// Returns the sink of a program that adds these items to the lists.
    #[must_use]
    pub fn with_added(self, added: Extensions) -> Self {
        Self { added, ..self }
    }

    /// Returns the items that the program adds to the lists.
    pub fn added(&self) -> &Extensions {
        &self.added
    }

    /// Returns the texts.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Adds an error; the same error at the same place is stored once.
    pub fn push(&self, diagnostic: Diagnostic) {
        if self.shown.borrow_mut().insert(diagnostic.to_string()) {
            self.diagnostics.borrow_mut().push(diagnostic);
        }
    }

    /// Adds an error at `span`.
    pub fn push_at(&self, span: Option<&Span>, mut diagnostic: Diagnostic) {
        if let Some(span) = span {
            diagnostic.place = Some(Box::new(self.sources.place(span)));
        }
        self.push(diagnostic);
    }

    /// Counts an error beyond those that are kept; false if there is room for it.
    fn is_full(&self) -> bool {
        let is_full = MOST_KEPT <= self.diagnostics.borrow().len();
        self.more.set(self.more.get() + usize::from(is_full));
        is_full
    }

    /// Returns the number of errors so far.
    pub fn n_mistakes(&self) -> usize {
        self.diagnostics.borrow().len() + self.more.get()
    }

    /// Returns all errors as one, in the order of the text, and empties the sink.
    ///
    /// # Errors
    /// [`Error::Input`] with every error, if there is one.
    pub fn into_result(&self) -> Result<(), Error> {
        let mut all = std::mem::take(&mut *self.diagnostics.borrow_mut());
        self.shown.borrow_mut().clear();
        if all.is_empty() {
            return Ok(());
        }
        all.sort_by_key(|d| d.place.as_ref().map_or((String::new(), usize::MAX, 0), |p| (p.file.clone(), p.line, p.column)));
        // Those that are not kept are counted in the message.
        all.resize(all.len() + self.more.take(), Diagnostic::new(""));
        Err(Error::Input(all))
    }
}

/// The documentation of one key of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyDoc {
    /// Key, with its parents.
    #[serde(rename = "key")]
    pub path: String,
    /// Accepted values.
    pub accepts: String,
    /// Value when absent; `None` if the key is required or has no effect when absent.
    pub default: Option<String>,
    /// Meaning of the key.
    pub doc: &'static str,
}

/// A reader over one table.
///
/// After an error, getters return a placeholder (NaN, 0, the first word). Callers only collect values, and compute nothing from
/// them before [`Sink::into_result`] has confirmed that all are valid.
#[derive(Debug)]
pub struct Args<'a> {
    table: &'a Table,
    path: String,
    sink: &'a Sink,
    seen: RefCell<Vec<KeyDoc>>,
}

/// A table with a `kind` key, or a bare word that stands for `{ kind = word }`.
#[derive(Debug)]
pub struct Variant<'a> {
    /// The kind, one of the known ones.
    pub kind: String,
    /// The other keys.
    pub args: Args<'a>,
}

static EMPTY: Table = Table { entries: Vec::new(), span: None };

/// Says what kind of value a key wants, for hints on a value of another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Number,
    WholeNumber,
    Numbers,
    Texts,
    Other,
}

impl Wanted {
    fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::WholeNumber | Self::Numbers)
    }

    fn is_array(self) -> bool {
        matches!(self, Self::Numbers | Self::Texts)
    }
}

impl<'a> Args<'a> {
    /// Creates a reader of `table`, found at `path` (empty for the top).
    pub fn new(table: &'a Table, path: impl Into<String>, sink: &'a Sink) -> Self {
        Self { table, path: path.into(), sink, seen: RefCell::new(Vec::new()) }
    }

    /// Creates a reader of an empty table, which records the keys that a parser would read.
    pub fn dry(sink: &'a Sink) -> Self {
        Self::new(&EMPTY, "", sink)
    }

    /// Returns the sink for errors.
    pub fn sink(&self) -> &'a Sink {
        self.sink
    }

    /// Returns a list with the items that the program adds to it.
    pub fn items<T: 'static>(&self, list: List<T>) -> Items<'a, T> {
        Items::new(list, &self.sink.added)
    }

    /// Returns the keys read so far, including those of nested tables.
    pub fn documented(&self) -> Vec<KeyDoc> {
        self.seen.borrow().clone()
    }

    /// Returns whether the user wrote this key.
    pub fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Reads a number with a fraction.
    pub fn number(&self, key: &'static str, doc: &'static str) -> Number<'_, 'a> {
        Number::new(self, key, doc)
    }

    /// Reads a count.
    pub fn count(&self, key: &'static str, doc: &'static str) -> Count<'_, 'a> {
        Count::new(self, key, doc)
    }

    /// Reads one of the given words; returns `default` when absent.
    pub fn word(
        &self,
        key: &'static str,
        doc: &'static str,
        options: &[&'static str],
        default: Option<&'static str>,
    ) -> &'static str {
        let expected = one_of(options);
        self.note(key, expected.clone(), default.map(str::to_owned), doc);
        if default.is_none() && !self.has(key) {
            self.missing(key, &expected);
        }
        let found = self.typed(key, Wanted::Other, &expected, Value::as_text);
        let found = found.and_then(|(found, node)| self.known(key, found, node.span.as_ref(), options));
        found.or(default).or(options.first().copied()).unwrap_or("")
    }

    /// Reads one of the given words as the value beside it; as that of the word `default` when absent.
    pub fn choice<T: Copy>(
        &self,
        key: &'static str,
        doc: &'static str,
        options: &[(&'static str, T)],
        default: &'static str,
    ) -> T {
        let words: Vec<&'static str> = options.iter().map(|(word, _)| *word).collect();
        let found = self.word(key, doc, &words, Some(default));
        options[words.iter().position(|word| *word == found).unwrap_or(0)].1
    }

    /// Reads a free text.
    pub fn text(&self, key: &'static str, doc: &'static str) -> Option<String> {
        self.note(key, "a text".to_owned(), None, doc);
        self.typed(key, Wanted::Other, "a text", Value::as_text).map(|(text, _)| text.to_owned())
    }

    /// Reads a name or a label: a text of one line, because tables and lists show it in one.
    pub fn one_line(&self, key: &'static str, doc: &'static str) -> Option<String> {
        let text = self.text(key, doc)?;
        if text.contains(['\n', '\t', '\u{2028}', '\u{2029}']) {
            let shown = text.escape_debug();
            self.reject(
                key,
                format!("`{key}` is `{shown}`, which holds a line break or a tab"),
                "a text of one line, without tabs",
            );
        }
        Some(text)
    }

    /// Reads a required free text.
    pub fn required_text(&self, key: &'static str, doc: &'static str) -> String {
        if !self.has(key) {
            self.missing(key, "a text");
        }
        self.text(key, doc).unwrap_or_default()
    }

    /// Reads `true` or `false`.
    pub fn flag(&self, key: &'static str, doc: &'static str, default: bool) -> bool {
        self.note(key, "true or false".to_owned(), Some(default.to_string()), doc);
        let as_flag = |value: &Value| if let Value::Bool(flag) = value { Some(*flag) } else { None };
        self.typed(key, Wanted::Other, "true or false", as_flag).map_or(default, |(flag, _)| flag)
    }

    /// Reads an array of finite numbers.
    pub fn numbers(&self, key: &'static str, doc: &'static str) -> Option<Vec<f64>> {
        self.note(key, "an array of numbers".to_owned(), None, doc);
        let (items, _) = self.typed(key, Wanted::Numbers, "an array of numbers", Value::as_array)?;
        let mut numbers = Vec::with_capacity(items.len());
        for item in items {
            match item.value.as_f64() {
                Some(x) if is_representable(x) => numbers.push(x),
                Some(_) => self.sink.push_at(
                    item.span.as_ref(),
                    Diagnostic::new(format!("`{}` holds {}", self.join(key), item.value.shown())).expected(ANY_NUMBER),
                ),
                None => self.wrong_type(key, item, Wanted::Number, ANY_NUMBER),
            }
        }
        Some(numbers)
    }

    /// Reads an array of texts.
    pub fn texts(&self, key: &'static str, doc: &'static str) -> Option<Vec<String>> {
        self.note(key, "an array of texts".to_owned(), None, doc);
        let (items, _) = self.typed(key, Wanted::Texts, "an array of texts", Value::as_array)?;
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Value::Text(text) => texts.push(text.clone()),
                _ => self.wrong_type(key, item, Wanted::Other, "a text"),
            }
        }
        Some(texts)
    }

    /// Reads a nested table; an absent table counts as empty.
    pub fn table(&self, key: &'static str) -> Args<'a> {
        self.note(key, "a table".to_owned(), None, "");
        let found = self.typed(key, Wanted::Other, "a table", Value::as_table);
        Args::new(found.map_or(&EMPTY, |(table, _)| table), self.join(key), self.sink)
    }

    /// Reads a nested `{ kind = … }` or bare word.
    ///
    /// `default` is the kind when absent; without a default, an absent key gives `None`.
    pub fn variant(
        &self,
        key: &'static str,
        doc: &'static str,
        kinds: &[&'static str],
        default: Option<&'static str>,
    ) -> Option<Variant<'a>> {
        self.note(key, one_of(kinds), default.map(str::to_owned), doc);
        let bare = |kind: &str| Variant { kind: kind.to_owned(), args: Args::new(&EMPTY, self.join(key), self.sink) };
        let Some(node) = self.table.get(key) else {
            return default.map(bare);
        };
        match &node.value {
            Value::Text(word) => self.known(key, word, node.span.as_ref(), kinds).map(bare),
            Value::Table(table) => {
                let args = Args::new(table, self.join(key), self.sink);
                let kind = args.kind(key, kinds)?;
                Some(Variant { kind, args })
            }
            _ => {
                self.wrong_type(key, node, Wanted::Other, &format!("a table with `kind`, or {}", one_of(kinds)));
                None
            }
        }
    }

    /// Reads as [`Args::variant`] does; an absent key is an error.
    pub fn required_variant(&self, key: &'static str, doc: &'static str, kinds: &[&'static str]) -> Option<Variant<'a>> {
        if !self.has(key) {
            self.note(key, one_of(kinds), None, doc);
            self.missing(key, &format!("a table with `kind` = {}", one_of(kinds)));
            return None;
        }
        self.variant(key, doc, kinds, None)
    }

    /// Reads the item of a list that a nested table names, with its keys; `None` without a table of a known kind.
    pub fn item<T: 'static>(&self, list: List<T>, variant: Option<Variant<'a>>) -> Option<T> {
        let Variant { kind, args } = variant?;
        let item = self.items(list).read(&kind, &args)?;
        args.finish();
        self.absorb(&args);
        Some(item)
    }

    /// Reads the `kind` of this table; `noun` names the thing it describes.
    pub fn kind(&self, noun: &str, kinds: &[&'static str]) -> Option<String> {
        let expected = one_of(kinds);
        self.note("kind", expected.clone(), None, "");
        if !self.has("kind") {
            self.missing("kind", &expected);
        }
        let (kind, node) = self.typed("kind", Wanted::Other, &expected, Value::as_text)?;
        self.known(noun, kind, node.span.as_ref(), kinds).map(str::to_owned)
    }

    /// Documents a key whose value is read elsewhere.
    pub fn documents(&self, key: &str, accepts: &str) {
        self.note(key, accepts.to_owned(), None, "");
    }

    /// Adds the keys that a nested reader documented.
    pub fn absorb(&self, nested: &Args<'_>) {
        let prefix = nested.path.strip_prefix(&self.path).unwrap_or(&nested.path).trim_start_matches('.').to_owned();
        let mut seen = self.seen.borrow_mut();
        for mut doc in nested.documented() {
            if !prefix.is_empty() {
                doc.path = format!("{prefix}.{}", doc.path);
            }
            seen.push(doc);
        }
    }

    /// Reports every unread key as an error; call once, after the last getter.
    pub fn finish(&self) {
        for entry in &self.table.entries {
            self.knows(&entry.key, entry.key_span.as_ref().or(entry.node.span.as_ref()));
        }
    }

    /// Reports `key` as an error if no getter has read it; call after the last getter.
    pub fn knows(&self, key: &str, span: Option<&Span>) {
        let seen = self.seen.borrow();
        let known: Vec<&str> = seen.iter().map(|doc| doc.path.as_str()).filter(|path| !path.contains('.')).collect();
        let is_new = |span: &Span| self.sink.unknown.borrow_mut().insert((span.source, span.range.start));
        if known.contains(&key) || !span.is_none_or(is_new) || self.sink.is_full() {
            return;
        }
        let place = if self.path.is_empty() { "at the top".to_owned() } else { format!("in `{}`", self.path) };
        self.unknown(format!("unknown key `{key}` {place}"), key, span, &known);
    }

    /// Reports an error about a key, at its value if the user wrote it, otherwise at the table.
    pub fn reject(&self, key: &str, message: impl Into<String>, expected: impl Into<String>) {
        self.reject_with_hint(key, message, expected, None);
    }

    /// Reports an error if a name occurs twice in a list.
    pub fn distinct(&self, key: &str, names: &[String]) {
        if let Some(twice) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name)) {
            self.reject(key, format!("`{twice}` is named twice in `{key}`"), "each name once");
        }
    }

    /// Reports as [`Args::reject`] does, with advice.
    pub fn reject_with_hint(&self, key: &str, message: impl Into<String>, expected: impl Into<String>, hint: Option<String>) {
        let mut diagnostic = Diagnostic::new(message).expected(expected);
        diagnostic.hint = hint;
        self.sink.push_at(self.span_of(key), diagnostic);
    }

    /// Reports a missing required key.
    pub fn missing(&self, key: &str, expected: &str) {
        let message = if self.path.is_empty() {
            format!("missing key `{key}` at the top")
        } else {
            format!("missing key `{key}` in `{}`", self.path)
        };
        self.lacking(Diagnostic::new(message).hint(format!("add `{key} = …`: {expected}")));
    }

    /// Reports a missing required table; `header` is its header as written.
    pub fn missing_table(&self, header: &str, expected: &str) {
        self.lacking(Diagnostic::new(format!("there is no `{header}`")).hint(format!("add `{header}` with {expected}")));
    }

    /// Adds an error about the table as a whole, at its header or, for the top, at the file.
    fn lacking(&self, mut diagnostic: Diagnostic) {
        match &self.table.span {
            Some(span) if self.path.is_empty() => {
                diagnostic.place = Some(Box::new(Place::whole(self.sink.sources.place(span).file)));
                self.sink.push(diagnostic);
            }
            span => self.sink.push_at(span.as_ref(), diagnostic),
        }
    }

    pub(super) fn note(&self, key: &str, accepts: String, default: Option<String>, doc: &'static str) {
        let mut seen = self.seen.borrow_mut();
        if !seen.iter().any(|known| known.path == key) {
            seen.push(KeyDoc { path: key.to_owned(), accepts, default, doc });
        }
    }

    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        self.table.get(key)
    }

    /// Returns what `read` takes from the value of a key, with its node; reports a value from which it takes nothing.
    pub(super) fn typed<T>(
        &self,
        key: &str,
        wanted: Wanted,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<(T, &'a Node)> {
        let node = self.table.get(key)?;
        let found = read(&node.value);
        if found.is_none() {
            self.wrong_type(key, node, wanted, expected);
        }
        found.map(|found| (found, node))
    }

    pub(super) fn wrong_type(&self, key: &str, node: &Node, wanted: Wanted, expected: &str) {
        let path = self.join(key);
        let mut diagnostic =
            Diagnostic::new(format!("`{path}` is {}, `{}`", node.value.type_name(), node.value.shown())).expected(expected);
        diagnostic.hint = match &node.value {
            Value::Text(text) if wanted.is_number() && text.trim().parse().is_ok_and(f64::is_finite) => {
                Some("write it without quotes".to_owned())
            }
            Value::Float(x) if wanted == Wanted::WholeNumber && x.fract() == 0.0 && (0.0..1e15).contains(x) => {
                Some(format!("write `{x:.0}`"))
            }
            Value::Array(items) if !wanted.is_array() && !items.is_empty() => {
                Some(format!("to run several values, put `\"{path}\" = {}` below `[sweep.product]`", node.value.shown()))
            }
            _ => None,
        };
        self.sink.push_at(node.span.as_ref(), diagnostic);
    }

    pub(super) fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn span_of(&self, key: &str) -> Option<&'a Span> {
        self.table.get(key).and_then(|node| node.span.as_ref()).or(self.table.span.as_ref())
    }

    /// Returns the option that was found; reports any other word.
    fn known(&self, noun: &str, found: &str, span: Option<&Span>, options: &[&'static str]) -> Option<&'static str> {
        let known = options.iter().copied().find(|&option| option == found);
        if known.is_none() {
            self.unknown(format!("unknown {noun} `{found}`"), found, span, options);
        }
        known
    }

    fn unknown(&self, message: String, found: &str, span: Option<&Span>, options: &[&str]) {
        let mut diagnostic = Diagnostic::new(message).expected(one_of(options));
        diagnostic.hint = suggestion(found, options.iter().copied());
        self.sink.push_at(span, diagnostic);
    }
}

/// Returns "one of `a`, `b`", or "`a`" alone.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        many => format!("one of {}", many.join(", ")),
    }
}
