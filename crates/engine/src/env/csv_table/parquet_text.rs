//! Writes the columns of a Parquet file as CSV text, so that one reader serves both.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use std::path::Path;

/// Returns the rows as CSV with a header; a missing value is an empty field.
#[cfg(feature = "parquet")]
pub(super) fn parquet_text(path: &Path, bytes: Vec<u8>, input: Input<'_>) -> Result<String, Error> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let damaged = |why: String| {
        let message = format!("the Parquet file `{}` is damaged: {why}", path.display());
        Diagnostic::new(message).hint("write the file again").error()
    };
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(|error| damaged(error.to_string()))?;
    let schema = reader.metadata().file_metadata().schema().get_fields();
    if let Some(group) = schema.iter().find(|field| field.is_group()) {
        let message = format!("column `{}` of `{}` holds lists or groups", group.name(), path.display());
        return Diagnostic::new(message).expected("columns of numbers, texts, truths and times").refuse();
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let told = |error: csv::Error| damaged(error.to_string());
    writer.write_record(schema.iter().map(|field| field.name())).map_err(told)?;
    for row in reader.get_row_iter(None).map_err(|error| damaged(error.to_string()))? {
        let row = row.map_err(|error| damaged(error.to_string()))?;
        let cell = |field: &Field| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(x) => format!("{x:?}"),
            Field::Float(x) => format!("{x:?}"),
            other => other.to_string(),
        };
        writer.write_record(row.get_column_iter().map(|(_, field)| cell(field))).map_err(told)?;
        // Runs of equal values take next to nothing while they are packed.
        if input.most_bytes < writer.get_ref().len() as u64 {
            return Err(Input { what: "unpacked data file", ..input }.too_large(path));
        }
    }
    let text = writer.into_inner().map_err(|error| damaged(error.to_string()))?;
    String::from_utf8(text).map_err(|_| damaged("a text is not UTF-8".to_owned()))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn parquet_text(path: &Path, _bytes: Vec<u8>, _input: Input<'_>) -> Result<String, Error> {
    let message = format!("`{}` is a Parquet file", path.display());
    Diagnostic::new(message).expected("CSV text").hint("build with the feature `parquet`, or export it as CSV").refuse()
}
