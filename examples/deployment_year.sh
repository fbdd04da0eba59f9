#!/bin/sh
# A year of many people: every day a table of measured values leaves with noise, each person may spend a budget a month, people join and
# leave, a copy of the deployment that somebody restores is refused, and an auditor gets the books.
#   sh examples/deployment_year.sh [FOLDER] [PEOPLE] [DAYS]      PRIVATEER=path/to/privateer names the program
set -eu
here=$(dirname "$0")/../target/release/privateer
[ -x "$here" ] || here=privateer
privateer=${PRIVATEER:-$here}
work=${1:-$(mktemp -d)} people=${2:-10000} days=${3:-365}
mkdir -p "$work/other-disk"
clinic=$work/clinic
head -c 32 /dev/urandom > "$work/id.key"

echo "== a budget of each person and month; ids are kept as keyed hashes, the newest answer on another disk"
"$privateer" odometer "$clinic" --id-key "$work/id.key" --budget epsilon=6 --filter sum --per month --anchor "$work/other-disk/anchor"

echo "== $days days of $people people: epsilon = 0.2 a day, so that 30 days of a month are answered"
start=$(date +%s)
day=1
while [ "$day" -le "$days" ]; do
  date=$(date -u -d "2025-01-01 + $((day - 1)) days" +%F)
  awk -v n="$people" -v day="$day" 'BEGIN { srand(day); print "id,outcome"; for (i = 0; i < n; i++) printf "p%d,%.4f\n", i, rand() }' > "$work/day.csv"
  # Exit code 1: some were refused, as on the 31st of a month.
  "$privateer" release --state "$clinic" --id-key "$work/id.key" --mechanism laplace --epsilon 0.2 --clip 0,1 --join \
    --table "$work/day.csv" --value outcome --record id --round "$day" --time "$date" --who "ward 3" > "$work/answers.jsonl" 2> "$work/said" || [ $? = 1 ]
  [ $((day % 73)) != 0 ] || tail -n 1 "$work/said"
  day=$((day + 1))
done
echo "$(wc -c < "$clinic") bytes after $(($(date +%s) - start)) s"

echo "== the first person leaves, and is answered about no more"
"$privateer" people "$clinic" --id-key "$work/id.key" --leave p0
"$privateer" release --state "$clinic" --id-key "$work/id.key" --round 999 p0 0.5 || [ $? = 1 ]

echo "== an older copy is put back: the anchor knows better"
cp "$clinic" "$work/yesterday"
"$privateer" release --state "$clinic" --id-key "$work/id.key" --round 1000 p1 0.5 > "$work/answer"
cp "$clinic" "$work/today"; cp "$work/yesterday" "$clinic"
"$privateer" release --state "$clinic" --id-key "$work/id.key" --round 1001 p1 0.5 || [ $? = 2 ]
cp "$work/today" "$clinic"

echo "== the books"
"$privateer" ledger "$clinic" | head -n 8
"$privateer" ledger "$clinic" --html "$work/books.html"
if command -v sqlite3 > /dev/null; then
  sqlite3 -readonly "$clinic" "SELECT strftime('%Y-%m', time) AS month, count(*) AS answers FROM answers GROUP BY month"
fi
