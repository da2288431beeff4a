#!/usr/bin/env bash
# Does the report read the log of this NCCL, and name the fallbacks that settings force, and none in an ordinary run?
#
#   tests/gpu/logs.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release). NCCL_LIBRARY is the file of another NCCL than
# PyTorch's; PyTorch itself is not used, so it may be an older one. KEEP names a directory for logs, recordings and
# reports. Each run is of two processes with a GPU each. Prints one line a run and a total; exit status 1 when one of them
# is wrong.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# PyTorch does not start with an NCCL that is older than its own
other=${NCCL_LIBRARY:-}
unset NCCL_LIBRARY
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
if [ "$gpus" -lt 2 ]; then
  echo "skipped: two GPUs are needed"
  exit 0
fi
wrong=0

compiler=${CC:-$(command -v cc || command -v gcc)}
"$compiler" -std=gnu11 -O2 "$here/ways.c" -o "$scratch/ways" -ldl -lpthread || exit 1
read -r libcudart libnccl < <(loaded)
libnccl=${other:-$libnccl}

# name, nodes, settings
run() {
  local name=$1 nodes=$2 number node jobs=() failed=0 result
  shift 2
  out="$scratch/logs.${name// /_}"
  rm -rf "$out"
  mkdir -p "$out/logs"
  for number in 0 1; do
    node=()
    [ "$nodes" = 1 ] || node=(NCCL_HOSTID="node$number")
    # the connections are made at the start
    env NCCL_RUNTIME_CONNECT=0 RANK="$number" WORLD_SIZE=2 NCCL_SCOREP_RECORD="$out/recordings" SLURM_JOB_ID=1 \
      SLURM_PROCID="$number" SLURM_NTASKS=2 NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$out/logs/nccl.%h.%p.log" "${node[@]}" "$@" \
      timeout --kill-after=10 100 "$scratch/ways" "$libcudart" "$libnccl" threads "$number" 1 "$out" \
      >"$out/log.$number" 2>&1 &
    jobs+=($!)
  done
  for number in 0 1; do wait "${jobs[$number]}" || failed=$?; done
  cat "$out"/log.[01] >"$out/log"
  [ "$failed" = 0 ] || say "$failed" "$name: exit $failed"
  "$TOOL" report "$out/recordings" --part nccl --nccl-log "$out/logs" --json "$out/report.json" >"$out/report.txt" 2>&1
  result=$("$python" "$here/logs.py" "$name" "$out/report.json")
  say $? "$name: $result"
}

run "ordinary" 1
run "no peer-to-peer" 1 NCCL_P2P_DISABLE=1
run "two nodes" 2 NCCL_NET=Socket
run "one channel" 1 NCCL_MAX_NCHANNELS=1 NCCL_MIN_NCHANNELS=1

echo "$wrong wrong"
[ "$wrong" = 0 ]
