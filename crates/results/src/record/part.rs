//! Writes a part.

use super::columns::schema;
use super::digests::{ListedFile, write_listed};
use super::manifest::PROGRAM_FAULT;
use super::part_id::{KEY_BLOCK, KEY_CELL, KEY_CELLS, KEY_ROWS, KEY_SCHEMA, KEY_SPEC};
use super::part_read::rows_hash;
use super::{CellInfo, Measures, PartId, Quantity, SCHEMA_VERSION, SHARED_SCHEMA_VERSION, Trace};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;
use privateer_config::error::Error;
use privateer_config::params::Scalar;
use std::borrow::Cow;
use std::iter::repeat_n;
use std::path::Path;
use std::slice::from_ref;
use std::sync::Arc;

/// Writes one part of one cell whole and lists its digest. The bytes depend on the arguments alone.
///
/// # Errors
/// [`Error::Io`] where the disk refuses, and those of [`part_bytes`].
pub fn write_part(out: &Path, spec_hash: &str, id: PartId, cell: &CellInfo, rows: &Trace) -> Result<(), Error> {
    let bytes = part_bytes(spec_hash, id, from_ref(cell), from_ref(rows))?;
    write_listed(out, &[ListedFile { name: id.listed_name(), bytes }], "write the part")
}

/// Returns the bytes of one part; they depend on the arguments alone.
///
/// * `cells` — consecutive cells that have the same columns
/// * `rows` — those of each cell
///
/// # Errors
/// [`Error::Corrupt`] where the columns are not equally long or the encoder refuses them.
pub fn part_bytes(spec_hash: &str, id: PartId, cells: &[CellInfo], rows: &[Trace]) -> Result<Vec<u8>, Error> {
    let refused = |problem: String| Error::corrupt(id.listed_name(), problem, PROGRAM_FAULT);
    let (Some(first), true) = (cells.first(), cells.len() == rows.len()) else {
        return Err(refused(format!("cannot be written: it has rows of {} cells in place of {}", rows.len(), cells.len())));
    };
    if let Some(rows) = rows.iter().find(|rows| rows.measures() != first.measures || !rows.is_rectangular()) {
        return Err(refused(format!("cannot be written: its columns are not all {} rows long", rows.len())));
    }
    encode(spec_hash, id, cells, rows).map_err(|source| refused(format!("cannot be written: the encoder says \"{source}\"")))
}

fn encode(spec_hash: &str, id: PartId, cells: &[CellInfo], of_cells: &[Trace]) -> ParquetResult<Vec<u8>> {
    let properties = properties(spec_hash, id, of_cells);
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema(&cells[0])?), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut rows = Cow::Borrowed(&of_cells[0]);
    for more in &of_cells[1..] {
        rows.to_mut().extend(more.clone());
    }

    // u32 travels as the same 32 bits; the schema says that they are unsigned.
    let numbers = (id.cell..).zip(of_cells).flat_map(|(cell, rows)| repeat_n(cell.cast_signed(), rows.len()));
    column::<Int32Type>(&mut group, &numbers.collect::<Vec<i32>>(), None)?;
    let signed = |values: &[u32]| values.iter().map(|value| value.cast_signed()).collect::<Vec<i32>>();
    column::<Int32Type>(&mut group, &signed(&rows.trial), None)?;
    column::<Int32Type>(&mut group, &signed(&rows.round), None)?;

    let points: Vec<i64> = rows.point.iter().copied().flatten().collect();
    let levels: Vec<i16> = rows.point.iter().map(|point| i16::from(point.is_some())).collect();
    column::<Int64Type>(&mut group, &points, Some(&levels))?;

    for values in rows.measured() {
        column::<DoubleType>(&mut group, values, None)?;
    }
    let word = |word: &Arc<str>| Some(ByteArray::from(&**word));
    column::<ByteArrayType>(&mut group, &repeated(cells, of_cells, |cell| word(&cell.policy)), None)?;
    column::<ByteArrayType>(&mut group, &repeated(cells, of_cells, |cell| word(&cell.environment)), None)?;
    for (at, (_, kind)) in cells[0].swept.iter().enumerate() {
        macro_rules! swept {
            ($kind:ident($value:ident) as $column:ty: $stored:expr) => {{
                let value = |cell: &CellInfo| match &cell.swept.get(at)?.1 {
                    Scalar::$kind($value) => Some($stored),
                    _ => None,
                };
                column::<$column>(&mut group, &repeated(cells, of_cells, value), None)?;
            }};
        }
        match kind {
            Scalar::Bool(_) => swept!(Bool(b) as BoolType: *b),
            Scalar::Integer(_) => swept!(Integer(i) as Int64Type: *i),
            Scalar::Float(_) => swept!(Float(x) as DoubleType: *x),
            Scalar::Text(_) => swept!(Text(word) as ByteArrayType: ByteArray::from(word.as_str())),
        }
    }
    group.close()?;
    writer.into_inner()
}

/// Returns the value of each cell, once for each of its rows; cells without one leave the column too short, which the encoder refuses.
fn repeated<T: Clone>(cells: &[CellInfo], of_cells: &[Trace], value: impl Fn(&CellInfo) -> Option<T>) -> Vec<T> {
    let of_cell = |(cell, rows): (&CellInfo, &Trace)| value(cell).map(|value| repeat_n(value, rows.len()));
    cells.iter().zip(of_cells).filter_map(of_cell).flatten().collect()
}

/// Everything that could differ between machines is set here.
fn properties(spec_hash: &str, id: PartId, of_cells: &[Trace]) -> WriterProperties {
    let n_cells = (1 < of_cells.len()).then(|| (KEY_CELLS, of_cells.len().to_string()));
    let version = if n_cells.is_some() { SHARED_SCHEMA_VERSION } else { SCHEMA_VERSION };
    let entries = [
        (KEY_SCHEMA, version.to_string()),
        (KEY_SPEC, spec_hash.to_owned()),
        (KEY_CELL, id.cell.to_string()),
        (KEY_BLOCK, id.block.to_string()),
        (KEY_ROWS, rows_hash(of_cells)),
    ];
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("privateer schema {version}"))
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(
            entries.into_iter().chain(n_cells).map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect(),
        ));
    // Rounds count up and sums never repeat: a dictionary would only grow and be thrown away.
    let sums = match of_cells[0].measures() {
        Measures::Regret | Measures::Contextual => Quantity::CumulativeRegret,
        Measures::Replay => Quantity::Value,
        Measures::Risk => Quantity::Risk,
    };
    for (name, encoding) in [("round", Encoding::DELTA_BINARY_PACKED), (sums.name(), Encoding::PLAIN)] {
        let path = ColumnPath::from(name);
        builder = builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
    }
    builder.build()
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> ParquetResult<()> {
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(values, levels, None)?;
        writer.close()?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::part_read::decode_part;
    use super::super::read_part;
    use super::*;
    use crate::record::cell_tests::cell;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::fs;

    /// Rows of `trials` over rounds 1..=`n_rounds`, regret `slope` per round and trial-dependent `shift`.
    pub(crate) fn rows(trials: std::ops::Range<u32>, n_rounds: u32, cumulative: impl Fn(u32, u32) -> f64) -> Trace {
        let mut rows = Trace::new(Measures::Regret);
        for trial in trials {
            for round in 1..=n_rounds {
                let total = cumulative(trial, round);
                let point = (!round.is_multiple_of(3)).then_some(round as usize);
                let measured = [total / f64::from(round), total, 1.0 / f64::from(round), 0.5 / f64::from(round)];
                rows.push(trial.into(), round.into(), point, measured);
            }
        }
        rows
    }

    #[test]
    fn a_part_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let id = PartId { cell: 2, block: 1 };
        let written = rows(4..7, 50, |trial, round| f64::from(trial * round));
        write_part(folder.path(), "abc", id, &cell(2, "gp-ucb", 0.5), &written).expect("written");
        let (header, read) = read_part(&id.path(folder.path()), u64::MAX).expect("read");
        assert_eq!(read, [written]);
        assert_eq!((header.id, header.spec_hash.as_str()), (id, "abc"));
    }

    #[test]
    fn the_cells_of_a_part_come_back_as_they_were_written() {
        let id = PartId { cell: 6, block: 0 };
        let cells = [cell(6, "gp-ucb", 0.5), cell(7, "gp-ucb", 1.0), cell(8, "uniform", 1.0)];
        // Rounds may differ, and so may the values of swept keys.
        let written = [rows(0..2, 5, |_, round| f64::from(round)), rows(0..2, 3, |_, _| 2.0), rows(0..1, 5, |_, _| f64::NAN)];
        let bytes = part_bytes("abc", id, &cells, &written).expect("encoded");
        let (header, read) = decode_part(bytes.clone(), 21).expect("decoded");
        assert_eq!((header.id, header.n_cells, format!("{read:?}")), (id, 3, format!("{written:?}")));
        assert_eq!(part_bytes("abc", id, &cells, &read).expect("encoded"), bytes);
        assert!(decode_part(bytes, 20).is_err_and(|problem| problem.contains("claims 21 rows")));
        // Columns of two types, other quantities and missing cells are no part.
        let mut other = cells.clone();
        other[1].swept = [("privacy.epsilon".into(), Scalar::Text("1".to_owned()))].into();
        for (cells, rows) in [(&other[..], &written[..]), (&cells[..2], &written), (&cells, &written[..2]), (&[], &[])] {
            assert!(matches!(part_bytes("abc", id, cells, rows), Err(Error::Corrupt { .. })), "{} {}", cells.len(), rows.len());
        }
    }

    #[test]
    fn columns_are_typed_and_named_as_documented() {
        let mut info = cell(0, "a", 1.0);
        info.swept = [
            ("privacy.epsilon".into(), Scalar::Float(0.5)),
            ("environment.domain.dimension".into(), Scalar::Integer(2)),
            ("policy".into(), Scalar::Text("x".into())),
            ("environment.synthetic".into(), Scalar::Bool(true)),
        ]
        .into();
        let bytes = encode("h", PartId { cell: 0, block: 0 }, &[info], &[rows(0..1, 5, |_, _| 1.0)]).expect("encoded");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        fs::write(&path, bytes).expect("written");
        let reader = SerializedFileReader::new(fs::File::open(&path).expect("open")).expect("read");
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns: Vec<String> = schema.columns().iter().map(|c| format!("{} {}", c.name(), c.physical_type())).collect();
        assert_eq!(
            columns.join(", "),
            "cell INT32, trial INT32, round INT32, point INT64, regret DOUBLE, cumulative_regret DOUBLE, \
             simple_regret DOUBLE, recommended_regret DOUBLE, policy BYTE_ARRAY, environment BYTE_ARRAY, \
             privacy.epsilon DOUBLE, environment.domain.dimension INT64, swept.policy BYTE_ARRAY, \
             environment.synthetic BOOLEAN"
        );
    }

    #[test]
    fn ragged_columns_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ragged = rows(0..1, 5, |_, _| 1.0);
        ragged[Quantity::Regret].pop();
        let error =
            write_part(folder.path(), "h", PartId { cell: 0, block: 0 }, &cell(0, "a", 1.0), &ragged).expect_err("ragged");
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}
