"""Specs, runs and their results."""

import csv
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import privateer as pv
import pytest


def parts(folder: Path) -> dict[str, bytes]:
    """Returns the bytes of all parts of a folder."""
    return {path.name: path.read_bytes() for path in sorted((folder / "cells").iterdir())}


def test_parts_are_those_of_the_command_line(spec: pv.Spec, tmp_path: Path, cli: Callable) -> None:
    swept = spec.set("privacy.epsilon", [0.5, 2.0]).set("environment.noise.bound", 0.25)
    pv.run(swept, tmp_path / "python", backend="cpu", threads=2, progress=False)
    (tmp_path / "spec.toml").write_text(spec.text)
    sets = ["--set", "sweep.product.privacy.epsilon=[0.5, 2.0]", "--set", "environment.noise.bound=0.25"]
    ran = cli("run", tmp_path / "spec.toml", *sets, "--out", tmp_path / "cli", "--backend", "cpu", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert parts(tmp_path / "python") == parts(tmp_path / "cli")
    assert (tmp_path / "python" / "summary.csv").read_bytes() == (tmp_path / "cli" / "summary.csv").read_bytes()


def test_a_dict_a_text_and_a_file_are_the_same_spec(spec: pv.Spec, tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(spec.text)
    tree = {
        "name": "small",
        "seed": 3,
        "rounds": np.int64(60),
        "trials": 4,
        "references": False,
        "environment": {
            "kind": "rkhs",
            "bound": 2.0,
            "domain": {"kind": "grid", "points": 20},
            "kernel": {"kind": "matern", "nu": 2.5, "lengthscale": np.float64(0.2)},
            "noise": {"kind": "uniform", "bound": 0.5},
        },
        "privacy": {"mechanism": "laplace", "epsilon": 1.0},
        "policy": [{"kind": "uniform"}, {"kind": "igp-ucb"}],
    }
    hashes = {found._native().hash for found in (spec, pv.Spec.load(path), pv.Spec.load(str(path)), pv.Spec.load(tree))}
    built = pv.Spec.load({"name": "small", "seed": 3, "references": False}).rounds(60).trials(4).privacy("laplace", epsilon=1.0)
    built = built.environment("rkhs", **{name: value for name, value in tree["environment"].items() if name != "kind"})
    assert len(hashes) == 1
    assert built.policy("uniform").policy("igp-ucb").check() == spec.check()
    assert pv.Spec.load(tree).policy("tgp-ucb", label="third").check()[2].startswith("third")


def test_settings_replace_each_other(spec: pv.Spec) -> None:
    assert len(spec.set("privacy.epsilon", [1, 2]).set("privacy.epsilon", [1, 2, 4]).check()) == 6
    assert len(spec.set("privacy.epsilon", np.array([1.0, 2.0])).set("privacy.epsilon", 4.0).check()) == 2
    assert spec.rounds(5).rounds(7).overrides == (("rounds = ", "rounds", "7"),)


def test_mistakes_have_places_and_hints(spec: pv.Spec) -> None:
    with pytest.raises(pv.SpecError) as error:
        pv.Spec.load(spec.text.replace("epsilon = 1.0", "epsilom = -1.0").replace("igp-ucb", "igp-ubc")).check()
    text = str(error.value)
    assert "did you mean `epsilon`?" in text and "did you mean `igp-ucb`?" in text and "^^^" in text and "--> spec:" in text
    with pytest.raises(pv.SpecError, match=r"rounds = -3"):
        spec.rounds(-3).check()
    with pytest.raises(pv.SpecError, match="there is no spec `absent.toml`"):
        pv.Spec.load("absent.toml")
    with pytest.raises(pv.SpecError, match="expected a finite number"):
        spec.set("privacy.epsilon", float("nan"))
    with pytest.raises(ValueError, match="threads is 0"):
        pv.run(spec, threads=0)


def test_missing_data_is_a_data_error(tmp_path: Path) -> None:
    spec = pv.Spec.load(
        'rounds = 5\n[environment]\nkind = "points-table"\nfile = "absent.csv"\ninputs = ["x"]\nvalue = "y"\n'
        'kernel = { kind = "squared-exponential", lengthscale = 0.2 }\nnoise = { kind = "gaussian", sd = 0.1 }\n'
        '[[policy]]\nkind = "uniform"\n'
    )
    with pytest.raises(pv.DataError, match="absent.csv"):
        pv.run(spec, data=tmp_path)


def test_foreign_folders_are_refused(spec: pv.Spec, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(pv.FolderError):
        pv.run(spec, tmp_path)
    with pytest.raises(pv.FolderError, match="give a folder that `privateer run` wrote"):
        pv.Results(tmp_path)


def test_tables_reach_other_libraries(spec: pv.Spec) -> None:
    results = pv.run(spec.set("privacy.epsilon", [0.5, 2.0]), progress=False)
    rows = results.rows
    assert rows.n_rows == 4 * 4 * len(np.unique(rows["round"]))
    assert set(rows["policy"]) == {"uniform", "igp-ucb"} and set(rows["privacy.epsilon"]) == {0.5, 2.0}
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    frames = results.to_pandas(), results.to_polars().to_pandas(), results.to_arrow().to_pandas()
    for frame in frames:
        assert list(frame.columns) == list(rows)
        assert (frame["regret"].to_numpy() == rows["regret"]).all() and (frame["policy"].astype(str) == rows["policy"]).all()
    assert isinstance(frames[0], pd.DataFrame) and isinstance(pl.DataFrame(results), pl.DataFrame)
    assert pa.table(results.summary()).num_rows == 4
    for part in (results.folder / "cells").iterdir():
        of_part = pa.parquet.read_table(part) if hasattr(pa, "parquet") else __import__("pyarrow.parquet").parquet.read_table(part)
        assert set(of_part.column_names) == set(rows)


def test_comparisons_are_paired(spec: pv.Spec) -> None:
    results = pv.run(spec.trials(12), progress=False)
    gap = results.compare("uniform", "igp-ucb")
    differences = results.final(0) - results.final(1)
    assert gap.trials == 12 and gap.mean == pytest.approx(differences.mean())
    assert gap.se == pytest.approx(differences.std(ddof=1) / np.sqrt(12)) and gap.low < gap.mean < gap.high
    summary = results.summary()
    assert summary["paired_difference_mean"][1] == pytest.approx(-gap.mean)
    assert "uniform" in results.summary()._repr_html_() and "minus" in str(gap)
    with pytest.raises(pv.UnknownNameError, match="there is no cell 'unifrom'\nexpected .*\nhint: did you mean 'uniform'?"):
        results.compare("unifrom", 1)
    with pytest.raises(KeyError, match="there is no column 'regrett'\nexpected one of 'cell', .*\nhint: did you mean 'regret'?") as error:
        results.final(0, "regrett")
    assert isinstance(error.value, pv.UnknownNameError) and error.value.name == "regrett" and "regret" in error.value.known
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert "regrett" not in results.rows and results.rows.get("regrett") is None


def test_ledger_report_and_plot(spec: pv.Spec) -> None:
    results = pv.run(spec, progress=False)
    assert [entry["epsilon"] for entry in results.ledger()] == [1.0, 1.0]
    assert "<iframe" in results.report()._repr_html_() and results.report().path.exists()
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = results.plot()
    assert len(axes.get_lines()) == 2 and results.plot() is not axes and len(results.plot(ax=axes).get_lines()) == 4
    # The band is the page's: mean and Student-t interval of `plots/curves.csv`.
    with (results.folder / "plots" / "curves.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["cell"] == "1"]
    mean, band = results.plot(cells=["igp-ucb"]).get_lines()[0], results.plot(cells=["igp-ucb"]).collections[0]
    assert np.allclose(mean.get_ydata(), [float(row["mean"]) for row in rows])
    corners = band.get_paths()[0].vertices
    for row in rows[1::20]:
        at = corners[corners[:, 0] == float(row["round"]), 1]
        assert np.allclose([at.min(), at.max()], [float(row["ci95_low"]), float(row["ci95_high"])])


def test_at_most_eight_curves_have_names(spec: pv.Spec) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    results = pv.run(spec.set("privacy.epsilon", [0.5, 1.0, 2.0, 4.0, 8.0]), progress=False)
    axes = results.plot()
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(names) == sorted([*results.labels[:8], "2 more: choose with `cells`"])
    assert len({line.get_color() for line in axes.get_lines()}) == 9 and len(axes.collections) == 8
    chosen = results.plot(cells=[9, 0])
    assert [text.get_text() for text in chosen.get_legend().get_texts()] == [results.labels[9], results.labels[0]]
    assert len(chosen.get_lines()) == 2
    with pytest.raises(pv.SpecError, match="`cells` names 9 cells\nexpected at most 8"):
        results.plot(cells=range(9))


def test_temporary_results_are_removed(spec: pv.Spec, tmp_path: Path) -> None:
    results = pv.run(spec, progress=False)
    folder = results.folder
    assert folder.exists()
    del results
    assert not folder.exists()
    pv.run(spec, tmp_path / "kept", progress=False)
    assert pv.Results(tmp_path / "kept").rows.n_rows


LONG = """
import pathlib, sys, privateer as pv
spec = pv.Spec.load(pathlib.Path(sys.argv[1]).read_text()).rounds({rounds}).trials(40).set("block", 4)
print("ready", flush=True)
try:
    pv.run(spec, sys.argv[2], backend="cpu", threads=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_stops_at_once_and_the_run_resumes(spec: pv.Spec, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(spec.text)
    program = textwrap.dedent(LONG.format(rounds=40_000))
    command = [sys.executable, "-c", program, str(tmp_path / "spec.toml"), str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while time.monotonic() < until and not list((tmp_path / "out" / "cells").glob("*.parquet")):
        time.sleep(0.02)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - sent < 2.0
    assert process.wait(30) == 0
    kept = parts(tmp_path / "out")
    assert kept
    full = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "interrupted" not in full.stdout
    complete = parts(tmp_path / "out")
    assert len(complete) == 20 and all(complete[name] == kept[name] for name in kept)


def test_progress_is_called(spec: pv.Spec) -> None:
    seen: list[tuple[int, int]] = []
    pv.run(spec.rounds(400_000).trials(8), progress=lambda done, total: seen.append((done, total)))
    assert seen and all(0 <= done <= total == 2 * 8 * 400_000 for done, total in seen)


def test_an_exception_in_progress_stops_the_run(spec: pv.Spec) -> None:
    def fail(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pv.run(spec.rounds(200_000).trials(8), progress=fail)


def test_the_command_line_is_there(cli: Callable) -> None:
    assert cli("--version").stdout.startswith("privateer ")
    assert cli("list", "absent").returncode == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_run(spec: pv.Spec) -> None:
    pv.run(spec, backend="cpu", progress=False)
    child = os.fork()
    if child == 0:
        try:
            pv.run(spec, backend="cpu", progress=False)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


FORKS = """
import os, pathlib, signal, sys, threading, time, warnings
import privateer as pv
warnings.simplefilter("ignore")
spec = pv.Spec.load(pathlib.Path(sys.argv[1]).read_text())
for attempt in range(8):
    run = threading.Thread(target=lambda: pv.run(spec.rounds(3000).trials(20), progress=False))
    run.start()
    time.sleep(0.02 * attempt)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            for compute in (pv.run, lambda spec: pv.AskTell(spec, 1)):
                try:
                    compute(spec)
                except pv.RunError as error:
                    assert "forked while a run was under way" in str(error), error
            os._exit(0)
        except BaseException as error:
            print(type(error), error, flush=True)
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"attempt {attempt}: {status}"
    run.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_a_run_is_under_way_never_hangs(spec: pv.Spec, tmp_path: Path) -> None:
    """The child computes, or is told at once why it cannot."""
    (tmp_path / "spec.toml").write_text(spec.text)
    command = [sys.executable, "-c", FORKS, str(tmp_path / "spec.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


NOISY = """
import os, pathlib, subprocess, sys, threading
import privateer as pv
spec = pv.Spec.load(pathlib.Path(sys.argv[1]).read_text()).rounds(5).trials(2)
runs = threading.Thread(target=lambda: [pv.run(spec, progress=False) for _ in range(10)])
runs.start()
written = 0
while runs.is_alive():
    os.write(2, b"a line\\n")
    written += 1
    if written % 50 == 0:
        assert "null" not in subprocess.run(["readlink", "/proc/self/fd/2"], stdout=subprocess.PIPE, text=True).stdout
print(written)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_standard_error_of_the_process_is_its_own(spec: pv.Spec, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(spec.text)
    command = [sys.executable, "-c", NOISY, str(tmp_path / "spec.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.count("a line\n") == int(done.stdout) > 50


@pytest.mark.parametrize("request_to_end", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", ["__init__", "start", "ask", "tell"])
def test_a_request_to_end_comes_out_as_itself(spec: pv.Spec, tmp_path: Path, request_to_end: type, place: str) -> None:
    class Ends:
        def __init__(self) -> None:
            if place == "__init__":
                raise request_to_end("now")

        def start(self, problem: object, trials: list, rngs: list) -> None:
            self.n = len(trials)
            if place == "start":
                raise request_to_end("now")

        def ask(self, t: int) -> np.ndarray:
            if place == "ask" and t == 3:
                raise request_to_end("now")
            return np.zeros(self.n, dtype=np.int64)

        def tell(self, points: np.ndarray, released: np.ndarray) -> None:
            if place == "tell":
                raise request_to_end("now")

    with pytest.raises(request_to_end, match="now"):
        pv.run(spec.without_policies().policy(Ends), tmp_path / "out", progress=False)
    with pytest.raises(request_to_end, match="now"):
        trials = pv.AskTell(spec.without_policies().policy(Ends), 2)
        for _ in range(4):
            trials.tell(np.zeros(len(trials.ask())))


SLOW = """
import time, numpy as np, pathlib, sys, privateer as pv
class Slow:
    def start(self, problem, trials, rngs):
        self.n = len(trials)
    def ask(self, t):
        time.sleep(3.0)
        return np.zeros(self.n, dtype=np.int64)
    def tell(self, points, released):
        pass
spec = pv.Spec.load(pathlib.Path(sys.argv[1]).read_text())
print("ready", flush=True)
try:
    pv.run(spec.without_policies().policy(Slow), threads=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
pv.run(spec)
print("again", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_slow_policy_is_interrupted_and_the_next_run_waits_for_its_end(spec: pv.Spec, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(spec.text)
    command = [sys.executable, "-c", SLOW, str(tmp_path / "spec.toml")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.9)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - sent < 2.0
    assert process.stdout.readline() == "again\n" and process.wait(30) == 0


def test_specs_and_kept_results_can_be_pickled(spec: pv.Spec, tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(spec)) == spec
    kept = pickle.loads(pickle.dumps(pv.run(spec, tmp_path / "kept", progress=False)))
    assert kept.rows.n_rows
    with pytest.raises(TypeError, match="temporary folder"):
        pickle.dumps(pv.run(spec, progress=False))


def test_references_are_played_unless_refused(spec: pv.Spec) -> None:
    results = pv.run(spec.set("references", True), progress=False)
    assert [cell["policy"] for cell in results.cells] == ["uniform", "igp-ucb", "igp-ucb without privacy"]
    assert [cell["policy"] for cell in pv.run(spec, progress=False).cells] == ["uniform", "igp-ucb"]
