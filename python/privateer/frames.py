"""Data frames where a spec names a file: a pandas, polars or pyarrow table stands for its CSV."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from . import _native
from .errors import DataError


def is_frame(item: Any) -> bool:
    """Whether this is a table of pandas, polars or pyarrow."""
    package = type(item).__module__.partition(".")[0]
    return package in ("pandas", "polars", "pyarrow") and hasattr(item, "columns")


def stored(frame: Any) -> str:
    """Writes a table as CSV and returns the path of the file, which its content names.

    The file is in a folder of this user below the folder of temporary files; the same table has the same path in every process of
    a machine, so that a run with it resumes.
    """
    if type(frame).__module__.startswith("pyarrow"):
        frame = frame.to_pandas()
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        raise DataError("the data frame has two columns of one name\nhint: rename one of them")
    if all(name.replace(".", "", 1).isdigit() for name in names):
        raise DataError("the columns of the data frame have numbers for names\nhint: name them: `frame.columns = [...]`")
    text = frame.write_csv() if hasattr(frame, "write_csv") else frame.to_csv(index=False)
    content = text.encode()
    folder = Path(tempfile.gettempdir()) / f"privateer-tables-{getattr(os, 'getuid', int)()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise DataError(f"`{folder}` belongs to another user\nhint: set TMPDIR to a folder of yours")
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.csv"
    if not (path.is_file() and path.read_bytes() == content):
        handle, new = tempfile.mkstemp(dir=folder, suffix=".csv")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(new, path)
    _native.allow_frames(folder)
    return str(path)
