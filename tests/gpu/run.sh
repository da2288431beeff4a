#!/usr/bin/env bash
# Lets a real NCCL load the library under PyTorch, in every preset, and checks what comes out against what the program did.
#
#   tests/gpu/run.sh [LIBRARY] [SECOND_PLUGIN]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/release), SECOND_PLUGIN a profiler plugin to chain (default: none).
# Prints one line a run and a total; exit status 1 when one of them is wrong. Where there is no GPU it says so and that is all.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
library=$(realpath "${1:-$here/../../target/release/libscorep_substrate_nccl.so}")
second=${2:-}

python=${PYTHON:-python3}
gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())' 2>/dev/null || echo 0)
if [ "$gpus" -lt 1 ]; then
  echo "skipped: no GPU, or no PyTorch that sees one"
  exit 0
fi
[ -f "$library" ] || { echo "$library is missing: build it first (cargo build --release)"; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$library" "$scratch/libnccl-profiler-scorep.so"
export LD_LIBRARY_PATH="$scratch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export NCCL_PROFILER_PLUGIN=scorep

"$python" - <<'END'
import torch
print(f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}")
END

wrong=0
runs=0
# name, ranks, what the program does, settings
run() {
  local name=$1 ranks=$2 program=$3
  shift 3
  if [ "$ranks" -gt "$gpus" ]; then
    echo "skipped  $name: needs $ranks GPUs, there are $gpus"
    return
  fi
  local out="$scratch/$runs"
  mkdir "$out"
  runs=$((runs + 1))
  if env "$@" timeout --kill-after=10 150 "$python" "$here/program.py" "$program" "$ranks" "$out" >"$out/log" 2>&1 &&
    result=$("$python" "$here/check.py" "$program" "$out" "$@" 2>&1); then
    echo "right    $name: $result"
  else
    wrong=$((wrong + 1))
    echo "WRONG    $name: exit $?: ${result:-}"
    tail -n 25 "$out/log" | sed 's/^/         /'
  fi
}

sockets="NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo"
for preset in network light full api; do
  run "$preset, 2 ranks, one node, collectives" 2 collectives NCCL_SCOREP_PRESET=$preset
  run "$preset, 2 ranks, two nodes, collectives" 2 collectives NCCL_SCOREP_PRESET=$preset NODES=2 $sockets
done
run "network, 2 ranks, one node, large all-reduces against CUDA events" 2 timing NCCL_SCOREP_PRESET=network
run "light, 2 ranks, two nodes, large all-reduces against CUDA events" 2 timing NCCL_SCOREP_PRESET=light NODES=2 $sockets
run "network, 2 ranks, two nodes, pipeline" 2 pipeline NODES=2 $sockets
run "network, 2 ranks, one node, CUDA graph" 2 graph NCCL_SCOREP_PRESET=network
run "network, 2 ranks, two nodes, CUDA graph" 2 graph NCCL_SCOREP_PRESET=network NODES=2 $sockets
run "network, one process, 2 GPUs" 2 single NCCL_SCOREP_PRESET=network
run "network, 4 ranks, one node, collectives" 4 collectives NCCL_SCOREP_PRESET=network
run "network, 4 ranks, two nodes, collectives" 4 collectives NCCL_SCOREP_PRESET=network NODES=2 $sockets
run "network, 4 ranks, four nodes, pipeline" 4 pipeline NODES=4 $sockets
run "network, 4 ranks, communicators made and destroyed" 4 communicators NCCL_SCOREP_PRESET=network
if [ -n "$second" ]; then
  second=$(realpath "$second")
  run "network, 2 ranks, with a second plugin" 2 collectives NCCL_SCOREP_CHAIN="$second" SECOND_PLUGIN_REPORT="$scratch/second.%p"
  run "network, 2 ranks, two nodes, with a second plugin" 2 collectives NCCL_SCOREP_CHAIN="$second" NODES=2 $sockets
  run "network, 2 ranks, with a second plugin that is missing" 2 collectives NCCL_SCOREP_CHAIN=/no/such/plugin.so
fi
run "network, 2 ranks, two nodes, recorded" 2 collectives NCCL_SCOREP_RECORD="$scratch/recording" NODES=2 $sockets

echo "$runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
