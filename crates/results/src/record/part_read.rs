//! Reads a part, and refuses other files.

use super::columns::part_columns;
use super::hash::hex;
use super::part_id::{KEY_BLOCK, KEY_CELL, KEY_CELLS, KEY_ROWS, KEY_SCHEMA, KEY_SPEC};
use super::{Measures, PartHeader, PartId, SHARED_SCHEMA_VERSION, Trace, disk};
use bytes::Bytes;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use privateer_config::error::Error;
use sha2::{Digest, Sha256};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Reads the rows of each cell of a part, whose listed digest the caller has compared, and checks them against the digest that it
/// carries.
///
/// * `most_rows` — trials times rounds times cells that the specification gives: a forged part takes no memory beyond them
///
/// # Errors
/// [`Error::Io`] where the file cannot be read, [`Error::Corrupt`] where it is cut short, altered, not a part, or of a
/// newer layout.
pub fn read_part(path: &Path, most_rows: u64) -> Result<(PartHeader, Vec<Trace>), Error> {
    let bytes = disk::read(path, "read the part")?;
    decode_part(bytes, most_rows).map_err(|problem| corrupt(path, problem))
}

/// Reads only what a part says about itself; enough to tell a whole part from one cut short.
///
/// # Errors
/// As [`read_part`], but altered rows go unnoticed.
pub fn check_part(path: &Path) -> Result<PartHeader, Error> {
    let bytes = disk::read(path, "read the part")?;
    guarded(|| open(bytes).map(|(_, header, ..)| header)).map_err(|problem| corrupt(path, problem))
}

/// Reads the rows of each cell of a part of at most `most_rows` rows from its bytes.
pub fn decode_part(bytes: Vec<u8>, most_rows: u64) -> Result<(PartHeader, Vec<Trace>), String> {
    guarded(|| {
        let (reader, header, digest, measures) = open(bytes)?;
        let (cells, rows) = rows(&reader, measures, most_rows)?;
        let rows = by_cell(&header, &cells, rows)?;
        if rows_hash(&rows) != digest {
            return Err("is altered: its rows do not match the digest written with them".to_owned());
        }
        Ok((header, rows))
    })
}

fn corrupt(path: &Path, problem: String) -> Error {
    Error::corrupt(path, problem, "delete the file and run the same command again: only this part is computed again")
}

/// The decoder is third-party code fed with bytes of unknown origin: whatever it does ends as one readable problem.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("cannot be decoded".to_owned()))
}

type OpenPart = (SerializedFileReader<Bytes>, PartHeader, String, Measures);

fn open(bytes: Vec<u8>) -> Result<OpenPart, String> {
    let reader =
        SerializedFileReader::new(Bytes::from(bytes)).map_err(|source| format!("is not a whole Parquet file ({source})"))?;
    let metadata = reader.metadata().file_metadata();
    let entries = metadata.key_value_metadata();
    let value = |key: &str| {
        entries
            .and_then(|entries| entries.iter().find(|entry| entry.key == key))
            .and_then(|entry| entry.value.clone())
            .ok_or_else(|| format!("was not written by privateer (no `{key}` in its metadata)"))
    };
    let number = |key: &str| {
        let text = value(key)?;
        text.parse::<u32>().map_err(|_| format!("has `{text}` for `{key}`, not a whole number"))
    };
    let schema_version = number(KEY_SCHEMA)?;
    if SHARED_SCHEMA_VERSION < schema_version {
        return Err(format!(
            "has schema version {schema_version}; this program reads up to {SHARED_SCHEMA_VERSION}: use a newer program"
        ));
    }
    let spec_hash = value(KEY_SPEC)?;
    let n_cells = value(KEY_CELLS).map_or(Ok(1), |_| number(KEY_CELLS))?;
    let header = PartHeader { spec_hash, id: PartId { cell: number(KEY_CELL)?, block: number(KEY_BLOCK)? }, n_cells };
    let columns = metadata.schema_descr().columns();
    let has = |measures: &Measures| {
        part_columns(*measures).iter().enumerate().all(|(at, name)| columns.get(at).is_some_and(|column| column.name() == *name))
    };
    let Some(measures) = Measures::ALL.into_iter().find(has) else {
        return Err("does not have the columns of a part".to_owned());
    };
    let digest = value(KEY_ROWS)?;
    Ok((reader, header, digest, measures))
}

/// Returns the rows, and the cell of each.
fn rows(reader: &SerializedFileReader<Bytes>, measures: Measures, most_rows: u64) -> Result<(Vec<u32>, Trace), String> {
    let groups = reader.metadata().row_groups();
    let claimed = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.num_rows().try_into().unwrap_or(u64::MAX)));
    if most_rows < claimed {
        return Err(format!("claims {claimed} rows, and the specification gives at most {most_rows}"));
    }
    let names = part_columns(measures);
    let (mut cells, mut rows) = (Vec::new(), Trace::new(measures));
    for group_idx in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group_idx).map_err(|source| format!("cannot be decoded ({source})"))?;
        let group = group.as_ref();
        let n_rows = usize::try_from(group.metadata().num_rows()).map_err(|_| "has a negative number of rows".to_owned())?;
        cells.extend(column::<Int32Type>(group, &names, 0, n_rows)?.0.into_iter().map(i32::cast_unsigned));
        rows.trial.extend(column::<Int32Type>(group, &names, 1, n_rows)?.0.into_iter().map(i32::cast_unsigned));
        rows.round.extend(column::<Int32Type>(group, &names, 2, n_rows)?.0.into_iter().map(i32::cast_unsigned));
        let (points, levels) = column::<Int64Type>(group, &names, 3, n_rows)?;
        let mut points = points.into_iter();
        rows.point.extend(levels.into_iter().map(|level| if level == 1 { points.next() } else { None }));
        for (i, values) in rows.measured_mut().iter_mut().enumerate() {
            values.extend(column::<DoubleType>(group, &names, 4 + i, n_rows)?.0);
        }
    }
    if rows.is_rectangular() { Ok((cells, rows)) } else { Err("has columns of unequal length".to_owned()) }
}

/// Returns the rows of each cell; the cells of a part follow each other, each once.
fn by_cell(header: &PartHeader, cells: &[u32], rows: Trace) -> Result<Vec<Trace>, String> {
    let runs: Vec<&[u32]> = cells.chunk_by(|left, right| left == right).collect();
    if runs.len() != header.n_cells as usize {
        return Err(format!("has rows of {} cells in place of {}", runs.len(), header.n_cells));
    }
    let numbers = u64::from(header.id.cell)..;
    if let Some((number, run)) = numbers.zip(&runs).find(|(number, run)| *number != u64::from(run[0])) {
        return Err(format!("has rows of cell {} where cell {number} belongs", run[0]));
    }
    if let [_] = runs.as_slice() {
        return Ok(vec![rows]);
    }
    let mut start = 0;
    let next = |run: &&[u32]| {
        let range = start..start + run.len();
        start = range.end;
        rows.rows(range)
    };
    Ok(runs.iter().map(next).collect())
}

/// Returns values and definition levels of one column of a row group.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    names: &[&str],
    column_idx: usize,
    n_rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>), String> {
    let name = names[column_idx];
    if group.metadata().column(column_idx).column_descr().physical_type() != T::get_physical_type() {
        return Err(format!("has a column `{name}` of another type"));
    }
    let failed = |source| format!("cannot be decoded at column `{name}` ({source})");
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column_idx).map_err(failed)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    // In steps, and one row too many at most: a run of repeated values may claim more rows than there are.
    let (mut read, most) = (0, n_rows + 1);
    while read < most {
        let (records, ..) =
            reader.read_records((most - read).min(1 << 16), Some(&mut levels), None, &mut values).map_err(failed)?;
        if records == 0 {
            break;
        }
        read += records;
    }
    if read == n_rows { Ok((values, levels)) } else { Err(format!("has other than {n_rows} rows in column `{name}`")) }
}

/// Returns SHA-256 over the rows of each cell, column by column, little-endian; an absent point differs from every present one.
pub(super) fn rows_hash(cells: &[Trace]) -> String {
    let mut hasher = Sha256::new();
    cells.iter().for_each(|rows| feed_rows(&mut hasher, rows));
    hex(&hasher.finalize())
}

fn feed_rows(hasher: &mut Sha256, rows: &Trace) {
    let mut buffer = Vec::with_capacity((8 * rows.len()).min(1 << 14));
    let mut feed = |bytes: &mut dyn Iterator<Item = [u8; 8]>| {
        for word in bytes {
            buffer.extend_from_slice(&word);
            if buffer.len() == 1 << 14 {
                hasher.update(&buffer);
                buffer.clear();
            }
        }
        hasher.update(&buffer);
        buffer.clear();
    };
    feed(&mut [rows.len() as u64].into_iter().map(u64::to_le_bytes));
    feed(&mut rows.trial.iter().map(|trial| u64::from(*trial).to_le_bytes()));
    feed(&mut rows.round.iter().map(|round| u64::from(*round).to_le_bytes()));
    feed(&mut rows.point.iter().map(|point| u64::from(point.is_some()).to_le_bytes()));
    feed(&mut rows.point.iter().map(|point| point.unwrap_or(0).to_le_bytes()));
    for values in rows.measured() {
        feed(&mut values.iter().map(|value| value.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::schema;
    use super::super::part::tests::rows as some_rows;
    use super::super::write_part;
    use super::*;
    use crate::record::cell_tests::cell;
    use parquet::basic::Compression;
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::ByteArray;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use std::fs;
    use std::sync::Arc;

    fn part(folder: &Path) -> std::path::PathBuf {
        let id = PartId { cell: 0, block: 0 };
        let rows = some_rows(0..2, 30, |trial, round| f64::from(trial + round));
        write_part(folder, "spec", id, &cell(0, "a", 1.0), &rows).expect("written");
        id.path(folder)
    }

    #[test]
    fn each_cell_stands_once_and_in_order() {
        let header = |n_cells| PartHeader { spec_hash: "spec".to_owned(), id: PartId { cell: 3, block: 0 }, n_cells };
        let rows = some_rows(0..3, 2, |trial, round| f64::from(10 * trial + round));
        let read = by_cell(&header(3), &[3, 3, 4, 5, 5, 5], rows.clone()).expect("sound");
        assert_eq!(read, [rows.rows(0..2), rows.rows(2..3), rows.rows(3..6)]);
        for (cells, n_cells, said) in [
            ([3, 3, 4, 4, 5, 5], 4, "rows of 3 cells in place of 4"),
            ([3, 3, 3, 3, 4, 4], 3, "rows of 2 cells in place of 3"),
            ([3, 3, 4, 4, 3, 3], 3, "rows of cell 3 where cell 5 belongs"),
            ([3, 3, 5, 5, 4, 4], 3, "rows of cell 5 where cell 4 belongs"),
            ([4, 4, 4, 4, 4, 4], 1, "rows of cell 4 where cell 3 belongs"),
        ] {
            let problem = by_cell(&header(n_cells), &cells, rows.clone()).expect_err(said);
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = part(folder.path());
        let whole = fs::read(&path).expect("bytes");
        for kept in [0, 1, 4, 100, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..kept]).expect("cut");
            for error in [read_part(&path, 60).map(|_| ()), check_part(&path).map(|_| ())] {
                assert!(matches!(error, Err(Error::Corrupt { .. })), "{kept} bytes: {error:?}");
            }
        }
    }

    #[test]
    fn altered_bytes_never_pass_as_other_rows() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = part(folder.path());
        let whole = fs::read(&path).expect("bytes");
        let (_, rows) = read_part(&path, 60).expect("whole");
        for at in (0..whole.len()).step_by(7) {
            let mut altered = whole.clone();
            altered[at] ^= 0x15;
            fs::write(&path, &altered).expect("altered");
            if let Ok((_, read)) = read_part(&path, 60) {
                assert_eq!(read, rows, "byte {at}");
            }
        }
    }

    #[test]
    fn junk_and_newer_layouts_say_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = part(folder.path());
        let whole = fs::read(&path).expect("bytes");
        let key = KEY_SCHEMA.as_bytes();
        let at = whole.windows(key.len()).position(|window| window == key).expect("the key") + key.len();
        let digit = at + whole[at..].iter().position(|byte| *byte == b'1').expect("the version");
        let mut newer = whole;
        newer[digit] = b'9';
        fs::write(&path, newer).expect("newer");
        let error = check_part(&path).expect_err("newer").to_string();
        assert!(error.contains("schema version 9"), "{error}");
        fs::write(&path, "not parquet at all").expect("junk");
        let error = check_part(&path).expect_err("junk").to_string();
        assert!(error.contains("is not a whole Parquet file"), "{error}");
    }

    /// Returns a file of a few kilobytes, sound in itself, that unpacks to as many rows as it likes: every column is one run
    /// of one value.
    fn packed_without_bound(n_rows: usize) -> Vec<u8> {
        let info = cell(0, "a", 1.0);
        let pairs = [(KEY_SCHEMA, "1"), (KEY_SPEC, "spec"), (KEY_CELL, "0"), (KEY_BLOCK, "0"), (KEY_ROWS, "0")];
        let pairs = pairs.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(pairs.to_vec()))
            .set_data_page_row_count_limit(usize::MAX)
            .build();
        let schema = Arc::new(schema(&info).expect("a schema"));
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("memory");
        let mut group = writer.next_row_group().expect("memory");
        let n_chunk = 100_000.min(n_rows);
        while let Some(mut column) = group.next_column().expect("memory") {
            for _ in 0..n_rows / n_chunk {
                match column.untyped() {
                    ColumnWriter::Int32ColumnWriter(typed) => drop(typed.write_batch(&vec![1; n_chunk], None, None)),
                    ColumnWriter::Int64ColumnWriter(typed) => {
                        drop(typed.write_batch(&vec![1; n_chunk], Some(&vec![1; n_chunk]), None));
                    }
                    ColumnWriter::DoubleColumnWriter(typed) => drop(typed.write_batch(&vec![1.0; n_chunk], None, None)),
                    ColumnWriter::ByteArrayColumnWriter(typed) => {
                        drop(typed.write_batch(&vec![ByteArray::from("a"); n_chunk], None, None));
                    }
                    _ => unreachable!("parts have no other columns"),
                }
            }
            column.close().expect("memory");
        }
        group.close().expect("memory");
        writer.into_inner().expect("memory")
    }

    #[test]
    fn a_small_part_of_many_rows_is_refused() {
        let bytes = packed_without_bound(1_000_000);
        assert!(bytes.len() < 20_000, "{} bytes", bytes.len());
        let problem = decode_part(bytes, 600).expect_err("many rows");
        assert_eq!(problem, "claims 1000000 rows, and the specification gives at most 600");
    }
}
