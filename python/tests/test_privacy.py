"""Prices, released inputs, and sessions."""

import multiprocessing
import sqlite3
import struct
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import privateer as pv
import pytest


def test_prices_and_their_inverse(spec: pv.Spec) -> None:
    (price,) = pv.account("laplace", answer_epsilon=2.0, clip=(-1, 1))
    assert price.pure_epsilon == 2.0 and price.composition == [({"kind": "laplace", "epsilon": 2.0}, 1)]
    assert (np.diff(price.epsilon[np.argsort(price.delta)]) <= 0).all() and (price.epsilon_lower <= price.epsilon).all()
    assert price.at(1e-6) <= 2.0
    (inverse,) = pv.account("laplace", epsilon=6.0, participations=3, clip=(-1, 1))
    assert inverse.noise_size == pytest.approx(2.0)
    (stream,) = pv.account("vector-prefix", epsilon=2.0, delta=1e-6, horizon=100)
    (priced,) = pv.account("vector-prefix", sigma=stream.noise_size, horizon=100)
    assert priced.at(1e-6) == pytest.approx(2.0, rel=1e-6)
    assert [price.pure_epsilon for price in pv.account(spec.set("privacy.epsilon", [1.0, 2.0]))] == [1.0, 2.0]
    with pytest.raises(pv.SpecError, match="did you mean `laplace`"):
        pv.account("lapalce", epsilon=1.0)


def test_prices_without_a_guarantee_are_returned(spec: pv.Spec, cli: Callable, tmp_path: Path) -> None:
    printed = spec.set("privacy.calibration", "as-printed")
    with pytest.warns(UserWarning, match="no guarantee: epsilon = 1 per user.* 3 spend epsilon = 3"):
        (price,) = pv.account(printed, participations=3)
    assert price.pure_epsilon == 3.0 and price.at(1e-6) == pytest.approx(3.0, rel=1e-4)
    (tmp_path / "spec.toml").write_text(printed.resolved)
    shown = cli("account", tmp_path / "spec.toml", "--participations", 3)
    assert shown.returncode == 1 and price.claim is not None and price.claim.startswith("no guarantee: ")
    assert price.claim in shown.stdout and price.claim in shown.stderr
    (once,) = pv.account(spec)
    assert once.claim == "holds"


def test_prices_are_those_of_dp_accounting() -> None:
    accounting = pytest.importorskip("dp_accounting")
    (price,) = pv.account("vector-prefix", epsilon=2.0, delta=1e-6, horizon=100)
    ((part, count),) = price.composition
    accountant = accounting.pld.PLDAccountant()
    accountant.compose(accounting.GaussianDpEvent(1 / part["mu"]), count)
    assert accountant.get_epsilon(1e-6) == pytest.approx(2.0, rel=1e-3)


def test_prices_are_within_those_of_opendp() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    (laplace,) = pv.account("laplace", answer_epsilon=2.0, clip=(-1, 1))
    assert dp.m.make_laplace(*space, scale=1.0).map(2.0) == pytest.approx(laplace.pure_epsilon)
    # A Gaussian price through zero-concentrated privacy is an upper bound, close to the exact one.
    (stream,) = pv.account("vector-prefix", epsilon=2.0, delta=1e-6, horizon=100)
    ((part, count),) = stream.composition
    zcdp = dp.m.make_gaussian(*space, scale=1.0 / part["mu"]).map(1.0) * count
    assert zcdp == pytest.approx(count * part["mu"] ** 2 / 2)
    above = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0 / np.sqrt(2 * zcdp))).map(1.0).epsilon(1e-6)
    assert 2.0 < above < 2.0 * 1.25


def people() -> dict[str, np.ndarray]:
    """Returns a table of 400 invented people."""
    rng = np.random.default_rng(7)
    age, dose = 20 + 60 * rng.random(400), 10 * rng.random(400)
    return {"age": age, "dose": dose, "outcome": np.exp(-(((age - 52) / 15) ** 2) - ((dose - 6) / 2) ** 2)}


def curated(folder: Path) -> dict:
    """Releases the inputs of the invented people."""
    budget = {"epsilon": 4, "delta": 1e-6, "radius": 0.5, "bound": 3}
    return pv.curate(people(), ["age", "dose"], folder / "released.csv", centre=[50, 5], scales=[15, 2.5], **budget)


SESSION = """
rounds = 20
[environment]
kind = "points-table"
file = "released.csv"
released = "released.csv.ledger.json"
inputs = ["age", "dose"]
kernel = { kind = "squared-exponential", lengthscale = 0.8, variance = 0.2 }
noise = { kind = "gaussian", sd = 0.05 }
bound = 1.0
[privacy]
mechanism = "hybrid"
epsilon = 4.0
clip = [0.0, 1.0]
[[policy]]
kind = "igp-ucb"
ridge = 0.06
beta = { kind = "constant", value = 2.0 }
"""


def test_inputs_are_released(tmp_path: Path) -> None:
    ledger = curated(tmp_path)
    lines = (tmp_path / "released.csv").read_text().splitlines()
    assert len(lines) == 401 and lines[0] == "age,dose" and "epsilon" in str(ledger)
    with pytest.raises(pv.PrivateerError, match="released.csv"):
        curated(tmp_path)
    with pytest.raises(pv.SpecError, match="epsilon"):
        pv.curate(people(), ["age"], tmp_path / "b.csv", epsilon=-1, delta=1e-6, radius=1, bound=1)


def test_columns_with_commas_are_released(tmp_path: Path) -> None:
    frame = {"height, cm": np.linspace(0, 1, 9), 'a"b': np.linspace(1, 0, 9)}
    ledger = pv.curate(frame, list(frame), tmp_path / "released.csv", epsilon=4, delta=1e-3, radius=1, bound=1)
    assert ledger["columns"] == list(frame)


def test_a_session_learns_released_rewards(tmp_path: Path) -> None:
    curated(tmp_path)
    outcome = people()["outcome"]
    session = pv.Session(pv.Spec.load(SESSION), tmp_path / "state", budget="epsilon=100", data=tmp_path)
    for at in range(10):
        asked = session.ask()
        assert asked == session.ask() and asked.round == at + 1
        told = session.tell(asked.row, float(outcome[asked.row]))
        assert "released" in told
        session = pv.Session(state=tmp_path / "state", data=tmp_path)
    assert 0 <= session.best() < 400 and session.ledger()
    with pytest.raises(pv.SpecError):
        session.tell(session.ask().row, float("nan"))


def test_a_data_holder_releases_once_for_each_record_and_round(tmp_path: Path) -> None:
    curated(tmp_path)
    session = pv.Session(pv.Spec.load(SESSION), throwaway=True, form="data-holder", data=tmp_path)
    releases = pv.Deployment(tmp_path / "releases", mechanism="hybrid", epsilon=4.0, clip=(0.0, 1.0), budget="epsilon=8")
    asked = session.ask()
    answer = releases.release(asked.row, 0.7, round=asked.round)
    assert releases.release(asked.row, 0.1, round=asked.round) == answer
    session.tell(asked.row, answer)
    assert session.ask().round == 2
    again = releases.release(asked.row, 0.7, round=2)
    assert again != answer
    with pytest.raises(pv.BudgetError, match="has spent epsilon = 8 of its budget") as refused:
        releases.release(asked.row, 0.7, round=3)
    assert (refused.value.record, refused.value.spent, refused.value.budget) == (str(asked.row), "epsilon = 8", "epsilon=8")
    assert isinstance(refused.value, pv.CheckError)
    with pytest.raises(pv.SpecError):
        session.tell(session.ask().row, answer)
    assert releases.ledger()["files"][0]["ledger"]["budget"]["epsilon"] == 8.0


def day(n: int) -> dict[str, list[object]]:
    """A table of n people, with a value that is missing and one that is no number of theirs."""
    return {"id": [f"person-{i}" for i in range(n)], "outcome": [None if i == 1 else 1e9 if i == 2 else i / n for i in range(n)]}


def test_a_table_is_released_and_people_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "id.key").write_bytes(bytes(range(32)))
    terms = {"mechanism": "laplace", "epsilon": 1.0, "clip": (0.0, 1.0), "budget": "epsilon=2", "per": "month"}
    with pv.Deployment(tmp_path / "clinic", id_key=tmp_path / "id.key", who="ann", anchor=tmp_path / "anchor", **terms) as clinic:
        january = datetime(2026, 1, 5, tzinfo=timezone.utc)
        first = clinic.release_table(day(6), "outcome", "id", round=1, join=True, time=january)
        assert [answer["id"] for answer in first.answers] == ["person-0", "person-3", "person-4", "person-5"] and first.repeated == 0
        assert [(refused["line"], refused["record"]) for refused in first.refused] == [(2, "person-1"), (3, "person-2")]
        again = clinic.release_table(day(6), "outcome", "id", round=1, time=january)
        assert [answer["released"] for answer in again.answers] == [answer["released"] for answer in first.answers] and again.repeated == 4
        clinic.release("person-0", 0.5, round=2, time=january)
        with pytest.raises(pv.BudgetError) as refused:
            clinic.release("person-0", 0.5, round=3, time=january)
        assert (refused.value.record, refused.value.budget) == ("person-0", "epsilon=2 each month")
        clinic.release("person-0", 0.5, round=3, time=datetime(2026, 2, 1, tzinfo=timezone.utc))
        assert clinic.leave("person-0") == 1 and clinic.leave("person-0") == 0
        with pytest.raises(pv.BudgetError, match="has left"):
            clinic.release("person-0", 0.5, round=4)
        assert clinic.join("person-0", "new") == 2
        with pytest.raises(pv.SpecError, match="knows no record `stranger`"):
            clinic.release("stranger", 0.5)
        assert clinic.ledger(delta=1e-6)["files"][0]["ledger"]["total"]["of_one"] == 6
        clinic.books(tmp_path / "books.html")
        clinic.books(tmp_path / "answers.csv")
    assert "Confidential" in (tmp_path / "books.html").read_text()
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 7
    assert b"person-3" not in (tmp_path / "clinic").read_bytes(), "a keyed file holds no ids"
    database = sqlite3.connect(f"file:{tmp_path / 'clinic'}?mode=ro", uri=True)
    assert database.execute("SELECT who, count(*) FROM answers GROUP BY who").fetchall() == [("ann", 6)]


def released_by(path: Path, row: int) -> float:
    """Releases a value in another process."""
    return float(pv.Deployment(path).release(row, 0.5)["released"])


def test_deployments_work_in_threads_and_after_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "clinic"
    clinic = pv.Deployment(path, mechanism="laplace", epsilon=1.0, clip=(0.0, 1.0), budget="epsilon=4")
    clinic.release(0, 0.5)
    with ThreadPoolExecutor(4) as threads:
        in_threads = list(threads.map(lambda row: clinic.release(row, 0.5)["released"], range(1, 9)))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as processes:
        forked = list(processes.map(released_by, [path] * 6, range(9, 15)))
    stored = [released for (released,) in sqlite3.connect(path).execute("SELECT released FROM releases WHERE record > 0 ORDER BY record")]
    assert stored == in_threads + forked


def test_a_ledger_is_kept_or_thrown_away_by_word(tmp_path: Path) -> None:
    curated(tmp_path)
    spec = pv.Spec.load(SESSION)
    for stated in ({}, {"budget": "epsilon=8"}, {"state": tmp_path / "state", "throwaway": True}):
        with pytest.raises(pv.SpecError, match="throwaway=True"):
            pv.Session(spec, data=tmp_path, **stated)
    with pytest.raises(pv.SpecError, match="throwaway=True"):
        pv.Session()
    assert not (tmp_path / "state").exists()
    with pv.Session(spec, throwaway=True, budget="epsilon=8", data=tmp_path) as session:
        session.tell(session.ask().row, 0.7)
        assert session.ledger()["files"]
    assert not session.state.exists()
    with pytest.raises(TypeError):
        pv.Deployment(mechanism="hybrid", epsilon=4.0, clip=(0.0, 1.0))  # type: ignore[call-arg]


def test_raw_values_are_neither_repeated_nor_stored(tmp_path: Path) -> None:
    curated(tmp_path)
    spec, secret = pv.Spec.load(SESSION), 0.8713625
    session = pv.Session(spec, tmp_path / "state", data=tmp_path)
    holder = pv.Session(spec, tmp_path / "holder", form="data-holder", data=tmp_path)
    releases = pv.Deployment(tmp_path / "releases", mechanism="hybrid", epsilon=4.0, clip=(0.0, 1.0))
    row, held = session.ask().row, holder.ask().row
    cases = [
        lambda: session.tell(row, f"{secret} mg"),
        lambda: session.tell(row, [secret]),  # type: ignore[arg-type]
        lambda: holder.tell(held, secret),
        lambda: holder.tell(held, {"value": secret}),
        lambda: releases.release(held, f"{secret} mg"),  # type: ignore[arg-type]
        lambda: pv.curate({"a": [f"{secret} mg"]}, ["a"], tmp_path / "b.csv", epsilon=1, delta=1e-6, radius=1, bound=1),
    ]
    for case in cases:
        with pytest.raises(pv.PrivateerError) as refused:
            case()
        assert "8713625" not in str(refused.value) and "expected" in str(refused.value)
    session.tell(row, secret)
    holder.tell(held, releases.release(held, secret))
    for name in ("state", "holder", "releases"):
        stored = (tmp_path / name).read_bytes()
        assert b"8713625" not in stored and struct.pack(">d", secret) not in stored, name


def test_samples_and_cells_out_of_range_are_refused(spec: pv.Spec) -> None:
    with pytest.raises(pv.SpecError, match="samples is 10, expected 100"):
        pv.audit(spec, samples=10)
    results = pv.run(spec.trials(2).rounds(3), progress=False)
    with pytest.raises(KeyError, match="there is no cell 99"):
        results.compare(0, 99)


def test_answers_are_sealed_with_a_key(tmp_path: Path) -> None:
    curated(tmp_path)
    (tmp_path / "key").write_bytes(bytes(range(32)))
    session = pv.Session(pv.Spec.load(SESSION), throwaway=True, form="data-holder", data=tmp_path, key=tmp_path / "key")
    row = session.ask().row
    plain = pv.Deployment(tmp_path / "plain", mechanism="hybrid", epsilon=4.0, clip=(0.0, 1.0)).release(row, 0.7)
    with pytest.raises(pv.SpecError, match="its seal does not fit"):
        session.tell(row, plain)
    with pytest.raises(pv.SpecError, match=r"expected what `Deployment.release` returned"):
        session.tell(row, dict(plain))  # type: ignore[arg-type]
    sealed = pv.Deployment(tmp_path / "sealed", mechanism="hybrid", epsilon=4.0, clip=(0.0, 1.0), key=tmp_path / "key").release(row, 0.7)
    (tmp_path / "answer").write_text(sealed.text)
    assert session.tell(row, tmp_path / "answer")["released"] == sealed["released"]
