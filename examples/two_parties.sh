#!/bin/sh
# Two organisations, two programs, one optimization: a clinic that holds patients' data and a company that chooses whom to examine.
# The company never sees the data: only released inputs, with noise, and outcomes with noise. It runs in both forms:
#   data-holder      the clinic adds the noise to outcomes, the company runs the session: the company never sees a raw outcome
#   trusted-curator  the clinic runs the session too, is told raw outcomes and trusted with them; the company sees the answer
#   sh examples/two_parties.sh [FOLDER]      PRIVATEER=path/to/privateer names the program (else that of this checkout, else the installed one)
set -eu
here=$(dirname "$0")/../target/release/privateer
[ -x "$here" ] || here=privateer
privateer=${PRIVATEER:-$here}
work=${1:-$(mktemp -d)}
mkdir -p "$work/clinic" "$work/company"
outcome() { awk -F, -v row="$1" 'NR == row + 2 { print $3 }' "$work/clinic/patients.csv"; }

echo "== clinic: a table that stays here"
awk 'BEGIN { srand(7); print "age,dose,outcome"
  for (i = 0; i < 400; i++) { a = 20 + 60 * rand(); d = 10 * rand()
    printf "%.3f,%.3f,%.4f\n", a, d, exp(-((a - 52) / 15) ^ 2 - ((d - 6) / 2) ^ 2) } }' > "$work/clinic/patients.csv"

echo "== clinic: released inputs leave, with noise from the operating system; centre, scales and bound are public, not the data's own"
"$privateer" curate "$work/clinic/patients.csv" --columns age,dose --centre 50,5 --scales 15,2.5 --bound 3 \
  --radius 0.5 --epsilon 4 --delta 1e-6 --out "$work/company/released.csv"

echo "== company: a policy over the released inputs, and what a patient's answers will cost"
cat > "$work/company/modeler.toml" <<'SPEC'
rounds = 60
[environment]
kind = "points-table"
file = "released.csv"
released = "released.csv.ledger.json"
inputs = ["age", "dose"]
kernel = { kind = "squared-exponential", lengthscale = 0.8, variance = 0.2 }
noise = { kind = "gaussian", sd = 0.05 }
bound = 1.0
[privacy]
mechanism = "hybrid"
epsilon = 4.0
clip = [0.0, 1.0]
[[policy]]
kind = "igp-ucb"
ridge = 0.06
beta = { kind = "constant", value = 2.0 }
SPEC
"$privateer" account "$work/company/modeler.toml" --data "$work/company" --budget epsilon=8

echo "== form 1, data-holder: the company asks for a row and a round, the clinic releases the outcome, the company is told that"
"$privateer" init "$work/company/session" "$work/company/modeler.toml" --data "$work/company" --form data-holder
round=1
while row=$("$privateer" ask "$work/company/session" 2>/dev/null); do
  outcome "$row" | "$privateer" release --mechanism hybrid --epsilon 4 --clip 0,1 --budget epsilon=8 \
    --state "$work/clinic/releases" --round "$round" "$row" - > "$work/answer.json" 2>/dev/null || break
  "$privateer" tell --released "$work/company/session" "$row" "$work/answer.json" 2>/dev/null
  round=$((round + 1))
done
echo "-- clinic: what each patient's outcome has spent"
"$privateer" ledger "$work/clinic/releases"
best=$("$privateer" ask "$work/company/session" --best)
echo "data-holder: best row $best, outcome $(outcome "$best") of at most 1"

echo "== form 2, trusted-curator: the clinic runs the session and is told raw outcomes; it stops at the budget of a patient"
"$privateer" init "$work/clinic/session" "$work/company/modeler.toml" --data "$work/company" --budget epsilon=8
while row=$("$privateer" ask "$work/clinic/session" 2>/dev/null); do
  outcome "$row" | "$privateer" tell "$work/clinic/session" "$row" - 2>/dev/null
done
"$privateer" ledger "$work/clinic/session"
best=$("$privateer" ask "$work/clinic/session" --best)
echo "trusted-curator: best row $best, outcome $(outcome "$best") of at most 1"
