"""Sweeps on a Ray cluster, whose nodes may come and go."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import ray

from . import _native
from .accounting import heard
from .errors import FolderError, PrivateerError
from .results import Results
from .runs import Line
from .spec import Spec

Files = dict[str, bytes]


def run(
    spec: Spec,
    out: "str | os.PathLike[str]",
    *,
    address: str | None = None,
    seconds: float = 60.0,
    num_cpus: float = 1,
    num_gpus: float = 0,
    data: "str | os.PathLike[str] | None" = None,
    progress: bool = True,
    **init: Any,
) -> Results:
    """Runs a spec on Ray; the folder has the same parts as after a run on one machine.

    Units of the sweep are dealt to tasks of about equal cost. A task of a lost node is run again on another one. Tasks return
    their parts through Ray, so that only the driver needs the folder. After Ctrl-C or a lost driver, the same call goes on
    where it ended: finished tasks are kept in `out.tasks` until all are merged.

    Parameters
    ----------
    spec
        What to run; classes of your own travel to the nodes, where this package must be installed.
    out
        Results folder, on the driver; a new one.
    address
        Address of the cluster, as `ray.init` takes it; by default the cluster that is connected, else this machine.
    seconds
        Aim for the length of a task on one thread. What is under way when a node dies is lost.
    num_cpus
        Processors of a task; its number of threads, at least one.
    num_gpus
        Graphics cards of a task, also a fraction of one; with 0 a task runs on processors alone, else with a card.
    data
        Folder of the data files, the same on every node.
    progress
        Whether to show a line on the terminal or in the notebook.
    **init
        Further keywords of `ray.init`.

    Raises
    ------
    SpecError, DataError, PolicyError
        As `privateer.run`; the first task that fails ends the run.
    FolderError
        If `out` exists, or `out.tasks` is of another spec.
    """
    target = Path(out)
    kept = target.with_name(target.name + ".tasks")
    if target.exists():
        raise FolderError(f"`{target}` exists already\nhint: name a new folder")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"seconds is {seconds}, expected a positive number")
    folder = None if data is None else Path(data)
    tasks = dealt(spec, kept, seconds, folder)
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, **init)
    remote = ray.remote(num_cpus=num_cpus, num_gpus=num_gpus, max_retries=-1)(part)
    backend = "gpu" if num_gpus else "cpu"
    shared = ray.put(spec)
    waiting = {
        remote.remote(shared, units, backend, max(1, int(num_cpus)), folder): number
        for number, (units, _) in enumerate(tasks)
        if not (kept / f"task-{number}").is_dir()
    }
    show = Line() if progress else None
    total = sum(cost for _, cost in tasks)
    done = total - sum(tasks[number][1] for number in waiting.values())
    try:
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=0.2)
            for reference in ready:
                number = waiting.pop(reference)
                write(kept, f"task-{number}", ray.get(reference))
                done += tasks[number][1]
            if show:
                show(round(1000 * done), round(1000 * total))
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, PrivateerError) else error from None
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)
        if show:
            show.clear()
    heard(_native.merge([kept / f"task-{number}" for number in range(len(tasks))], target))
    shutil.rmtree(kept)
    return Results(target, None)


def dealt(spec: Spec, kept: Path, seconds: float, data: Path | None) -> list[tuple[str, float]]:
    """Returns the units and seconds of each task: those of an earlier call, else new ones, which are kept in the folder."""
    sweep = spec._native()
    plan = kept / "tasks.json"
    if plan.is_file():
        known = json.loads(plan.read_text(encoding="utf-8"))
        if known["spec_hash"] != sweep.hash:
            raise FolderError(f"`{kept}` holds tasks of another spec\nhint: name another folder, or remove this one")
        return [(units, cost) for units, cost in known["tasks"]]
    tasks = _native.plan(sweep, seconds, data)
    kept.mkdir(parents=True, exist_ok=True)
    write_text(plan, json.dumps({"spec_hash": sweep.hash, "tasks": tasks}))
    return tasks


def part(spec: Spec, units: str, backend: str, threads: int, data: Path | None) -> Files:
    """Runs units of a sweep in a folder of its own, and returns the folder's files."""
    with tempfile.TemporaryDirectory(prefix="privateer-") as name:
        folder = Path(name) / "run"
        _native.run(spec._native(), folder, backend=backend, threads=threads, data=data, units=units)
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def write(kept: Path, name: str, files: Files) -> None:
    """Writes the folder of a task; it is there as a whole or not at all."""
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=kept) as made:
        folder = Path(made) / name
        for relative, data in files.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        folder.rename(kept / name)


def write_text(path: Path, text: str) -> None:
    """Writes a file as a whole."""
    made = path.with_name(path.name + ".tmp")
    made.write_text(text, encoding="utf-8")
    made.replace(path)
