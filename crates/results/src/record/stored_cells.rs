//! Writes the cells of a manifest so that each distinct ledger, set of facts or section of parameters stands there once.
//!
//! `cells` of `manifest.json` is an object: `values` lists the distinct values, and each entry of `list` is a cell, which names
//! its values by their places in `values`.

use super::{CellInfo, Measures};
use privateer_config::facts::{FactValue, Facts};
use privateer_config::params::Scalar;
use privateer_engine::engine::{ByText, CellLedger, CellWarning, Resolved, Role};
use serde::de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{fmt, io};

/// Place in the list of values.
type Index = usize;

#[derive(Serialize, Deserialize)]
struct StoredCell<'a> {
    cell: u32,
    /// Follows from the others; for those who read the file.
    #[serde(skip_deserializing)]
    label: String,
    policy: Cow<'a, str>,
    environment: Cow<'a, str>,
    /// The swept keys, as a list of texts.
    keys: Index,
    swept: Vec<Scalar>,
    resolved: BTreeMap<Cow<'a, str>, Index>,
    ledger: Index,
    facts: Index,
    #[serde(default, skip_serializing_if = "is_listed")]
    role: Cow<'a, Role>,
    #[serde(default)]
    measures: Measures,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warnings: Option<Index>,
}

fn is_listed(role: &Role) -> bool {
    *role == Role::Listed
}

/// Writes cells in the form of this module.
///
/// Cells are made ready twice, for their values and for their lines, and values again as they are written: all of them at once would
/// take more memory than the cells.
pub(super) fn serialize<S: Serializer>(cells: &[CellInfo], serializer: S) -> Result<S::Ok, S::Error> {
    let mut values = StoredValues::default();
    for cell in cells {
        stored(cell, &mut values);
    }
    let mut fields = serializer.serialize_struct("StoredCells", 2)?;
    fields.serialize_field("values", &values)?;
    fields.serialize_field("list", &StoredList(cells, RefCell::new(values)))?;
    fields.end()
}

/// The lines of cells.
struct StoredList<'a>(&'a [CellInfo], RefCell<StoredValues<'a>>);

impl Serialize for StoredList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|cell| stored(cell, &mut self.1.borrow_mut())))
    }
}

fn stored<'a>(cell: &'a CellInfo, values: &mut StoredValues<'a>) -> StoredCell<'a> {
    StoredCell {
        cell: cell.cell,
        label: cell.label(),
        policy: Cow::Borrowed(&cell.policy),
        environment: Cow::Borrowed(&cell.environment),
        keys: values.of_keys(cell.swept.iter().map(|(key, _)| &**key).collect()),
        swept: cell.swept.iter().map(|(_, value)| value.clone()).collect(),
        resolved: cell.resolved.sections().map(|(name, section)| (Cow::Borrowed(name), values.of_shared(section))).collect(),
        ledger: values.of_shared(&cell.ledger),
        facts: values.of_shared(&cell.facts),
        role: Cow::Borrowed(&cell.role),
        measures: cell.measures,
        warnings: (!cell.warnings.is_empty()).then(|| values.of_shared(&cell.warnings)),
    }
}

/// Collects distinct values.
#[derive(Default)]
struct StoredValues<'a> {
    /// What makes each of them.
    list: Vec<Box<dyn Fn() -> Value + 'a>>,
    by_text: ByText<Index>,
    /// Places of the values that cells share in memory, by their addresses: their text is not written again.
    by_address: BTreeMap<usize, Index>,
    /// Keys of the last cell, which the next one mostly shares.
    last_keys: Option<(Vec<&'a str>, Index)>,
}

impl Serialize for StoredValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|make| make()))
    }
}

impl<'a> StoredValues<'a> {
    /// Returns the place of the swept keys of a cell.
    fn of_keys(&mut self, keys: Vec<&'a str>) -> Index {
        if let Some((known, index)) = &self.last_keys
            && *known == keys
        {
            return *index;
        }
        let kept = keys.clone();
        let index = self.of(move || serde_json::json!(kept));
        self.last_keys = Some((keys, index));
        index
    }

    fn of(&mut self, make: impl Fn() -> Value + 'a) -> Index {
        let list = &mut self.list;
        *self.by_text.entry(&make()).or_insert_with(|| {
            list.push(Box::new(make));
            list.len() - 1
        })
    }

    fn of_shared(&mut self, value: &'a Arc<impl Serialize>) -> Index {
        let address = Arc::as_ptr(value).addr();
        if let Some(&known) = self.by_address.get(&address) {
            return known;
        }
        let index = self.of(move || serde_json::json!(value));
        self.by_address.insert(address, index);
        index
    }
}

/// Reads cells in the form of this module; cells share their values.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CellInfo>, D::Error> {
    deserializer.deserialize_map(CellReader::default())
}

/// Largest length of a value that is kept as text, because it can be of several kinds.
const SHORT: usize = 64;

/// Reads cells line by line, as their values stand before them.
#[derive(Default)]
struct CellReader {
    /// The values that no cell has named yet, and short ones: different lists may share these.
    values: Vec<Option<Box<RawValue>>>,
    // Many cells have the same sections, keys, ledgers, facts, warnings and words.
    sections_at: BTreeMap<Index, Arc<FactValue>>,
    keys_at: BTreeMap<Index, Vec<Arc<str>>>,
    ledger_at: BTreeMap<Index, Arc<CellLedger>>,
    facts_at: BTreeMap<Index, Arc<Facts>>,
    warnings_at: BTreeMap<Index, Arc<Vec<CellWarning>>>,
    words: BTreeSet<Arc<str>>,
    no_warnings: Arc<Vec<CellWarning>>,
    /// The swept keys and values of the last cell, which the other policies of its sweep point share.
    last_swept: Arc<[(Arc<str>, Scalar)]>,
}

impl<'de> Visitor<'de> for CellReader {
    type Value = Vec<CellInfo>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`values`, then `list`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut cells = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "values" => self.values = map.next_value()?,
                "list" => cells = map.next_value_seed(&mut self)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(cells)
    }
}

impl<'de> DeserializeSeed<'de> for &mut CellReader {
    type Value = Vec<CellInfo>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut CellReader {
    type Value = Vec<CellInfo>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut cells = Vec::new();
        while let Some(cell) = list.next_element::<StoredCell<'_>>()? {
            cells.push(self.cell(cell)?);
        }
        Ok(cells)
    }
}

impl CellReader {
    fn cell<E: Error>(&mut self, cell: StoredCell<'_>) -> Result<CellInfo, E> {
        let Self { values, sections_at, keys_at, ledger_at, facts_at, warnings_at, words, no_warnings, last_swept } = self;
        let mut at = |index: Index| {
            let value =
                values.get_mut(index).and_then(Option::take).ok_or_else(|| E::custom(format!("there is no value {index}")))?;
            if value.get().len() <= SHORT {
                values[index] = Some(value.clone());
            }
            Ok(value)
        };
        let keys = remembered(keys_at, cell.keys, &mut at)?;
        if keys.len() != cell.swept.len() {
            return Err(E::custom(format!("cell {} has {} of {} swept values", cell.cell, cell.swept.len(), keys.len())));
        }
        if !last_swept.iter().map(|(key, value)| (key, value)).eq(keys.iter().zip(&cell.swept)) {
            *last_swept = keys.iter().cloned().zip(cell.swept).collect();
        }
        let mut word = |text: Cow<'_, str>| match words.get(&*text) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<str> = text.into();
                words.insert(Arc::clone(&new));
                new
            }
        };
        let section = |(name, index)| Ok((name, Arc::clone(remembered(sections_at, index, &mut at)?)));
        Ok(CellInfo {
            cell: cell.cell,
            policy: word(cell.policy),
            environment: word(cell.environment),
            swept: Arc::clone(last_swept),
            resolved: cell.resolved.into_iter().map(section).collect::<Result<Resolved, E>>()?,
            ledger: Arc::clone(remembered(ledger_at, cell.ledger, &mut at)?),
            facts: Arc::clone(remembered(facts_at, cell.facts, &mut at)?),
            role: cell.role.into_owned(),
            measures: cell.measures,
            warnings: match cell.warnings {
                Some(index) => Arc::clone(remembered(warnings_at, index, &mut at)?),
                None => Arc::clone(no_warnings),
            },
        })
    }
}

/// Returns a value as `T`, which is read from JSON once.
fn remembered<'k, T: DeserializeOwned, E: Error>(
    known: &'k mut BTreeMap<Index, T>,
    index: Index,
    at: &mut impl FnMut(Index) -> Result<Box<RawValue>, E>,
) -> Result<&'k T, E> {
    use std::collections::btree_map::Entry;
    match known.entry(index) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(entry) => Ok(entry.insert(serde_json::from_str(at(index)?.get()).map_err(E::custom)?)),
    }
}

/// Writes JSON with a line for each entry of the first levels, and deeper values within their line.
pub(super) struct LinesFormatter<'a> {
    depth: usize,
    pretty: PrettyFormatter<'a>,
}

/// Number of levels that have a line for each entry: a cell has one line.
const N_LEVELS: usize = 3;

impl LinesFormatter<'_> {
    pub(super) fn new() -> Self {
        Self { depth: 0, pretty: PrettyFormatter::new() }
    }
}

/// Forwards methods to the pretty formatter on the first levels, to the compact one below.
macro_rules! by_depth {
    ($($name:ident($($argument:ident: $kind:ty),*) $change:expr;)*) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W, $($argument: $kind),*) -> io::Result<()> {
            let depth = self.depth.saturating_add_signed($change);
            let is_shallow = self.depth.max(depth) <= N_LEVELS;
            self.depth = depth;
            if is_shallow { self.pretty.$name(writer, $($argument),*) } else { CompactFormatter.$name(writer, $($argument),*) }
        }
    )*};
}

impl Formatter for LinesFormatter<'_> {
    by_depth! {
        begin_array() 1;
        end_array() -1;
        begin_array_value(first: bool) 0;
        end_array_value() 0;
        begin_object() 1;
        end_object() -1;
        begin_object_key(first: bool) 0;
        begin_object_value() 0;
        end_object_value() 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Manifest;
    use super::super::manifest::tests::manifest;
    use crate::record::cell_tests::cell;
    use std::fs;
    use std::sync::Arc;

    #[test]
    fn equal_values_stand_once_and_are_shared_on_reading() {
        let folder = tempfile::tempdir().expect("a folder");
        let written = manifest((0..100).map(|i| cell(i, "a", f64::from(1 + i % 2))).collect());
        written.save(folder.path()).expect("saved");
        let text = fs::read_to_string(Manifest::path(folder.path())).expect("text");
        assert_eq!(text.matches("\"mechanism\":\"laplace\"").count(), 2);
        assert_eq!(text.lines().filter(|line| line.starts_with("      {\"cell\":")).count(), 100, "{text}");
        let read = Manifest::load(folder.path()).expect("loaded");
        assert_eq!(read, written);
        assert!(Arc::ptr_eq(&read.cells[1].ledger, &read.cells[99].ledger));
        assert!(Arc::ptr_eq(&read.cells[0].policy, &read.cells[99].policy));
        // The policies of a sweep point share its values.
        let written = manifest(vec![cell(0, "a", 1.0), cell(1, "b", 1.0), cell(2, "a", 2.0)]);
        written.save(folder.path()).expect("saved");
        let swept = Manifest::load(folder.path()).expect("loaded").cells.into_iter().map(|cell| cell.swept).collect::<Vec<_>>();
        assert_eq!([Arc::ptr_eq(&swept[0], &swept[1]), Arc::ptr_eq(&swept[1], &swept[2])], [true, false]);
        // Places that do not exist are refused.
        let (from, to) = ("\"ledger\":2", "\"ledger\":999");
        assert!(text.contains(from), "{text}");
        let error = serde_json::from_str::<Manifest>(&text.replace(from, to)).expect_err("no such value").to_string();
        assert!(error.contains("there is no value 999"), "{error}");
    }
}
