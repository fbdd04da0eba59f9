//! Tables through the Arrow PyCapsule interface, which pandas, polars, pyarrow and duckdb read.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// One column: an array, texts, or texts by number.
#[derive(FromPyObject)]
enum Column<'py> {
    Unsigned(PyReadonlyArray1<'py, u32>),
    Integer(PyReadonlyArray1<'py, i64>),
    Number(PyReadonlyArray1<'py, f64>),
    Flag(PyReadonlyArray1<'py, bool>),
    Category(PyReadonlyArray1<'py, i32>, Vec<String>),
    Text(Vec<Option<String>>),
}

impl Column<'_> {
    fn array(self) -> PyResult<ArrayRef> {
        Ok(match self {
            Self::Unsigned(values) => Arc::new(UInt32Array::from(values.as_array().to_vec())),
            Self::Integer(values) => Arc::new(Int64Array::from(values.as_array().to_vec())),
            Self::Number(values) => Arc::new(Float64Array::from(values.as_array().to_vec())),
            Self::Flag(values) => Arc::new(BooleanArray::from(values.as_array().to_vec())),
            Self::Category(codes, texts) => {
                let (codes, texts) = (Int32Array::from(codes.as_array().to_vec()), StringArray::from(texts));
                let array = DictionaryArray::try_new(codes, Arc::new(texts));
                Arc::new(array.map_err(|error| PyValueError::new_err(error.to_string()))?)
            }
            Self::Text(texts) => Arc::new(StringArray::from(texts)),
        })
    }
}

/// Returns a capsule `arrow_array_stream` of one batch with these columns, of equal length.
#[pyfunction]
pub fn arrow_stream<'py>(py: Python<'py>, columns: Vec<(String, Bound<'py, PyAny>)>) -> PyResult<Bound<'py, PyCapsule>> {
    let array = |(name, values): (String, Bound<'py, PyAny>)| {
        let column = values.extract::<Column<'py>>();
        let column = column.map_err(|_| PyTypeError::new_err(format!("column `{name}` has a type that is not supported")))?;
        Ok((name, column.array()?))
    };
    let arrays = columns.into_iter().map(array).collect::<PyResult<Vec<(String, ArrayRef)>>>()?;
    let batch = RecordBatch::try_from_iter(arrays).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = batch.schema();
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
}
