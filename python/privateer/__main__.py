"""`python -m privateer` is the command `privateer`."""

from .cli import main

main()
