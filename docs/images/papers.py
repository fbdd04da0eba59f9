"""Draws the figures of the pages on papers from the tables of these pages: `python docs/images/papers.py` (needs matplotlib).

A figure so never says anything else than the table beside it. Bars are 95 % intervals where the table has them.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "privateer", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
import matplotlib.pyplot as plt  # noqa: E402

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREEN, GREY = "#0b62a4", "#d95f02", "#1b9e77", "#777777"


def table(page: str, heading: str, nth: int = 0) -> "list[list[str]]":
    """Returns the rows of the n-th table after a heading, the first of them its column names."""
    text = (HERE.parent / "papers" / f"{page}.md").read_text().split(f"\n## {heading}", 1)[1].split("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, re.M)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[nth].splitlines()]
    return [rows[0], *rows[2:]]


def number(cell: str) -> float:
    """Returns the first number of a cell such as `12 693 ± 711` or `**−42**`."""
    plain = cell.replace("\u2212", "-").replace("*", "").replace("\u00a0", "")
    return float(re.match(r"[+-]?[\d ]*\.?\d+(e-?\d+)?", re.sub(r"(?<=\d) (?=\d)", "", plain)).group(0))


def half(cell: str) -> float:
    """Returns the half-width that stands after ±, or 0 for a cell without an interval."""
    found = re.search(r"± ([\d.]+(e-?\d+)?)", cell)
    return float(found.group(1)) if found else 0.0


def save(name: str) -> None:
    plt.tight_layout()
    plt.savefig(HERE / f"{name}.svg", metadata={"Date": None})
    plt.close()


def han2022() -> None:
    rows = table("han2022", "Table 5.1, p = 1.5")
    columns = [(2, "the paper", "x"), (3, "printed noise", "o-"), (4, "corrected", "s-"), (5, "tight", "^-"), (6, "no privacy", "v--")]
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), sharey=True)
    for axis, d in zip(axes, ("5", "10", "20")):
        of = [row for row in rows[1:] if row[1] == d]
        for (column, label, style), color in zip(columns, ("black", ORANGE, GREY, BLUE, GREEN)):
            subopt = [float(row[column].split("/")[1]) for row in of]
            axis.loglog([float(row[0]) for row in of], subopt, style, color=color, label=label, markersize=5)
        axis.set(title=f"d = {d}", xlabel="samples T")
    axes[0].set_ylabel("SubOpt (1: standing still)")
    axes[2].legend(fontsize=7, loc="lower left")
    save("han2022-table-5-1")


def kharkovskii2020() -> None:
    rows = table("kharkovskii2020", "Figure 2a and Tables 1-3")[1:]
    labels, epsilon = [], ""
    for row in rows:
        epsilon = row[0] or epsilon
        labels.append(f"{epsilon}, r = {row[1]}")
    plt.figure(figsize=(9, 3.6))
    places = range(len(rows))
    plt.errorbar(places, [number(row[4]) for row in rows], [half(row[4]) for row in rows], fmt="o", color=BLUE, label="500 runs")
    plt.plot(places, [number(row[2]) for row in rows], "kx", label="the paper")
    plt.yscale("log")
    plt.xticks(places, labels, rotation=60, ha="right", fontsize=7)
    plt.ylabel("simple regret")
    plt.legend()
    save("kharkovskii2020-tables-1-3")


def dubey2021() -> None:
    rows = table("dubey2021", "Fig. 1: epsilon")[1:]
    plt.figure(figsize=(5.5, 3.2))
    for column, label, color in ((1, "printed noise", ORANGE), (3, "corrected", GREY), (4, "tight", BLUE)):
        values, halves = [number(row[column]) for row in rows], [half(row[column]) for row in rows]
        plt.errorbar([float(row[0]) for row in rows], values, halves, fmt="o-", color=color, label=label, capsize=2)
    plt.axhline(594, color="black", linestyle=":", label="uniform play")
    plt.axhline(13.8, color=GREEN, linestyle="--", label="no privacy")
    plt.xscale("log")
    plt.yscale("log")
    plt.xlabel("epsilon, at delta = 0.1")
    plt.ylabel("regret after 1024 rounds")
    plt.legend(fontsize=7)
    save("dubey2021-figure-1")


def zhou2021() -> None:
    rows = table("zhou2021", "Fig. 2 (a)")[1:]
    plt.figure(figsize=(9, 3.2))
    for place, row in enumerate(rows):
        moma, tgp, igp, uniform = (number(row[column]) for column in (1, 3, 4, 5))
        for shift, value, color, label in (
            (-0.27, moma, BLUE, "MoMA"),
            (0.0, tgp, ORANGE, "TGP"),
            (0.27, igp, GREY, "IGP-UCB"),
        ):
            plt.bar(place + shift, value / uniform, 0.25, color=color, label=label if place == 0 else None)
    plt.axhline(1, color="black", linestyle=":", label="uniform play")
    plt.xticks(range(len(rows)), [re.sub(r"`(\w+)` ", r"\1: ", row[0]).replace(", ", "\n") for row in rows], fontsize=7)
    plt.ylabel("regret, uniform play = 1")
    plt.legend(fontsize=7)
    save("zhou2021-local-privacy")


def han2022_bandits() -> None:
    rows = table("han2022-bandits", "Over epsilon")[1:]
    plt.figure(figsize=(5.5, 3.2))
    for column, label, color in ((1, "dp-hdb, tight", BLUE), (3, "dp-hdb, corrected", GREY), (5, "dp-linucb, narrow", ORANGE), (6, "ldp-linucb, narrow", GREEN)):
        plt.loglog([float(row[0]) for row in rows], [number(row[column]) for row in rows], "o-", color=color, label=label)
    plt.axhline(977, color="black", linestyle=":", label="random arms")
    plt.xlabel("epsilon")
    plt.ylabel("regret after 10 000 rounds")
    plt.legend(fontsize=7)
    save("han2022-bandits-epsilon")


for draw in (han2022, kharkovskii2020, dubey2021, zhou2021, han2022_bandits):
    draw()
