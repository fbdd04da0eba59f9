//! Digests that tell an altered row, and typed facts as rows of names and values.

use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value as Json};
use sha2::{Digest, Sha256};

pub const N_BYTES: usize = 16;
/// A digest: the first bytes of a SHA-256.
pub type Seal = [u8; N_BYTES];

/// Returns the digest of values, in their order and with their types.
pub fn seal<'a>(seed: &[&[u8]], values: impl IntoIterator<Item = ValueRef<'a>>) -> Seal {
    let mut hash = Sha256::new();
    let mut add = |kind: u8, bytes: &[u8]| {
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    seed.iter().for_each(|seed| add(b's', seed));
    for value in values {
        match value {
            ValueRef::Null => add(b'n', &[]),
            ValueRef::Integer(number) => add(b'i', &number.to_le_bytes()),
            ValueRef::Real(number) => add(b'r', &number.to_bits().to_le_bytes()),
            ValueRef::Text(text) => add(b't', text),
            ValueRef::Blob(bytes) => add(b'b', bytes),
        }
    }
    let whole = hash.finalize();
    std::array::from_fn(|at| whole[at])
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Returns the digest of a row: of its values but the last.
pub(super) fn row_seal(row: &Row<'_>, table: &str, seed: &str) -> rusqlite::Result<Seal> {
    let n = row.as_ref().column_count() - 1;
    let values = (0..n).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(seal(&[table.as_bytes(), seed.as_bytes()], values))
}

/// Whether a row fits the digest at its end.
pub(super) fn is_sealed(row: &Row<'_>, table: &str, seed: &str) -> rusqlite::Result<bool> {
    let last = row.get_ref(row.as_ref().column_count() - 1)?;
    Ok(matches!(last, ValueRef::Blob(bytes) if bytes == row_seal(row, table, seed)?))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of a text of hexadecimal digits; `None` if it is none of this length.
pub fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Returns plain data as names and values, one for each number or text: `clip.0` and `clip.1` for a pair.
///
/// A name ends with `?` for a truth value, with `[]` or `{}` for what is empty.
pub fn terms(data: &impl Serialize) -> Result<Vec<(String, Value)>, serde_json::Error> {
    let mut found = Vec::new();
    flatten("", &serde_json::to_value(data)?, &mut found);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn flatten(name: &str, data: &Json, found: &mut Vec<(String, Value)>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match data {
        Json::Null => found.push((name.to_owned(), Value::Null)),
        Json::Bool(truth) => found.push((format!("{name}?"), Value::Integer(i64::from(*truth)))),
        Json::Number(number) => found.push((
            name.to_owned(),
            number.as_i64().map_or_else(|| Value::Real(number.as_f64().unwrap_or(f64::NAN)), Value::Integer),
        )),
        Json::String(text) => found.push((name.to_owned(), Value::Text(text.clone()))),
        Json::Array(items) if items.is_empty() => found.push((format!("{name}[]"), Value::Null)),
        // Numbers of six digits stay in their order.
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| flatten(&below(&format!("{at:06}")), item, found));
        }
        Json::Object(members) if members.is_empty() => found.push((format!("{name}{{}}"), Value::Null)),
        Json::Object(members) => members.iter().for_each(|(key, member)| flatten(&below(key), member, found)),
    }
}

/// Returns the data that [`terms`] made names and values of.
pub fn of_terms<T: DeserializeOwned>(terms: &[(String, Value)]) -> Result<T, serde_json::Error> {
    let mut whole = Json::Null;
    for (name, value) in terms {
        let (path, leaf) = match (name.strip_suffix('?'), name.strip_suffix("[]"), name.strip_suffix("{}"), value) {
            (Some(path), _, _, Value::Integer(truth)) => (path, Json::Bool(*truth != 0)),
            (_, Some(path), _, _) => (path, Json::Array(Vec::new())),
            (_, _, Some(path), _) => (path, Json::Object(Map::new())),
            (_, _, _, Value::Integer(number)) => (name.as_str(), Json::from(*number)),
            (_, _, _, Value::Real(number)) => (name.as_str(), Number::from_f64(*number).map_or(Json::Null, Json::Number)),
            (_, _, _, Value::Text(text)) => (name.as_str(), Json::from(text.as_str())),
            (_, _, _, Value::Null | Value::Blob(_)) => (name.as_str(), Json::Null),
        };
        *place(&mut whole, path) = leaf;
    }
    serde_json::from_value(whole)
}

/// Returns the place of a path, which is made where it is missing.
fn place<'a>(whole: &'a mut Json, path: &str) -> &'a mut Json {
    path.split('.').filter(|key| !key.is_empty()).fold(whole, |at, key| {
        if key.len() == 6 && key.bytes().all(|digit| digit.is_ascii_digit()) {
            if !at.is_array() {
                *at = Json::Array(Vec::new());
            }
            if let Json::Array(items) = at {
                // Terms are sorted: the next place is at most one further.
                let index = key.parse::<usize>().unwrap_or(0).min(items.len());
                if index == items.len() {
                    items.push(Json::Null);
                }
                return &mut items[index];
            }
        }
        if !at.is_object() {
            *at = Json::Object(Map::new());
        }
        &mut at[key]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_privacy::accounting::Loss;
    use privateer_privacy::odometer::{InputSpace, InputsLoss, LossByDistance, ReleaseLoss};

    #[test]
    fn data_and_their_terms_are_the_same() {
        let space = InputSpace::new(&["a.b".to_owned(), "c?".to_owned(), "000001".to_owned()], &[1.0, 2.5, 1e-300]);
        for loss in [
            ReleaseLoss::Value {
                column: "y".to_owned(),
                loss: Loss::Mixture { response: 1.0, epsilon: 0.1, kept: 0.5, share: 0.25 },
                width: None,
            },
            ReleaseLoss::Inputs(InputsLoss {
                space,
                radius: 0.1,
                bound: 3.0,
                by_distance: LossByDistance::Gaussian { sigma: 1.0, stretch: 1.0, rounding: 0.1 + 0.2 },
            }),
            ReleaseLoss::Record { loss: Loss::Unbounded },
        ] {
            let terms = terms(&loss).expect("terms");
            assert_eq!(of_terms::<ReleaseLoss>(&terms).expect("a loss"), loss);
        }
        let data =
            serde_json::json!({"a": [], "b": {}, "c": [true, null, [1, 2.0]], "d": "", "e": (0..1200).collect::<Vec<_>>()});
        assert_eq!(of_terms::<Json>(&terms(&data).expect("terms")).expect("data"), data);
    }

    #[test]
    fn digests_depend_on_every_value_and_its_type() {
        let of = |values: &[Value]| seal(&[b"x"], values.iter().map(ValueRef::from));
        let all = [
            vec![Value::Null],
            vec![Value::Integer(1)],
            vec![Value::Real(1.0)],
            vec![Value::Text("1".to_owned())],
            vec![Value::Blob(b"1".to_vec())],
            vec![Value::Text("1".to_owned()), Value::Text(String::new())],
            vec![Value::Text(String::new()), Value::Text("1".to_owned())],
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| of(other) != of(one)), "{one:?}");
        }
        assert_eq!(bytes::<16>(&hex(&of(&all[0]))), Some(of(&all[0])));
        assert_eq!((bytes::<2>("abc"), bytes::<2>("ab0x"), bytes::<1>("é")), (None, None, None));
    }
}
