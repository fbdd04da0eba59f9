#!/usr/bin/env bash
# A Slurm of two nodes on this machine runs a sweep; one node is killed whole in mid-run. Its tasks are queued again on the other node,
# and parts and digests are those of one uninterrupted run.
#
#     tests/cluster/slurm.sh [PROGRAM]      # default: target/release/privateer
#
# Needs root, slurmctld, slurmd, sbatch and munged (Debian: slurmctld slurmd slurm-client munge). Without them it says so and ends
# with 0, unless PRIVATEER_CLUSTER=required.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
program=$(realpath "${1:-$here/../../target/release/privateer}")
spec=$here/../../examples/ldp-epsilon-sweep.toml
for tool in slurmctld slurmd sbatch munged; do
  if ! command -v "$tool" >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "skipped: no $tool, or not root"
    [ "${PRIVATEER_CLUSTER:-}" != required ]
    exit
  fi
done

state=$(mktemp -d)
out=$state/out
chmod 755 "$state"
stop() {
  code=$?
  [ "$code" = 0 ] || tail -n 20 "$state"/*.log "$out"/log-* 2>/dev/null || true
  pkill -9 -f "$state" || true
  rm -rf "$state"
  exit "$code"
}
trap stop EXIT

mkdir "$state/state" "$state/spool.n1" "$state/spool.n2"
export SLURM_CONF=$state/slurm.conf
sed "s|HOST|$(hostname -s)|; s|STATE|$state|" "$here/slurm.conf" >"$SLURM_CONF"
head -c 1024 /dev/urandom >"$state/munge.key"
chmod 400 "$state/munge.key"
munged --force --socket="$state/munge.sock" --key-file="$state/munge.key" --pid-file="$state/munged.pid" \
  --log-file="$state/munged.log" --seed-file="$state/munged.seed"
slurmctld -f "$SLURM_CONF" -i
for node in n1 n2; do
  slurmd -f "$SLURM_CONF" -N "$node"
done
for _ in $(seq 60); do
  [ "$(sinfo -h -o %T -N | grep -c idle)" = 2 ] && break
  sleep 0.5
done
sinfo

echo "== one uninterrupted run"
trials=(--trials 150 --seed 7)
"$program" run "$spec" "${trials[@]}" --backend cpu --quiet --out "$state/whole"

echo "== an array of four tasks on two nodes"
"$program" slurm "$spec" "${trials[@]}" --tasks 4 --out "$out" --submit
for _ in $(seq 120); do
  [ "$(squeue -h -w n1 -t R | wc -l)" != 0 ] && compgen -G "$out/task-*/cells/*" >/dev/null && break
  sleep 0.25
done
squeue
lost=$(squeue -h -w n1 -t R -o %A | sort -u)
test -n "$lost"

echo "== node n1 is killed whole, with its jobs $(echo "$lost" | tr '\n' ' ')"
kill -9 "$(cat "$state/slurmd.n1.pid")"
for job in $lost; do
  pkill -9 -f "slurmstepd: \[$job[.]" || true
done
for process in /proc/[0-9]*; do
  if { tr '\0' '\n' <"$process/environ" | grep -qx SLURMD_NODENAME=n1; } 2>/dev/null; then
    kill -9 "${process#/proc/}" 2>/dev/null || true
  fi
done
"$program" status "$out"

for _ in $(seq 240); do
  [ -s "$out/all/report.html" ] && break
  # Slurm lets a job that was queued again wait for two minutes; a test does not.
  for job in $(squeue -h -t PD -o "%i %r" | sed -n 's/ BeginTime$//p'); do
    scontrol update JobId="$job" StartTime=now || true
  done
  sleep 0.5
done
"$program" status "$out"
grep -h "lost\|requeue\|DOWN\|not responding" "$state/ctld.log" | tail -n 5 || true
grep -qi "requeue" "$state/ctld.log"
diff -r "$state/whole/cells" "$out/all/cells"
diff <(sort "$state/whole/SHA256SUMS" | grep cells/) <(sort "$out/all/SHA256SUMS" | grep cells/)

echo "== a task run twice changes nothing; a task of another spec is refused"
SLURM_ARRAY_JOB_ID=0 SLURM_ARRAY_TASK_ID=1 sh "$out/array.sh"
diff -r "$state/whole/cells" "$out/all/cells"
sed -i 's/^seed = 7$/seed = 8/' "$out/spec.toml"
if SLURM_ARRAY_JOB_ID=0 SLURM_ARRAY_TASK_ID=1 sh "$out/array.sh" 2>"$state/refused.txt"; then exit 1; fi
cat "$state/refused.txt"
grep -q "task-1" "$state/refused.txt"
echo "all holds"
