"""What privacy costs, without running anything; and inputs released for real."""

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import DataError
from .spec import Spec

LOG = logging.getLogger("privateer")


@dataclass(frozen=True)
class Price:
    """The privacy loss of one mechanism, or of a cell of a spec."""

    label: str
    pure_epsilon: float | None
    """Pure privacy loss; None where there is none."""
    noise_size: float | None
    """What sets the noise: epsilon of one answer, or the standard deviation of a draw of a stream."""
    sensitivity: float | None
    claim: str | None
    """Whether the stated guarantee covers these participations: `holds`, or `no guarantee: …`; None where nothing is claimed."""
    delta: NDArray[np.float64]
    """Failure probabilities of the curve, float64[k]."""
    epsilon: NDArray[np.float64]
    """Privacy loss at each delta, an upper bound, float64[k]."""
    epsilon_lower: NDArray[np.float64]
    """Lower bound on the loss at each delta, float64[k]."""
    composition: list[tuple[dict[str, Any], int]]
    """The mechanisms that compose, each with its count, for another accountant: `laplace` states `epsilon`, `gaussian` `mu`."""
    details: dict[str, Any]
    """Everything that `privateer account --json` states."""

    def at(self, delta: float) -> float:
        """Returns the privacy loss at a delta of the curve, or an upper bound from the next smaller delta."""
        usable = self.delta <= delta
        if not usable.any():
            raise ValueError(f"delta is {delta}, expected at least {self.delta.min():g}")
        return float(self.epsilon[usable].min())


def heard(found: tuple[Any, list[str]]) -> Any:
    """Returns the result of a native function; its notes become warnings and lines of the log."""
    result, notes = found
    for note in notes:
        if note.startswith("warning: "):
            warnings.warn(note.removeprefix("warning: "), stacklevel=3)
        else:
            LOG.info("%s", note)
    return result


def stated(**values: Any) -> dict[str, Any]:
    """Returns the options that are not None: arrays as lists, paths as text."""
    return {name: plain(value) for name, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Returns an array or a tuple as a list, a number of NumPy as one of Python, and a path as text."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple) or hasattr(value, "tolist"):
        value = np.asarray(value).tolist()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def account(
    what: "str | Spec",
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    answer_epsilon: float | None = None,
    sigma: float | None = None,
    calibration: str | None = None,
    clip: "tuple[float, float] | None" = None,
    radius: float | None = None,
    horizon: int | None = None,
    factorisation: str | None = None,
    neighbours: str | None = None,
    participations: int | None = None,
    separation: int | None = None,
    data: "str | os.PathLike[str] | None" = None,
) -> list[Price]:
    """Prices a spec or a mechanism, or finds the least noise for a budget.

    Parameters
    ----------
    what
        A spec, the name of a reward mechanism, `vector-prefix` or `gram-prefix`.
    epsilon, delta
        Total budget of one user: the least noise for it is found (`noise_size`).
    answer_epsilon
        Privacy loss that a reward mechanism is set to for one answer, to be priced.
    sigma
        Standard deviation of a draw of a stream, to be priced, in units of its items.
    clip
        Range (lo, hi) to which rewards are clipped, in the unit of the reward.
    radius
        Clip of a stream's items: |y| of `gram-prefix`, the L2 norm of `vector-prefix`.
    horizon
        Rounds of a stream.
    participations, separation
        Rounds in which one user takes part, and the least distance between two of them, in rounds.

    Returns
    -------
    list of Price
        One for a mechanism; for a spec, one for each distinct price. Where the stated guarantee does not hold, `claim` of the
        price says why, and a warning is given.
    """
    options = {name: value for name, value in locals().items() if name not in ("what", "data")}
    if isinstance(what, str) and what.endswith(".toml"):
        what = Spec.load(what)
    named = what._native() if isinstance(what, Spec) else what
    report, broken = _native.account(named, stated(**options), None if data is None else Path(data))
    if broken:
        # The prices hold whether the claim does or not.
        warnings.warn(broken, stacklevel=2)
    return [price(entry["label"], entry["quote"]) for entry in report["quotes"]]


def price(label: str, quote: dict[str, Any]) -> Price:
    """Reads one price report."""
    curve = quote["curve"]

    def column(value: Any) -> NDArray[np.float64]:
        return np.array([np.inf if value(point) is None else value(point) for point in curve], dtype=float)

    return Price(
        label=label,
        pure_epsilon=quote["pure_epsilon"],
        noise_size=quote["noise_size"],
        sensitivity=quote["sensitivity"],
        claim=quote["guarantee"],
        delta=column(lambda point: point["delta"]),
        epsilon=column(lambda point: point["epsilon"]["upper"]),
        epsilon_lower=column(lambda point: point["epsilon"]["lower"]),
        composition=[(part, count) for part, count in (quote["composition"] or {"parts": []})["parts"]],
        details=quote,
    )


def curate(
    frame: Any,
    columns: Sequence[str],
    out: "str | os.PathLike[str]",
    *,
    epsilon: float,
    delta: float,
    radius: float,
    bound: float,
    centre: Sequence[float] | None = None,
    scales: Sequence[float] | None = None,
    allow_large_delta: bool = False,
    odometer: "str | os.PathLike[str] | None" = None,
) -> dict[str, Any]:
    """Releases input columns of a table for real, by row, with exact noise from the operating system.

    Parameters
    ----------
    frame
        A DataFrame of pandas or polars, or a mapping of columns.
    columns
        The input columns, in this order; every other column stays here.
    out
        CSV file for the released inputs; their ledger goes beside it, to `OUT.ledger.json`. An existing file is refused.
    epsilon, delta
        Privacy loss of one row, and its failure probability, well below one over the number of rows.
    radius
        Neighbours differ in one row by at most this (L2, in released units).
    bound
        Public bound on the L2 norm of a row (in released units); longer rows are moved to it.
    centre, scales
        Public numbers that are taken from the columns first, and that they are divided by after that.

    Returns
    -------
    dict
        The ledger of the release.
    """
    names = list(columns)
    table = []
    for name in names:
        try:
            table.append(np.asarray(frame[name], dtype=float).tolist())
        except (TypeError, ValueError):
            raise DataError(f"column {name!r} has values that are not numbers (they are not shown)\nexpected finite numbers") from None
    options = stated(
        columns=names,
        epsilon=epsilon,
        delta=delta,
        radius=radius,
        bound=bound,
        centre=centre,
        scales=scales,
        allow_large_delta=allow_large_delta,
        odometer=odometer,
    )
    return heard(_native.curate(table, Path(out), options))
