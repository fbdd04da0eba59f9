"""Counts the lines of the programs beside this file and, with `--run`, runs each first. Prints the table of the book.

    python python/benches/lines/table.py --run
"""

import subprocess
import sys
import tokenize
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = ("privateer", "botorch", "optuna", "opendp")
TASKS = {
    "sweep": "regret of a private bandit over epsilon, with intervals",
    "own": "an own policy beside a built-in one, common random numbers",
    "data": "Bayesian optimization on a table, released responses, a ledger",
    "price": "epsilon(delta) of a hundred participations, and the inverse",
}
LAYOUT = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING, tokenize.COMMENT)


def lines(path: Path) -> int:
    """Returns the number of lines with code: neither blank nor a comment nor the docstring of the file."""
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in LAYOUT]
    if tokens and tokens[0].type == tokenize.STRING:
        del tokens[0]
    return len({row for token in tokens for row in range(token.start[0], token.end[0] + 1)})


def main() -> None:
    print("| task | " + " | ".join(LIBRARIES) + " |\n|---|" + "---:|" * len(LIBRARIES))
    for task, meaning in TASKS.items():
        cells = []
        for library in LIBRARIES:
            path = HERE / f"{task}_{library}.py"
            if "--run" in sys.argv and path.exists():
                subprocess.run([sys.executable, "-W", "ignore", path.name], cwd=HERE, check=True, stdout=sys.stderr)
            cells.append(str(lines(path)) if path.exists() else "not offered")
        print(f"| {meaning} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
