"""Expected regret of uniform play on a table, and five standard errors of a mean over trials.

Each round plays a row drawn uniformly with replacement, whatever was observed.
"""
import argparse
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("table")
parser.add_argument("--column", help="column of values; without it every column is an arm, worth its mean")
parser.add_argument("--arms-are-rows", action="store_true")
for flag in ["log", "minimise", "standardise", "relative"]:
    parser.add_argument("--" + flag, action="store_true")
parser.add_argument("--rounds", type=int, default=200)
parser.add_argument("--trials", type=int, default=50)
args = parser.parse_args()

if args.arms_are_rows:
    values = np.loadtxt(args.table, delimiter=",", ndmin=2).mean(axis=1)
else:
    table = np.genfromtxt(args.table, delimiter=",", names=True)
    values = table[args.column] if args.column else np.array([table[name].mean() for name in table.dtype.names])
if args.log:
    values = np.log(values)
if args.minimise:
    values = -values
if args.standardise:
    values = (values - values.mean()) / values.std()
gaps = values.max() - values
if args.relative:
    gaps = gaps / values.max()
print("regret", args.rounds * gaps.mean())
print("tolerance", 5 * gaps.std() * np.sqrt(args.rounds / args.trials))
