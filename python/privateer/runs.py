"""Runs of specs."""

import atexit
import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _native
from .results import Results
from .spec import Spec

# Threads of an interrupted run must not outlive the interpreter.
atexit.register(_native.finish)

# The first temporary folder of a process takes a lock, for which a process that is forked meanwhile would wait for ever.
with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="privateer-"):
    pass


def run(
    spec: Spec,
    out: "str | os.PathLike[str] | None" = None,
    *,
    backend: str = "auto",
    threads: int | None = None,
    batch: int | None = None,
    data: "str | os.PathLike[str] | None" = None,
    progress: "bool | Callable[[int, int], Any]" = True,
) -> Results:
    """Runs a spec: simulates, records, summarises, reports.

    Parameters
    ----------
    spec
        What to run.
    out
        Results folder. Finished parts of the same spec in it are not computed again, so an interrupted run resumes. Without a
        folder, the results are in a temporary one that is removed with the returned object.
    backend
        `auto` (a GPU where `privateer devices --for SPEC --measure` found it to be faster), `cpu` or `gpu`. The results are the same.
    threads
        Number of worker threads; one for each core by default. No recorded number depends on it.
    batch
        Number of trials in lockstep; the backend's choice by default.
    data
        Folder of the data files; by default the spec's own, where it has them, then `$PRIVATEER_DATA`, else the working folder.
    progress
        True for a line on the terminal or in the notebook, or a function of (done, total) trial-rounds.

    Raises
    ------
    SpecError, DataError
        With every mistake, its place and a hint.
    PolicyError
        If code of your own failed; finished parts are kept in `out`.
    """
    if backend not in ("auto", "cpu", "gpu"):
        raise ValueError(f"backend is {backend!r}, expected 'auto', 'cpu' or 'gpu'")
    for name, value in (("threads", threads), ("batch", batch)):
        if value is not None and not 1 <= value <= 4096:
            raise ValueError(f"{name} is {value}, expected a whole number from 1 to 4096")
    sweep = spec._native()
    temporary = tempfile.TemporaryDirectory(prefix="privateer-", ignore_cleanup_errors=True) if out is None else None
    folder = Path(temporary.name if temporary else out or "") / ("run" if temporary else "")
    show = Line() if progress is True else progress or None
    try:
        notes = _native.run(
            sweep,
            folder,
            backend=backend,
            threads=threads,
            batch=batch,
            data=None if data is None else Path(data),
            progress=show,
        )
    except BaseException:
        # A kept exception, as in a notebook, would keep the folder.
        if temporary:
            temporary.cleanup()
        raise
    finally:
        if isinstance(show, Line):
            show.clear()
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Results(folder, temporary)


class Line:
    """Shows progress in one line, on a terminal or in a notebook."""

    def __init__(self) -> None:
        self.display: Any = None
        self.width = 0
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        self.notebook = shell is not None and hasattr(shell, "kernel")

    def __call__(self, done: int, total: int) -> None:
        text = f"{100 * done / max(total, 1):.0f} % of {total:,} trial-rounds"
        if self.notebook:
            from IPython.display import HTML, display

            bar = HTML(f"<progress max='{total}' value='{done}'></progress> {text}")
            if self.display is None:
                self.display = display(bar, display_id=True)
            else:
                self.display.update(bar)
        elif sys.stderr is not None and sys.stderr.isatty():
            self.width = len(text)
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Removes the line."""
        if self.display is not None:
            from IPython.display import HTML

            self.display.update(HTML(""))
        if self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)
