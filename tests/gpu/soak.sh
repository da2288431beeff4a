#!/usr/bin/env bash
# A long run: PyTorch trains for a time (training.py), and examples/pipeline beside it, where its program is named. Does
# the library see all that they did, is nothing dropped, and does the memory in use stay as it is?
#
#   tests/gpu/soak.sh [LIBRARY] [PIPELINE]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with the tool beside it, and PIPELINE the
# program of examples/pipeline. SOAK is the time in seconds (600), RANKS the number of PyTorch's ranks (2), NODES that of
# pretended nodes; ranks that share a GPU are on a node each. PRESET is the library's (network). KEEP names a directory
# for what the runs write. Prints one line a run and a total; exit status 1 when one of them is wrong.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
seconds=${SOAK:-600}
ranks=${RANKS:-2}
nodes=${NODES:-1}
[ "$gpus" -ge "$ranks" ] || nodes=$ranks
wrong=0
runs=1

out=$scratch/training
mkdir -p "$out" "$scratch/pipeline"
settings=(NCCL_SCOREP_PRESET="${PRESET:-network}")
[ "$nodes" -lt 2 ] || settings+=(NODES="$nodes" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo)
env "${nccl[@]}" "${settings[@]}" NCCL_SCOREP_SUMMARY_SECONDS=5 timeout --kill-after=10 $((seconds + 120)) \
  "$python" "$here/training.py" "$seconds" "$ranks" "$out" >"$out/log" 2>&1 &
training=$!

if [ -n "${2:-}" ]; then
  runs=2
  # the pipeline's first look at the GPU's memory is to have the training in it
  while [ ! -e "$out/begun.0" ] && kill -0 "$training" 2>/dev/null; do sleep 0.2; done
  OUT="$scratch/pipeline" LONG="$seconds" SIZE="${SIZE:---hidden 2048 --tokens 1024 --layers 8 --microbatches 8}" \
    "$here/pipeline.sh" "$2" "$library" "$TOOL" >"$scratch/pipeline/said" 2>&1 || wrong=$((wrong + 1))
  grep -E '^(right|WRONG|skipped| )' "$scratch/pipeline/said"
fi
failed=0
wait "$training" || failed=$?
result=$("$python" "$here/check.py" training "$out" "${settings[@]}" 2>&1) || failed=1
say "$failed" "PyTorch's training, $seconds s, $ranks ranks on $nodes nodes: $result"
echo "$runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
