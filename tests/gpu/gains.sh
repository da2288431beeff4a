#!/usr/bin/env bash
# Does the report say what a slow rank costs? Runs jobs of PyTorch with a slow rank and without it (gains.py): the report
# of the first one has to predict the step of the second one.
#
#   tests/gpu/gains.sh [LIBRARY] [JOB]...
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with the tool beside it. Without JOBs: a data
# parallel one whose slow rank's host is late (`late_rank`), one whose slow rank computes longer (`ddp`), a fully sharded
# one (`fsdp`), a mixture of experts (`moe`) and a pipeline with a slow stage (`pipeline`). RANKS (the GPUs, 2 at least),
# FACTOR ("1.5", how many times as long), STEPS (60) and NODES may be set, NCCL_LIBRARY, the file of another NCCL than
# PyTorch's, and KEEP, a directory for what the runs write. Four ranks need 16 processors: NCCL's threads poll sockets.
# Where there are fewer GPUs than ranks, ranks share them by CUDA's Multi-Process Service, as pretended nodes: without it,
# kernels of two processes never run at once. Prints one line a job and a total; exit status 1 when one of them is wrong.
# Takes two minutes.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- late_rank ddp fsdp moe pipeline
ranks=${RANKS:-$((gpus < 2 ? 2 : gpus))}
nodes=${NODES:-1}
wrong=0
runs=0

if [ "$gpus" -lt "$ranks" ]; then
  nodes=$ranks
  if ! command -v nvidia-cuda-mps-control >/dev/null; then
    echo "skipped: $ranks ranks on $gpus GPUs need nvidia-cuda-mps-control"
    exit 0
  fi
  export CUDA_MPS_PIPE_DIRECTORY="$scratch/mps" CUDA_MPS_LOG_DIRECTORY="$scratch/mps"
  mkdir -p "$scratch/mps"
  nvidia-cuda-mps-control -d || { echo "skipped: CUDA's Multi-Process Service does not start"; exit 0; }
  trap 'echo quit | nvidia-cuda-mps-control; [ -n "${KEEP:-}" ] || rm -rf "$scratch"' EXIT
fi
export TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING=false
network=()
[ "$nodes" -lt 2 ] || network=(NODES="$nodes" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo)

# job, factor, directory
run() {
  out=$3
  mkdir -p "$out"
  env "${nccl[@]}" "${network[@]}" timeout --kill-after=10 90 "$python" "$here/gains.py" "$1" "$ranks" "$out" "$2" \
    >"$out/log" 2>&1
}

for job in "$@"; do
  runs=$((runs + 1))
  failed=0 result=''
  run "$job" 1 "$scratch/$job.without" && run "$job" "${FACTOR:-1.5}" "$scratch/$job" || failed=$?
  [ "$failed" != 0 ] ||
    result=$("$python" "$here/gains.py" judge "$scratch/$job" "$scratch/$job.without" 2>&1) || failed=$?
  say "$failed" "$job, $ranks ranks on $gpus GPUs, $nodes nodes: $result"
done
echo "$runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
