//! Defines the columns of a part: names, types, order.

use super::{CellInfo, Measures};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::Type;
use privateer_config::params::Scalar;
use std::sync::Arc;

/// Names of the columns that every part with these measures has, in order.
pub fn part_columns(measures: Measures) -> Vec<&'static str> {
    let (before, after) = (["cell", "trial", "round", "point"], ["policy", "environment"]);
    before.into_iter().chain(measures.columns().iter().map(|column| column.name())).chain(after).collect()
}

/// Returns the message type of a cell's parts.
pub(super) fn schema(cell: &CellInfo) -> Result<Type> {
    let u32_type = || Some(LogicalType::integer(32, false));
    let names = part_columns(cell.measures);
    let mut fields = Vec::with_capacity(names.len() + cell.swept.len());
    for &name in &names {
        let builder = match name {
            "cell" | "trial" | "round" => Type::primitive_type_builder(name, Physical::INT32).with_logical_type(u32_type()),
            "point" => Type::primitive_type_builder(name, Physical::INT64),
            "policy" | "environment" => text(name),
            _ => Type::primitive_type_builder(name, Physical::DOUBLE),
        };
        let repetition = if name == "point" { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        fields.push(Arc::new(builder.with_repetition(repetition).build()?));
    }
    for (key, value) in cell.swept.iter() {
        let name = column_name(key, &names);
        let builder = match value {
            Scalar::Bool(_) => Type::primitive_type_builder(&name, Physical::BOOLEAN),
            Scalar::Integer(_) => Type::primitive_type_builder(&name, Physical::INT64),
            Scalar::Float(_) => Type::primitive_type_builder(&name, Physical::DOUBLE),
            Scalar::Text(_) => text(&name),
        };
        fields.push(Arc::new(builder.with_repetition(Repetition::REQUIRED).build()?));
    }
    Type::group_type_builder("privateer").with_fields(fields).build()
}

/// Returns a swept key's column: the dotted key, set apart only where a fixed column has that name.
fn column_name(key: &str, fixed: &[&str]) -> String {
    if fixed.contains(&key) { format!("swept.{key}") } else { key.to_owned() }
}

fn text(name: &str) -> parquet::schema::types::PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
}
