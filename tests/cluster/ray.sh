#!/usr/bin/env bash
# A real Ray of two nodes, one of which dies in mid-run: see ray_nodes.py. Needs Python with this package and ray 2.60.0 installed;
# PYTHON names it. Without them it is skipped, unless PRIVATEER_CLUSTER=required.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
if ! "$python" -c 'import privateer, ray' 2>/dev/null; then
  [ "${PRIVATEER_CLUSTER:-}" != required ] || { echo "privateer and ray are not installed in $python"; exit 1; }
  echo "skipped: privateer and ray are not installed in $python"
  exit 0
fi
export RAY_DISABLE_IMPORT_WARNING=1 RAY_USAGE_STATS_ENABLED=0 RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0
timeout 280 "$python" ray_nodes.py
