"""Specs: what is to be run."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import _native, _toml
from .errors import SpecError
from .own import OwnItem, item


@dataclass(frozen=True)
class Spec:
    """What is to be run: environment, privacy, policies, and swept keys.

    Specs are values: every method returns a new one. Mistakes are found by `check` and `run`, all together.
    """

    file: str
    text: str
    folder: Path | None = None
    overrides: tuple[tuple[str, str, str], ...] = ()
    items: tuple[OwnItem, ...] = ()

    @staticmethod
    def load(source: "str | os.PathLike[str] | Mapping[str, Any]") -> "Spec":
        """Reads a spec.

        Parameters
        ----------
        source
            A path of a TOML file, the TOML text itself, or a dict of its keys.
        """
        if isinstance(source, Mapping):
            return Spec("spec", _toml.document(source))
        if isinstance(source, str) and ("\n" in source or "=" in source and not os.path.exists(source)):
            return Spec("spec", source)
        path = Path(source)
        return Spec(str(path), _native.spec_text(path), path.parent.absolute())

    def set(self, path: str, value: Any) -> "Spec":
        """Sets a key, or sweeps it.

        Parameters
        ----------
        path
            The dotted path, as in `privacy.epsilon` or `policy.*.ridge`.
        value
            A list or an array sweeps the key over its values, in all combinations with other swept keys. Anything else sets it;
            a tuple is one value, an array in TOML.
        """
        sweeps = isinstance(value, (list, range)) or hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1
        key = f"sweep.product.{path}" if sweeps else path
        forgotten = {path, f"sweep.product.{path}"}
        overrides = tuple(entry for entry in self.overrides if entry[1] not in forgotten)
        return replace(self, overrides=(*overrides, (f"{key} = ", key, _toml.value(value, path))))

    def trials(self, n: int) -> "Spec":
        """Sets the number of independent repetitions of every cell."""
        return self.set("trials", n)

    def rounds(self, n: int) -> "Spec":
        """Sets the horizon, in rounds."""
        return self.set("rounds", n)

    def seed(self, n: int) -> "Spec":
        """Sets the seed of all random streams."""
        return self.set("seed", n)

    def privacy(self, mechanism: str = "auto", **keys: Any) -> "Spec":
        """Sets the privacy that all policies share, as in `privacy("laplace", epsilon=1.0)`."""
        return self.set("privacy", {"mechanism": mechanism, **keys})

    def environment(self, kind: str | Callable[..., Any], **keys: Any) -> "Spec":
        """Sets the environment: the name of a built-in one, or a class of your own (see `Environment`), and its keys.

        A pandas, polars or pyarrow table stands where a file does:
        `environment("points-table", file=frame, inputs=["x", "y"], value="v", ...)`.
        """
        spec, name = self._named("environment", kind)
        return spec.set("environment", {"kind": name, **keys})

    def policy(self, kind: str | Callable[..., Any], **keys: Any) -> "Spec":
        """Adds a policy.

        Parameters
        ----------
        kind
            The name of a built-in policy, or a class of your own (see `Policy`).
        **keys
            Keys of its table, `label` and `privacy` among them; for a class, also its keyword arguments.
        """
        return self._appended("policy", kind, keys)

    def learner(self, kind: str | Callable[..., Any], **keys: Any) -> "Spec":
        """Adds a learner of online convex optimization: the name of a built-in one, or a class of your own (see `Learner`), and
        its keys, `label`, `learning_rate` and `privacy` among them; for a class, also its keyword arguments.
        """
        return self._appended("learner", kind, keys)

    def _appended(self, role: str, kind: str | Callable[..., Any], keys: Mapping[str, Any]) -> "Spec":
        """Returns the spec with one more table of the role's array."""
        spec, name = self._named(role, kind)
        table = {"kind": name, **keys}
        appended = f"{spec.text.rstrip()}\n\n[[{role}]]\n{_toml.document(table)}"
        try:
            _native.toml_as_json(appended)
        except SpecError:
            # The tables are an array in one line, to which nothing can be appended: the whole text is written again.
            tree = json.loads(_native.toml_as_json(spec.text))
            tables = tree.get(role, [])
            appended = _toml.document({**tree, role: [*(tables if isinstance(tables, list) else [tables]), table]})
        return replace(spec, text=appended)

    def without_policies(self) -> "Spec":
        """Removes all policies."""
        tree = json.loads(_native.toml_as_json(self.text))
        tree.pop("policy", None)
        return replace(self, text=_toml.document(tree))

    def _named(self, role: str, kind: str | Callable[..., Any]) -> tuple["Spec", str]:
        """Returns the spec that knows a class, and the name of the class in specs."""
        if isinstance(kind, str):
            return self, kind
        own = item(role, kind)
        known = next((other for other in self.items if (other.role, other.name) == (role, own.name)), None)
        if known is None:
            return replace(self, items=(*self.items, own)), own.name
        if known.factory is not kind:
            raise SpecError(f"two classes are called `{own.name}`\nhint: give one of them an attribute `name`")
        return self, own.name

    def _native(self) -> _native.Sweep:
        return _native.Sweep(self.file, self.text, self.folder, list(self.overrides), list(self.items))

    def check(self) -> list[str]:
        """Checks everything that can be known without the data, and returns the labels of the cells.

        Raises
        ------
        SpecError
            With every mistake, its place and a hint.
        """
        return self._native().cells

    @property
    def resolved(self) -> str:
        """The spec after all settings, as TOML that the command line reads."""
        return self._native().resolved

    def __repr__(self) -> str:
        settings = "".join(f", {path} = {value}" for _, path, value in self.overrides)
        return f"Spec({self.file}{settings})"
