"""`cost`: sentences about a table."""

import html

import numpy as np
import pytest

import privateer as pv

ROWS = {"x": [i / 29 for i in range(30)], "town": ["a", "b"] * 15, "y": [(i / 29) ** 2 + 0.1 * (i * 7 % 5) for i in range(30)]}
SHORT = {"rounds": 100, "trials": 4, "pilots": 2, "epsilon": [1, 8]}


def test_a_frame_gets_a_sentence_and_numbers(tmp_path):
    pd = pytest.importorskip("pandas")
    found = pv.cost(pd.DataFrame(ROWS), value="y", out=tmp_path / "out", **SHORT)
    assert str(found).startswith("At ε = 1 ") and str(found) in html.unescape(found.report.read_text()).replace("\u00a0", " ")
    assert list(found.budgets["epsilon"]) == [1.0, 8.0]
    assert all(found.budgets["low"] <= found.budgets["share"]) and all(found.budgets["share"] <= found.budgets["high"])
    assert any("left out: town" in note for note in found.notes)
    assert found.spec.read_text().startswith("# What privacy costs") and found.report.exists()
    again = pv.run(pv.Spec.load(found.spec), progress=False)  # from any folder: the points lie beside the spec
    assert again.summary()["final_regret_mean"].tolist() == found.results.summary()["final_regret_mean"].tolist()
    rows = found.results.summary().to_pandas()
    private = rows[(rows["privacy.epsilon"] == 1) & rows["share_mean"].notna()]
    assert found.budgets["regret"][0] == pytest.approx(private["final_regret_mean"].min())
    pytest.importorskip("matplotlib").use("Agg")
    axes = found.plot()
    assert axes.get_xlabel() == "epsilon" and found.plot() is not axes and len(found.plot(axes).containers) == 2
    drawn = axes.containers[0].lines[0]
    assert list(drawn.get_ydata()) == list(100 * found.budgets["share"])
    ends = [segment[:, 1] for segment in axes.containers[0].lines[2][0].get_segments()]
    assert np.allclose(ends, 100 * np.column_stack([found.budgets["low"], found.budgets["high"]]))


def test_several_numbers_of_users_are_an_axis(tmp_path):
    found = pv.cost(function="branin", points=60, out=tmp_path / "out", **{**SHORT, "rounds": [50, 200, 800], "epsilon": None})
    assert list(found.budgets["users"]) == [50, 200, 800] and set(found.budgets["epsilon"]) == {1.0} and found.enough is None
    assert "of what 50 rounds can teach, " in str(found)
    pytest.importorskip("matplotlib").use("Agg")
    assert found.plot().get_xlabel() == "users"


def test_what_cannot_be_asked_is_an_error(tmp_path):
    pd = pytest.importorskip("pandas")
    with pytest.raises(pv.DataError, match="one of `data`"):
        pv.cost(function="branin", spec="a.toml")
    with pytest.raises(pv.PrivateerError, match="no column `z`"):
        pv.cost(pd.DataFrame(ROWS), value="z", out=tmp_path / "out", **SHORT)
    with pytest.raises(pv.PrivateerError, match="privacy budgets"):
        pv.cost(function="branin", epsilon=[0], out=tmp_path / "out")
    with pytest.raises(pv.PrivateerError, match="is for a table"):
        pv.cost(function="branin", range=[np.int64(0), 1], out=tmp_path / "out")
    with pytest.raises(pv.SpecError, match="pionts"):
        pv.cost(function="branin", pionts=60, out=tmp_path / "out")


def test_the_best_policy_has_a_margin_from_fresh_trials(tmp_path):
    pd = pytest.importorskip("pandas")
    found = pv.best(pd.DataFrame(ROWS), value="y", rounds=100, trials=8, pilots=8, trust="joint", out=tmp_path / "best")
    fresh = found.policies["is_fresh"]
    assert found.policy in found.policies["policy"][fresh] and found.sentence.startswith(f"`{found.policy}`")
    assert fresh.sum() >= 2 and np.isnan(found.policies["more"][~fresh]).all()
    assert "batched-gp-ucb" not in found.left_out and "fixed-design" in found.left_out
    assert found.report.exists() and "kind = \"order\"" in found.spec.read_text()
    with pytest.raises(pv.DataError, match="one of"):
        pv.best()
    with pytest.raises(pv.SpecError, match="epsilon"):
        pv.best(function="branin", epsilon=-1, out=tmp_path / "none")
