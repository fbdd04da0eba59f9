#!/bin/sh
# Measures the CPU and the GPU path on this machine, in one call of at most ten minutes.
#
#     sh examples/speed/measure.sh [PRIVATEER [SECONDS]]   # by default target/release/privateer, 540
#
# Prints: what the adapter is and reaches; each job on both backends by the
# clock, with the host's half, submissions and bytes; three sweeps as whole runs on both, their parts compared; screens in f32 and f64;
# passes of the device; what `auto` would take for each job by its measured times; submissions of several widths.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$here/target/release/privateer}")
cd "$here"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
limit=${2:-540}
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

# Each line: job, size, trials, rounds: about a second of sixteen cores each. Software drivers take hundreds of times as long.
jobs="constant-factor small 8192 500
theory-factor small 4096 500
wide-factor small 4096 500
exact-posterior small 4096 300
private-sums small 1024 200
outsourced small 2048 200
constant-factor large 4096 100
wide-factor large 2048 100
exact-posterior large 1024 100
private-sums large 128 50
many-points small 256 60"
if [ "$software" = 0 ]; then
  jobs="constant-factor small 64 40
private-sums small 16 20
exact-posterior large 4 20"
fi

part "jobs on both backends, by the clock"
echo "$jobs" | while read -r job size trials rounds; do
  left || break
  echo "### $job $size, $trials trials of $rounds rounds"
  timeout 90 "$program" bench "$job" --size "$size" --backend both --trials "$trials" --rounds "$rounds" --repeat 2 |
    grep -E "^(job|$job)" || echo "$job: stopped"
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

part "screens in either type"
echo "$jobs" | while read -r job size trials rounds; do
  case "$job $size" in "constant-factor large" | "wide-factor large" | many-points*) ;; *) continue ;; esac
  for type in f32 f64; do
    left || break
    echo "$type:"
    timeout 60 "$program" bench "$job" --size "$size" --backend gpu --precision "$type" --trials $((trials / 4)) --rounds "$rounds" --repeat 1 |
      grep "^$job" || echo "$job: stopped"
  done
done

part "passes of the device, by its own clock"
echo "$jobs" | while read -r job size trials rounds; do
  left || break
  timeout 60 "$program" bench "$job" --size "$size" --backend gpu --trials $((trials / 4)) --rounds $((rounds / 2)) --repeat 1 --passes |
    grep 'of the device' || echo "$job: stopped"
done

part "what auto would take"
if [ "$software" = 0 ]; then trials=4; else trials=2048; fi
export XDG_CACHE_HOME="$out/cache"
for job in constant-factor wide-factor exact-posterior private-sums outsourced small-domain many-points; do
  printf '%-16s ' "$job"
  left || break
  timeout 90 "$program" devices --for "examples/speed/$job.toml" --trials "$trials" --measure 2>/dev/null | tail -n 1 || echo "stopped"
done

part "submissions of several widths"
if [ "$software" = 0 ]; then trials=64 rounds=40; else trials=4096 rounds=200; fi
for width in 64 512 2048 4096; do
  left || break
  timeout 60 "$program" bench constant-factor --backend gpu --trials "$trials" --rounds "$rounds" --repeat 1 --batch "$width" |
    grep 'constant-factor small' || echo "width $width: stopped"
done

part "done"
