#!/bin/sh
# Measures the CPU and the GPU path on this machine, in one call of at most ten minutes.
#
#     sh examples/speed/measure.sh [PRIVATEER]      # the program; by default target/release/privateer
#
# Prints: what the adapter is and reaches; what `auto` would take for each job, and why; each job on both backends with the
# host's half, submissions and bytes; three sweeps as whole runs on both, their parts compared; submissions of several widths.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$here/target/release/privateer}")
cd "$here"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
limit=540
started=$(date +%s)
left() { [ $(($(date +%s) - started)) -lt $limit ]; }
part() { printf '\n## %s  [%d s]\n\n' "$*" $(($(date +%s) - started)); }

part "the machine"
grep -m1 'model name' /proc/cpuinfo || true
echo "threads: $(nproc)"
"$program" --version
"$program" devices
software=$("$program" devices --json | grep -c '"auto_takes":true' || true)
if [ "$software" = 0 ]; then
  echo "No hardware adapter: GPU figures below are of a software driver, for correctness, host time and counts only."
fi

part "what auto would take"
for job in constant-factor wide-factor exact-posterior private-sums outsourced small-domain many-points; do
  printf '%-16s ' "$job"
  "$program" devices --for "examples/speed/$job.toml" --trials 2048 | tail -n 1
done

# Software drivers take hundreds of times as long as a card.
if [ "$software" = 0 ]; then trials=64 rounds=40 large=8; else trials=2048 rounds=200 large=512; fi

part "jobs on both backends, $trials trials of $rounds rounds"
for job in constant-factor theory-factor exact-posterior private-sums; do
  left || break
  timeout 120 "$program" bench "$job" --backend both --trials "$trials" --rounds "$rounds" --repeat 1 --passes || echo "$job: stopped"
done

part "large jobs on both backends, $large trials of 50 rounds"
for job in constant-factor exact-posterior private-sums; do
  left || break
  timeout 120 "$program" bench "$job" --size large --backend both --trials "$large" --rounds 50 --repeat 1 --passes || echo "$job: stopped"
done

part "whole runs: CPU, GPU, and whether their parts are equal"
for spec in examples/ldp-epsilon-sweep.toml examples/joint-dp.toml examples/heavy-tails.toml; do
  left || break
  name=$(basename "$spec" .toml)
  more=""
  if [ "$software" = 0 ]; then more="--rounds 40 --trials 10"; fi
  for backend in cpu gpu; do
    begun=$(date +%s.%N)
    # shellcheck disable=SC2086
    timeout 120 "$program" run "$spec" --quiet $more --backend "$backend" --out "$out/$name-$backend" || echo "$name: stopped"
    echo "$name $backend: $(echo "$(date +%s.%N) $begun" | awk '{ printf "%.2f", $1 - $2 }') s"
  done
  diff -r "$out/$name-cpu/cells" "$out/$name-gpu/cells" >/dev/null && echo "$name: equal parts"
  head -n 2 "$out/$name-gpu/timings.csv"
done

part "submissions of several widths"
for width in 2 64 512 2048; do
  left || break
  timeout 60 "$program" bench constant-factor --backend gpu --trials "$trials" --rounds "$rounds" --repeat 1 --batch "$width" |
    grep 'host' || echo "width $width: stopped"
done

part "done"
