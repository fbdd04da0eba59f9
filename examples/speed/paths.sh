#!/bin/sh
# Times every fast path of the CPU beside the plain one, at the size where it begins, and fails where it is slower over its jobs.
#
#     sh examples/speed/paths.sh [PRIVATEER [RUNS]]   # by default target/release/privateer, 5 pairs
#
# Whole runs in turn on one core, CPU time; a job's ratio is the median of its pairs, a path's the geometric mean of its jobs, and 5 %
# count as equal. The results must be the same.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
program=${1:-$here/target/release/privateer}
runs=${2:-5}
pin=$(command -v taskset || true)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Prints CPU seconds and the results' checksum of the faster of two runs.
once() {
    ${pin:+"$pin" -c 1} "$program" bench "$@" --threads 1 --backend cpu --repeat 2 --json |
        sed -n 's/.*"results_crc":\([0-9]*\).*"run_cpu_s":\([^,]*\),.*/\2 \1/p'
}

# path NAME PLAIN JOB [ARG...]: PLAIN switches the path off.
path() {
    name=$1 plain=$2
    shift 2
    : >"$out/pairs"
    for _ in $(seq "$runs"); do
        # shellcheck disable=SC2086 # One or two words.
        echo "$(once "$@" $plain) $(once "$@")" >>"$out/pairs"
    done
    awk '{ print $1 / $3, $1, $3, $2 == $4 }' "$out/pairs" | sort -g | awk -v job="$*" -v name="$name" '
        { ratio[NR] = $1; without[NR] = $2; with[NR] = $3; other += !$4 }
        END {
            at = int((NR + 1) / 2)
            printf "%-12s %-56s %8.3f s %8.3f s %6.2f %s\n", name, job, without[at], with[at], ratio[at], other ? "OTHER RESULTS" : ""
        }' | tee -a "$out/all"
}

printf '%-12s %-56s %10s %10s %6s\n' "path" "job" "without" "with" "ratio"
for job in constant-factor theory-factor wide-factor random-features; do
    path features --dense "$job" --trials 128
done
path covariances --dense exact-posterior --set environment.domain.points=4096
path covariances --dense outsourced --set environment.domain.points=64
path grid --dense wide-factor --set environment.domain.points=4096
path pivots --dense private-sums
path interleaved "--batch 1" private-sums
awk '
    /OTHER RESULTS$/ { fails = 1; next }
    { sum[$1] += log($NF); jobs[$1]++ }
    END {
        for (name in sum) {
            mean = exp(sum[name] / jobs[name])
            printf "%s: %.2f times as fast%s\n", name, mean, mean < 0.95 ? ", SLOWER than the plain path" : ""
            fails = fails || mean < 0.95
        }
        exit fails
    }' "$out/all"
