"""Writes values as TOML."""

import json
import math
from collections.abc import Mapping
from typing import Any

from .errors import SpecError
from .frames import is_frame, stored


def value(item: Any, path: str = "value") -> str:
    """Returns a value as the right side of a TOML key.

    Parameters
    ----------
    item
        A boolean, number, text, mapping, or an iterable of these; NumPy's scalars and arrays too. A data frame is the path of a
        file with its rows.
    path
        Name of the key, for messages.
    """
    if is_frame(item):
        item = stored(item)
    if hasattr(item, "tolist"):
        item = item.tolist()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        if not math.isfinite(item):
            raise SpecError(f"`{path}` is {item}\nexpected a finite number")
        return repr(item)
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False)
    if isinstance(item, Mapping):
        entries = (f"{key(name)} = {value(entry, f'{path}.{name}')}" for name, entry in item.items())
        return "{ " + ", ".join(entries) + " }"
    if isinstance(item, (list, tuple, range)):
        return "[" + ", ".join(value(entry, path) for entry in item) + "]"
    raise SpecError(f"`{path}` is of type {type(item).__name__}\nexpected a number, a text, a boolean, a list or a dict")


def key(name: Any) -> str:
    """Returns a key, quoted where TOML asks for that."""
    name = str(name)
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else json.dumps(name, ensure_ascii=False)


def document(tree: Mapping[str, Any]) -> str:
    """Returns a whole document, one line for each key at the top."""
    return "".join(f"{key(name)} = {value(item, name)}\n" for name, item in tree.items())
