#!/usr/bin/env bash
# Lets a real NCCL load the library under PyTorch, in every preset, and checks what comes out against what the program did.
#
#   tests/gpu/run.sh [LIBRARY] [SECOND_PLUGIN]...
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release); a recording is played with the tool beside it. Each SECOND_PLUGIN
# (tests/c/programs/second_plugin.c, which cargo compiles) is chained. NCCL_LIBRARY is the file of another NCCL than PyTorch's, ONLY an expression for the
# names of the runs that are wanted. What GPU times are worth is shown by truth.sh, which is called at the end unless ONLY is set; what they
# cost, by cost.sh.
# Prints one line a run and a total; exit status 1 when one of them is wrong. Where there is no GPU it says so and that is all.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"

wrong=0
runs=0
# name, ranks, what the program does, settings
run() {
  local name=$1 ranks=$2 program=$3 result
  shift 3
  [[ $name =~ ${ONLY:-} ]] || return
  if [ "$ranks" -gt "$gpus" ]; then
    echo "skipped  $name: needs $ranks GPUs, there are $gpus"
    return
  fi
  local out="$scratch/$runs"
  mkdir "$out"
  runs=$((runs + 1))
  if env "${nccl[@]}" "$@" timeout --kill-after=10 150 "$python" "$here/program.py" "$program" "$ranks" "$out" >"$out/log" 2>&1 &&
    result=$("$python" "$here/check.py" "$program" "$out" "$@" 2>&1); then
    echo "right    $name: $result"
  else
    wrong=$((wrong + 1))
    echo "WRONG    $name: exit $?: ${result:-}"
    tail -n 25 "$out/log" | sed 's/^/         /'
  fi
}

# pretended nodes: NCCL_HOSTID by program.py, and sockets over loopback in place of a network
sockets="NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo"

# settings: every program on one node and on two
everything() {
  local name=$1
  shift
  for program in collectives pipeline graph; do
    run "$name, 2 ranks, one node, $program" 2 $program "$@"
    run "$name, 2 ranks, two nodes, $program" 2 $program "$@" NODES=2 $sockets
  done
  run "$name, one process with 2 GPUs" 2 single "$@"
}

for preset in light network full api; do
  everything $preset NCCL_SCOREP_PRESET=$preset
done
for plugin in "${@:2}"; do
  everything "full, with $(basename "$plugin")" NCCL_SCOREP_PRESET=full NCCL_SCOREP_CHAIN="$(realpath "$plugin")"
done
run "network, 2 ranks, one node, with a second plugin that is missing" 2 collectives NCCL_SCOREP_CHAIN=/no/such/plugin.so
run "full, 2 ranks, two nodes, recorded" 2 collectives NCCL_SCOREP_PRESET=full NCCL_SCOREP_RECORD="$scratch/recording" NODES=2 $sockets

# a library that was built with OpenTelemetry knows textfiles, too
if grep -q nccl_process_info "$library"; then
  mkdir "$scratch/textfiles"
  run "network, 2 ranks, two nodes, with textfiles" 2 collectives NCCL_SCOREP_PROM_DIR="$scratch/textfiles" NODES=2 $sockets
fi

run "network, 4 ranks, one node, collectives" 4 collectives
run "network, 4 ranks, two nodes, collectives" 4 collectives NODES=2 $sockets
run "network, 4 ranks, four nodes, pipeline" 4 pipeline NODES=4 $sockets
run "network, 4 ranks, one node, communicators made and destroyed" 4 communicators
run "full, one process with 4 GPUs" 4 single NCCL_SCOREP_PRESET=full

# connections are made at the start and not during the first operation, so that every operation's time counts
for ranks in 2 4; do
  run "network, $ranks ranks, one node, times" $ranks timing NCCL_RUNTIME_CONNECT=0
done
run "light, 2 ranks, two nodes, times" 2 timing NCCL_RUNTIME_CONNECT=0 NCCL_SCOREP_PRESET=light NODES=2 $sockets

# each source of GPU times
for gpu_time in stamps events off; do
  run "network, 2 ranks, one node, GPU times: $gpu_time" 2 collectives NCCL_SCOREP_GPU_TIME=$gpu_time
  run "network, 2 ranks, two nodes, GPU times: $gpu_time" 2 collectives NCCL_SCOREP_GPU_TIME=$gpu_time NODES=2 $sockets
done

# this never ends in NCCL 2.29 and 2.30 where kernel events are asked for
run "network, 2 ranks, one node, broadcasts" 2 broadcasts
run "network, 2 ranks, two nodes, broadcasts" 2 broadcasts NODES=2 $sockets
run "network, 4 ranks, one node, broadcasts" 4 broadcasts

echo "$runs runs, $wrong wrong"
if [ -z "${ONLY:-}" ]; then
  KEEP="$scratch/truth" "$here/truth.sh" "$library" || wrong=$((wrong + 1))
fi
[ "$wrong" -eq 0 ]
