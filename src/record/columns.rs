//! The columns of a part: names, types, order.

use super::CellInfo;
use crate::params::Scalar;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::Type;
use std::sync::Arc;

/// Names of the columns that every part has, in order.
pub(super) const FIXED: [&str; 10] = [
    "cell",
    "trial",
    "round",
    "point",
    "regret",
    "cumulative_regret",
    "simple_regret",
    "recommended_regret",
    "policy",
    "environment",
];

/// The column that parts of contextual runs have after the fixed ones.
pub(super) const BEST_SHARE: &str = "best_arm_share";

/// The message type of a cell's parts; `contextual` ones have [`BEST_SHARE`].
///
/// # Errors
/// Parquet's own, should it refuse a name.
pub(super) fn schema(cell: &CellInfo, contextual: bool) -> Result<Type> {
    let u32_type = || Some(LogicalType::integer(32, false));
    let mut fields = Vec::with_capacity(FIXED.len() + cell.swept.len());
    for name in FIXED {
        let builder = match name {
            "cell" | "trial" | "round" => Type::primitive_type_builder(name, Physical::INT32).with_logical_type(u32_type()),
            "point" => Type::primitive_type_builder(name, Physical::INT64),
            "policy" | "environment" => text(name),
            _ => Type::primitive_type_builder(name, Physical::DOUBLE),
        };
        let repetition = if name == "point" { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        fields.push(Arc::new(builder.with_repetition(repetition).build()?));
    }
    if contextual {
        let builder = Type::primitive_type_builder(BEST_SHARE, Physical::DOUBLE);
        fields.push(Arc::new(builder.with_repetition(Repetition::REQUIRED).build()?));
    }
    for (key, value) in &cell.swept {
        let name = column_name(key);
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

/// A swept key's column: the dotted key, set apart only where a fixed column has that name.
pub(super) fn column_name(key: &str) -> String {
    if FIXED.contains(&key) || key == BEST_SHARE { format!("swept.{key}") } else { key.to_owned() }
}

fn text(name: &str) -> parquet::schema::types::PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
}
