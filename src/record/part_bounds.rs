//! Compares the sizes that a part claims with its length, before the Parquet decoder allocates them.

use super::thrift::{Thrift, read_struct};

/// Longest footer: some 10 000 columns.
const MOST_FOOTER_BYTES: usize = 1 << 22;
/// Longest page header; texts in its statistics are cut at 64 bytes.
const MOST_HEADER_BYTES: usize = 1 << 16;
/// Snappy replaces at most 64 bytes by 3, so an unpacked page is at most this many times as long.
const MOST_UNPACKED: u64 = 22;
/// One measured column holds 8 bytes for each row, which pack into 3/8 of a byte at best.
const MOST_ROWS_PER_BYTE: u64 = 4;

const MAGIC: &[u8] = b"PAR1";

/// Refuses a part whose counts its bytes cannot bear.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn check_bounds(bytes: &[u8]) -> Result<(), String> {
    let not_whole = |why: &str| format!("is not a whole Parquet file ({why})");
    let end = bytes.len().checked_sub(8).filter(|end| 4 <= *end).ok_or_else(|| not_whole("it is shorter than 12 bytes"))?;
    if !bytes.starts_with(MAGIC) || !bytes.ends_with(MAGIC) {
        return Err(not_whole("it does not begin and end with `PAR1`"));
    }
    let length = u32::from_le_bytes([bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3]]) as usize;
    let start = end.checked_sub(length).filter(|start| 4 <= *start && length <= MOST_FOOTER_BYTES);
    let start = start.ok_or_else(|| not_whole("its footer does not fit into the file"))?;
    let (footer, _) = read_struct(&bytes[start..end]).ok_or_else(|| not_whole("its footer cannot be read"))?;

    // The schema is flat: one root and its columns.
    let Some((_, columns)) = footer.list(2).split_first() else {
        return Err("does not have the columns of a part".to_owned());
    };
    if columns.iter().any(|column| column.number(5).is_some_and(|children| 0 < children)) {
        return Err("does not have the columns of a part".to_owned());
    }
    let most_rows = MOST_ROWS_PER_BYTE.saturating_mul(bytes.len() as u64);
    let [group] = footer.list(4) else {
        return Err("does not have one group of rows".to_owned());
    };
    let n_rows = group.number(3).and_then(|n_rows| u64::try_from(n_rows).ok()).filter(|n_rows| *n_rows <= most_rows);
    let n_rows = n_rows.ok_or_else(|| "claims more rows than its bytes can hold".to_owned())?;
    if group.list(1).len() != columns.len() {
        return Err("does not have the columns of a part".to_owned());
    }
    group.list(1).iter().try_for_each(|chunk| check_column(&bytes[..start], chunk, n_rows))
}

/// Checks the pages of one column.
fn check_column(body: &[u8], chunk: &Thrift, n_rows: u64) -> Result<(), String> {
    let place = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok()).filter(|&at| at <= body.len());
    let outside = || "has a column outside of the file".to_owned();
    let metadata = chunk.field(3).ok_or_else(outside)?;
    let length = place(metadata.number(7)).ok_or_else(outside)?;
    let data = place(metadata.number(9)).ok_or_else(outside)?;
    let start = match metadata.number(11) {
        Some(dictionary) if 0 < dictionary => place(Some(dictionary)).ok_or_else(outside)?.min(data),
        _ => data,
    };
    let mut pages = body.get(start..).and_then(|rest| rest.get(..length)).ok_or_else(outside)?;
    let mut n_values = 0_u64;
    while !pages.is_empty() {
        let broken = || "has a page that cannot be read".to_owned();
        let (header, n_bytes) = read_struct(&pages[..pages.len().min(MOST_HEADER_BYTES)]).ok_or_else(broken)?;
        let size = |id| header.number(id).and_then(|size| u64::try_from(size).ok()).ok_or_else(broken);
        let (unpacked, packed) = (size(2)?, size(3)?);
        if MOST_UNPACKED.saturating_mul(packed) + 64 < unpacked {
            return Err("claims more bytes in a page than it can be unpacked to".to_owned());
        }
        // Data pages of both versions count rows; a dictionary holds at least a byte for each of its values.
        let count = |id| header.field(id).and_then(|inner: &Thrift| inner.number(1));
        let (rows, words) = (count(5).or_else(|| count(8)), count(7));
        let in_bounds = |count: Option<i64>, most: u64| count.is_none_or(|count| u64::try_from(count).is_ok_and(|n| n <= most));
        n_values = n_values.saturating_add(rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0));
        if !in_bounds(rows, n_rows) || !in_bounds(words, unpacked) || n_rows < n_values {
            return Err("claims more rows in a page than in the file".to_owned());
        }
        pages = usize::try_from(packed).ok().and_then(|packed| pages.get(n_bytes..)?.get(packed..)).ok_or_else(broken)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::columns::schema;
    use super::super::part::tests::rows;
    use super::super::part::{KEY_BLOCK, KEY_CELL, KEY_ROWS, KEY_SCHEMA, KEY_SPEC};
    use super::super::{PartId, decode_part, part_bytes};
    use super::*;
    use crate::engine::test_cell as cell;
    use parquet::basic::Compression;
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::ByteArray;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use std::sync::Arc;

    fn part() -> Vec<u8> {
        let rows = rows(0..2, 300, |trial, round| f64::from(trial + round));
        part_bytes("spec", PartId { cell: 0, block: 0 }, &cell(0, "a", 1.0), &rows).expect("encoded")
    }

    #[test]
    fn parts_are_within_their_bounds() {
        assert_eq!(check_bounds(&part()), Ok(()));
        // Constant columns and zeros, which pack best.
        for n_rounds in [1, 100, 100_000] {
            let rows = rows(0..1, n_rounds, |_, _| 0.0);
            let bytes = part_bytes("spec", PartId { cell: 0, block: 0 }, &cell(0, "a", 1.0), &rows).expect("encoded");
            assert_eq!(check_bounds(&bytes), Ok(()), "{n_rounds}");
        }
    }

    /// Every byte of the footer and of the first page headers is replaced by bytes that begin large counts.
    #[test]
    fn false_counts_take_no_memory() {
        let whole = part();
        let (header, rows) = decode_part(whole.clone()).expect("a part");
        let footer = whole.len() - 2000.min(whole.len());
        for at in (0..200).chain(footer..whole.len()) {
            for count in [[0xff; 5].as_slice(), &[0xfe, 0xff, 0xff, 0xff, 0x0f], &[0xf8], &[0x7f, 0xff]] {
                let mut altered = whole.clone();
                for (byte, new) in altered[at..].iter_mut().zip(count) {
                    *byte = *new;
                }
                if let Ok(read) = decode_part(altered) {
                    assert_eq!(read.1, rows, "byte {at}");
                    assert_eq!((read.0.cell, read.0.block), (header.cell, header.block));
                }
            }
        }
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
        assert_eq!(decode_part(bytes).expect_err("many rows"), "claims more rows than its bytes can hold");
    }

    /// A page header that claims two gigabytes, spliced into an otherwise sound part.
    #[test]
    fn a_page_of_two_gigabytes_is_refused() {
        let whole = part();
        let (header, n_bytes) = read_struct(&whole[4..]).expect("the first page's header");
        let unpacked = header.number(2).expect("a size");
        let zigzag = |value: i64| {
            let (mut rest, mut bytes) = ((value << 1) as u64, Vec::new());
            while 0x80 <= rest {
                bytes.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
            bytes
        };
        let old = zigzag(unpacked);
        let at = 4 + whole[4..4 + n_bytes].windows(old.len()).skip(2).position(|window| window == old).expect("the size") + 2;
        let mut altered = whole[..at].to_vec();
        altered.extend(zigzag(0x7fff_ffff));
        altered.extend(&whole[at + old.len()..]);
        let problem = check_bounds(&altered).expect_err("two gigabytes");
        assert_eq!(problem, "claims more bytes in a page than it can be unpacked to");
    }
}
