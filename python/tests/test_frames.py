"""Data frames in place of files."""

import pytest

import privateer as pv

BASE = """
rounds = 20
trials = 3
[[policy]]
kind = "tgp-ucb"
beta = { kind = "constant", value = 1.0 }
"""


def spec(file):
    return pv.Spec.load(BASE).environment(
        "points-table",
        file=file,
        inputs=["x", "y"],
        value="v",
        kernel={"kind": "squared-exponential", "lengthscale": 1.0},
        noise={"kind": "gaussian", "sd": 0.1},
    )


def test_a_frame_is_a_file(tmp_path):
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = {"x": [0.1 * (i % 5) for i in range(20)], "y": [0.3 * (i // 5) for i in range(20)], "v": [(i * 7 % 11) / 3 for i in range(20)]}
    frame = pd.DataFrame(rows, index=range(100, 120))
    frame.to_csv(tmp_path / "t.csv", index=False)
    by_file = pv.run(spec("t.csv"), data=tmp_path, progress=False).to_pandas()["cumulative_regret"]
    for same in (frame, pl.DataFrame(rows), pa.table(rows), frame.sample(frac=1, random_state=3)):
        assert (pv.run(spec(same), progress=False).to_pandas()["cumulative_regret"] == by_file).all()
    out = tmp_path / "out"
    pv.run(spec(frame), out, progress=False)
    pv.run(spec(frame.copy()), out, progress=False)


def test_bad_frames_are_named():
    pd = pytest.importorskip("pandas")
    with pytest.raises(pv.DataError, match="two columns of one name"):
        spec(pd.DataFrame([[1, 2, 3]], columns=["x", "x", "v"]))
    with pytest.raises(pv.DataError, match="numbers for names"):
        spec(pd.DataFrame([[1, 2, 3]]))
    missing = pd.DataFrame({"x": [0, 1, None], "y": [1, 2, 3], "v": [1, 2, 4]})
    with pytest.raises(pv.DataError, match="column `x` has an empty cell"):
        pv.run(spec(missing), progress=False)
