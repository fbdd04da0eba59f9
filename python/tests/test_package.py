"""The package itself: stubs, documentation, import time."""

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import privateer as pv
import pytest

SOURCE = Path(__file__).parents[1]


def test_stubs_are_those_of_the_native_half(tmp_path: Path) -> None:
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent)) or shutil.which("maturin")
    if maturin is None or shutil.which("cargo") is None:
        pytest.skip("needs maturin and cargo")
    # Built as the installed package was.
    built = os.environ.get("MATURIN_PEP517_ARGS", "--profile release").split()
    command = [maturin, "generate-stubs", *built, "--out", str(tmp_path)]
    subprocess.run(command, cwd=SOURCE, check=True, capture_output=True, timeout=900)
    (made,) = tmp_path.rglob("_native*.pyi")
    stored = SOURCE / "privateer" / "_native.pyi"
    assert made.read_text() == stored.read_text(), f"stubs are stale; in python/: {' '.join(command[:-1])} privateer"


def test_everything_is_documented() -> None:
    for name in pv.__all__:
        found = getattr(pv, name)
        assert inspect.getdoc(found), name
        for method, value in vars(found).items() if inspect.isclass(found) else ():
            if inspect.isfunction(value) and not method.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{method}"


def test_readme_is_true() -> None:
    blocks = (SOURCE / "README.md").read_text().split("```python\n")[1:]
    space: dict[str, object] = {}
    for block in blocks:
        exec(block.split("```")[0], space)  # noqa: S102


def test_the_import_is_quick() -> None:
    program = "import numpy, time; start = time.process_time(); import privateer; print(time.process_time() - start)"
    times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    assert min(times) < 0.3


def test_the_table_of_lines_is_true() -> None:
    folder = SOURCE / "benches" / "lines"
    counted = subprocess.run([sys.executable, folder / "table.py"], capture_output=True, text=True, check=True).stdout
    assert counted in (SOURCE.parent / "docs" / "guides" / "python.md").read_text(), counted
    for program in sorted(folder.glob("*_privateer.py")):
        subprocess.run([sys.executable, "-W", "ignore", program], cwd=folder, check=True, capture_output=True)
