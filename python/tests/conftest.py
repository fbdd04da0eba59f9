"""What all tests share: a small spec, and the program's command line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import privateer as pv
import pytest

SPEC = """
name = "small"
seed = 3
rounds = 60
trials = 4
references = false

[environment]
kind = "rkhs"
bound = 2.0
domain = { kind = "grid", points = 20 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 0.5 }

[privacy]
mechanism = "laplace"
epsilon = 1.0

[[policy]]
kind = "uniform"

[[policy]]
kind = "igp-ucb"
"""


@pytest.fixture
def spec() -> pv.Spec:
    """A small spec: two policies under Laplace noise."""
    return pv.Spec.load(SPEC)


@pytest.fixture
def cli() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the installed command `privateer`."""
    program = Path(sys.executable).with_name("privateer")
    command = [str(program)] if program.exists() else [sys.executable, "-m", "privateer"]

    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=120)

    return run
