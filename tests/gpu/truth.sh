#!/usr/bin/env bash
# Are the library's GPU times CUPTI's? Runs the workloads of kernels.py, on one node and on two pretended ones, and
# holds each operation's time against its kernel's in the same run (truth.py).
#
#   tests/gpu/truth.sh [LIBRARY] [WORKLOAD]...
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release); a recording is played with the tool beside
# it. Without WORKLOADs all of them. RANKS (2), NODES ("1 2"), GPU_TIME (auto; or several: "auto events") and
# GRAPH_EVENTS (1; of the workloads graphs and decode) may be set, and NCCL_LIBRARY, the file of another NCCL than
# PyTorch's.
# Prints one line a run and a total; exit status 1 when one of them is wrong. 26 runs take 7 minutes.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- ring sends tree pat moe broadcasts grouped pipeline fsdp ahead graph graphs decode single
ranks=${RANKS:-2}
if [ "$gpus" -lt "$ranks" ]; then
  echo "skipped: $ranks GPUs are needed, there are $gpus"
  exit 0
fi

wrong=0
runs=0
# workload, nodes, settings
run() {
  local workload=$1 nodes=$2 name=$1 out result
  shift 2
  name="$workload, $ranks ranks, $nodes $([ "$nodes" = 1 ] && echo node || echo nodes), ${*##*=}"
  out="$scratch/$runs.$workload"
  mkdir "$out"
  runs=$((runs + 1))
  local network=()
  [ "$nodes" = 1 ] || network=(NODES="$nodes" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo)
  case $workload in
    tree) network+=(NCCL_ALGO=allreduce:tree) ;;
    pat) network+=("NCCL_ALGO=allgather:pat;reducescatter:pat") ;;
  esac
  # NODES may be several here, and is one there
  local environment=(-u NODES "${nccl[@]}" "${network[@]}" "$@")
  local command=("$python" "$here/kernels.py" "$workload" "$ranks" "$out")
  if env "${environment[@]}" timeout --kill-after=10 90 "${command[@]}" >"$out/log" 2>&1 &&
    result=$("$python" "$here/truth.py" "$out" "$@" 2>&1); then
    echo "right    $name: $result"
  else
    wrong=$((wrong + 1))
    echo "WRONG    $name: exit $?: ${result:-}"
    tail -n 15 "$out/log" | sed 's/^/         /'
  fi
}

for gpu_time in ${GPU_TIME:-auto}; do
  for workload in "$@"; do
    for nodes in ${NODES:-1 2}; do
      # PAT wants a GPU a node, and one process with several GPUs is one node
      case $workload-$nodes in pat-1 | single-[2-9]) continue ;; esac
      settings=(NCCL_SCOREP_GPU_TIME="$gpu_time")
      # of the operations in graphs, one in so many has events
      case $workload in graphs | decode) settings+=(NCCL_SCOREP_GRAPH_EVENTS="${GRAPH_EVENTS:-1}") ;; esac
      run "$workload" "$nodes" "${settings[@]}"
    done
  done
done
echo "$runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
