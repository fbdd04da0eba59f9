"""Tables of results: columns as NumPy arrays, and ways to other libraries."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import UnknownNameError


@dataclass(frozen=True)
class Category:
    """Texts by number: `texts[codes[i]]` is the text of row i."""

    codes: NDArray[np.int32]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.texts, dtype=object)[self.codes]


class Table(Mapping[str, Any]):
    """Columns of equal length, by name.

    `table["regret"]` is a NumPy array. The table offers the Arrow PyCapsule interface, so `polars.DataFrame(table)`,
    `pyarrow.table(table)` and `duckdb` read it.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Any:
        if name not in self._columns:
            raise UnknownNameError("column", name, list(self._columns))
        column = self._columns[name]
        return np.asarray(column) if isinstance(column, Category) else column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Returns the number of columns; `n_rows` is that of rows."""
        return len(self._columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values()), ()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns the columns as a capsule of the Arrow C stream interface."""
        parts = {name: (column.codes, column.texts) if isinstance(column, Category) else column for name, column in self._columns.items()}
        return _native.arrow_stream(list(parts.items()))

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame`."""
        import pandas as pd

        frame = {
            name: pd.Categorical.from_codes(column.codes, categories=column.texts) if isinstance(column, Category) else column
            for name, column in self._columns.items()
        }
        return pd.DataFrame(frame)

    def to_polars(self) -> Any:
        """Returns a `polars.DataFrame`."""
        import polars as pl

        return pl.DataFrame(self)

    def to_arrow(self) -> Any:
        """Returns a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.table(self)

    def _rows(self, most: int) -> list[list[str]]:
        shown = [np.asarray(column, dtype=object)[:most] for column in self._columns.values()]
        return [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in zip(*shown, strict=True)]

    def __repr__(self) -> str:
        rows = [list(self._columns), *self._rows(20)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        more = [f"… {self.n_rows} rows"] if 20 < self.n_rows else []
        return "\n".join(lines + more)

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self._rows(50))
        more = f"<p>{self.n_rows} rows</p>" if 50 < self.n_rows else ""
        return f"<table><thead>{row(list(self._columns), 'th')}</thead><tbody>{body}</tbody></table>{more}"
