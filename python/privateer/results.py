"""Results of runs."""

import csv
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import FolderError, SpecError, UnknownNameError
from .table import Category, Table


@dataclass(frozen=True)
class Difference:
    """A paired comparison of two cells: first minus second, trial by trial.

    Both cells have the same functions and the same observation noise in each trial, so their common luck cancels.
    """

    first: str
    second: str
    quantity: str
    trials: int
    mean: float
    """Mean difference, in the unit of the quantity."""
    se: float
    """Standard error of the mean."""
    low: float
    """Lower end of the 95 % Student-t interval."""
    high: float
    """Upper end of the 95 % Student-t interval."""

    def __str__(self) -> str:
        return f"{self.first} minus {self.second}: {self.mean:.4g} [{self.low:.4g}, {self.high:.4g}] of {self.quantity}, {self.trials} trials"


class Results:
    """The results of a run, in its folder.

    Parameters
    ----------
    folder
        A results folder, of `run` or of the command line.
    """

    def __init__(self, folder: "str | os.PathLike[str]", temporary: "tempfile.TemporaryDirectory[str] | None" = None) -> None:
        self.folder = Path(folder)
        self._temporary = temporary
        self._manifest: dict[str, Any] = json.loads(_native.manifest(self.folder))

    def __reduce__(self) -> Any:
        if self._temporary is not None:
            raise TypeError("these results are in a temporary folder\nhint: run with `out=...`, then they can be pickled")
        return Results, (self.folder,)

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells in canonical order: label, policy, swept keys, ledger, facts."""
        return self._manifest["cells"]

    @property
    def labels(self) -> list[str]:
        """Labels of the cells."""
        return [cell["label"] for cell in self.cells]

    @cached_property
    def rows(self) -> Table:
        """The recorded rows: one for each recorded round of each trial of each cell.

        `regret` is that of the round and `cumulative_regret` the sum so far, in the environment's unit; `round` counts from 1,
        `trial` from 0. `point` is -1 where the domain has no numbered points.
        """
        columns: dict[str, Any] = _native.rows(self.folder)
        codes = columns["cell"].astype(np.int32)
        for name in ("policy", "environment"):
            columns[name] = category(codes, [str(cell[name]) for cell in self.cells])
        for at, (key, _) in enumerate(self.cells[0]["swept"] if self.cells else []):
            values = [scalar(cell["swept"][at][1]) for cell in self.cells]
            name = f"swept.{key}" if key in columns else key
            columns[name] = category(codes, values) if isinstance(values[0], str) else np.array(values)[codes]
        return Table(columns)

    def to_pandas(self) -> Any:
        """Returns the recorded rows as a `pandas.DataFrame`."""
        return self.rows.to_pandas()

    def to_polars(self) -> Any:
        """Returns the recorded rows as a `polars.DataFrame`."""
        return self.rows.to_polars()

    def to_arrow(self) -> Any:
        """Returns the recorded rows as a `pyarrow.Table`."""
        return self.rows.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns the recorded rows as a capsule of the Arrow C stream interface."""
        return self.rows.__arrow_c_stream__(requested_schema)

    def summary(self) -> Table:
        """Returns one row for each cell: means, standard errors, 95 % intervals and quantiles at the last round."""
        with self._file("summary.csv").open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        columns = {name: [line[at] for line in lines] for at, name in enumerate(header)}
        # Names stay texts, also where they look like numbers.
        texts = ("policy", "environment", "reference")
        return Table({name: column if name in texts else parsed(column) for name, column in columns.items()})

    def cell(self, which: "int | str") -> int:
        """Returns the number of a cell, given by its number, its label or its policy."""
        if isinstance(which, str):
            found = [at for at, cell in enumerate(self.cells) if which in (cell["label"], cell["policy"])]
            if 1 < len(found):
                labels = [self.labels[at] for at in found]
                raise SpecError(f"{len(found)} cells are called {which!r}\nexpected one of their labels {labels}, or a number")
            if not found:
                raise UnknownNameError("cell", which, self.labels)
            return found[0]
        if not -len(self.cells) <= which < len(self.cells):
            raise UnknownNameError("cell", which, self.labels)
        return range(len(self.cells))[which]

    def final(self, which: "int | str", quantity: str = "cumulative_regret") -> NDArray[np.float64]:
        """Returns a quantity at the last round of each trial of a cell, float64[trials]."""
        rows = self.rows
        in_cell = rows["cell"] == self.cell(which)
        rounds = rows["round"][in_cell]
        return rows[quantity][in_cell][rounds == rounds.max(initial=0)]

    def compare(self, first: "int | str", second: "int | str", quantity: str = "cumulative_regret") -> Difference:
        """Compares two cells at the last round, trial by trial.

        Parameters
        ----------
        first, second
            Cells, by number, label or policy.
        quantity
            A column of `rows`.

        Returns
        -------
        Difference
            First minus second, with a 95 % Student-t interval of the paired differences.
        """
        one, other = self.cell(first), self.cell(second)
        differences = self.final(one, quantity) - self.final(other, quantity)
        mean, se, low, high = _native.mean_interval(differences.tolist())
        return Difference(self.labels[one], self.labels[other], quantity, len(differences), mean, se, low, high)

    def states(self, which: "int | str") -> dict[int, Any]:
        """What the policy of a cell kept of its model after the last round, by trial.

        Of a policy of your own what its `state()` returned, of a private one the parameters that it releases; empty unless the
        spec says `record = {"parameters": True}`.
        """
        cell = self.cell(which)
        found: dict[int, Any] = {}
        for path in sorted((self.folder / "parameters").glob(f"c{cell:04}-b*.json")):
            stored = json.loads(path.read_text(encoding="utf-8"))
            found.update({trial["trial"]: trial["parameters"] for trial in stored["trials"]})
        return found

    def ledger(self) -> list[dict[str, Any]]:
        """Returns for each cell what is protected, how strongly, and by which calibration."""
        return [{"cell": cell["cell"], "label": cell["label"], **cell["ledger"]} for cell in self.cells]

    def report(self) -> "Report":
        """Returns the report, which notebooks show; `report().path` is its HTML file."""
        return Report(self._file("report.html"))

    def plot(
        self, quantity: str = "cumulative_regret", ax: Any = None, cells: "Sequence[int | str] | None" = None, **keywords: Any
    ) -> Any:
        """Plots the mean of a quantity over rounds with its 95 % Student-t interval, as the page does.

        Parameters
        ----------
        quantity
            A column of `rows`.
        ax
            Axes of matplotlib; new ones by default.
        cells
            At most 8 cells, by number, label or policy; by default the first 8, and the others in grey without names.
        **keywords
            For `Axes.plot`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        SpecError
            If more than 8 cells are chosen.
        """
        import matplotlib.pyplot as plt

        chosen = list(range(len(self.cells)))[: len(COLOURS)] if cells is None else [self.cell(which) for which in cells]
        if len(COLOURS) < len(chosen):
            raise SpecError(f"`cells` names {len(chosen)} cells\nexpected at most {len(COLOURS)}, one for each colour")
        others = [] if cells is not None else range(len(chosen), len(self.cells))
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        rows = self.rows

        def values(cell: int) -> "tuple[Any, Any]":
            in_cell = rows["cell"] == cell
            rounds = np.unique(rows["round"][in_cell])
            return rounds, rows[quantity][in_cell].reshape(-1, len(rounds))

        for at, cell in enumerate(others):
            rounds, trials = values(cell)
            name = f"{len(others)} more: choose with `cells`" if at == 0 else "_"
            ax.plot(rounds, trials.mean(axis=0), color="0.8", linewidth=0.8, zorder=1, label=name)
        for cell, colour in zip(chosen, COLOURS, strict=False):
            rounds, trials = values(cell)
            mean, half = trials.mean(axis=0), half_interval(trials)
            (line,) = ax.plot(rounds, mean, **{"color": colour, "label": self.labels[cell], **keywords})
            if half is not None:
                ax.fill_between(rounds, mean - half, mean + half, color=line.get_color(), alpha=0.16, linewidth=0)
        ax.set_xlabel("round")
        ax.set_ylabel(quantity.replace("_", " "))
        ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0)
        return ax

    def _file(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            raise FolderError(f"`{self.folder}` has no `{name}`\nhint: run the spec again into this folder to complete it")
        return path

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, {len(self.cells)} cells)"


@dataclass(frozen=True)
class Report:
    """The page of a run."""

    path: Path

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="640" style="border:1px solid #ccc"></iframe>'


COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A7A7A", "#222222"]
"""Colours of curves, as on the page: those of Okabe and Ito, which readers with any colour vision can distinguish."""


def half_interval(trials: NDArray[np.float64]) -> "NDArray[np.float64] | None":
    """Returns half of the 95 % Student-t interval of the mean of each column of float64[trials, rounds]; None of one trial."""
    n = len(trials)
    if n < 2:
        return None
    # The quantile of Student's t, from an interval of n numbers with standard error `se`.
    mean, se, _, high = _native.mean_interval([float(at % 2) for at in range(n)])
    half: NDArray[np.float64] = (high - mean) / se * trials.std(axis=0, ddof=1) / np.sqrt(n)
    return half


def category(codes: NDArray[np.int32], texts: list[str]) -> Category:
    """Returns the texts of cells as a column, each distinct text once."""
    distinct = list(dict.fromkeys(texts))
    return Category(np.array([distinct.index(text) for text in texts], dtype=np.int32)[codes], distinct)


def scalar(value: Any) -> Any:
    """Returns a swept value; the manifest tags some by their type."""
    return next(iter(value.values())) if isinstance(value, dict) else value


def parsed(cells: list[str]) -> Any:
    """Returns a column of a CSV file: whole numbers, numbers (NaN where empty), or texts."""
    for kind in (int, float):
        try:
            return np.array([kind(cell) if cell or kind is int else np.nan for cell in cells])
        except ValueError:
            continue
    return cells
