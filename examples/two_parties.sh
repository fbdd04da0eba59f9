#!/bin/sh
# Two organisations, two programs, one optimization: a clinic that holds patients' data and a company that chooses whom to examine.
# The company never sees the data: only released inputs with noise, and the outcomes of the rows it asks for (which are in the open here).
#   sh examples/two_parties.sh [FOLDER]      PRIVATEER=path/to/privateer names the program
set -eu
privateer=${PRIVATEER:-target/release/privateer}
work=${1:-$(mktemp -d)}
mkdir -p "$work/clinic" "$work/company"

echo "== clinic: a table that stays here"
awk 'BEGIN { srand(7); print "age,dose,outcome"
  for (i = 0; i < 400; i++) { a = 20 + 60 * rand(); d = 10 * rand()
    printf "%.3f,%.3f,%.4f\n", a, d, exp(-((a - 52) / 15) ^ 2 - ((d - 6) / 2) ^ 2) } }' > "$work/clinic/patients.csv"

echo "== clinic: released inputs leave, with noise from the operating system; centre, scales and bound are public, not the data's own"
"$privateer" curate "$work/clinic/patients.csv" --columns age,dose --centre 50,5 --scales 15,2.5 --bound 3 \
  --radius 0.5 --epsilon 4 --delta 1e-6 --out "$work/company/released.csv"

echo "== company: a policy over the released inputs"
cat > "$work/company/modeler.toml" <<'SPEC'
rounds = 20
[environment]
kind = "points-table"
file = "released.csv"
released = "released.csv.ledger.json"
inputs = ["age", "dose"]
kernel = { kind = "squared-exponential", lengthscale = 0.8, variance = 0.2 }
noise = { kind = "gaussian", sd = 0.05 }
bound = 1.0
[[policy]]
kind = "gp-ucb"
ridge = 0.0025
beta = { kind = "scaled", factor = 0.4 }
SPEC
"$privateer" init "$work/company/session" "$work/company/modeler.toml" --data "$work/company"

echo "== 20 rounds: the company asks for a row, the clinic examines it and answers"
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  row=$("$privateer" ask "$work/company/session")
  outcome=$(awk -F, -v row="$row" 'NR == row + 2 { print $3 }' "$work/clinic/patients.csv")
  "$privateer" tell "$work/company/session" "$row" "$outcome" 2>/dev/null
done
best=$("$privateer" ask "$work/company/session" --best)
echo "best row: $best, outcome $(awk -F, -v row="$best" 'NR == row + 2 { print $3 }' "$work/clinic/patients.csv") of at most 1"
