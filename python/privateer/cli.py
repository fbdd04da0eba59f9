"""The command `privateer`: the command line of the library."""

import signal
import sys

from . import _native


def main() -> None:
    """Runs the command line on the arguments of the process, and exits with its code."""
    # The native code handles interrupts itself; Python's handler would wait for its end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.main(["privateer", *sys.argv[1:]]))
