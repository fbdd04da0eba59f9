#!/usr/bin/env bash
# A sweep into an object store, over connections that are cut: see store.py. Needs a program built with the feature `stores`
# (PROGRAM, default target/release/privateer) and Python with moto's server (PYTHON). Without them it is skipped, unless
# PRIVATEER_CLUSTER=required.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
python=${PYTHON:-python3}
program=$(realpath "${PROGRAM:-$here/../../target/release/privateer}")
if ! "$python" -c 'import moto.server, flask' 2>/dev/null; then
  [ "${PRIVATEER_CLUSTER:-}" != required ] || { echo "moto[server] is not installed in $python"; exit 1; }
  echo "skipped: moto[server] is not installed in $python"
  exit 0
fi
timeout 240 "$python" "$here/store.py" "$program"
