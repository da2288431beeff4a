#!/usr/bin/env bash
# The ways of using NCCL on GPUs: one process with several devices; processes with several devices each, a thread a
# device; the same with one thread and ncclGroup; a group of collectives. And the third one with the library linked into
# the program. Checks that each rank has its own counts, bytes and GPU times, and that the recordings have the right
# threads and groups.
#
#   tests/gpu/ways.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release). If an archive of the same name lies beside
# it (make static), a program is linked with it, too. Processes are started by this script, or by Open MPI if MPIRUN is
# its command ("mpirun --oversubscribe"). Where there are fewer GPUs than ranks, processes share them as pretended
# nodes. KEEP names a directory for what the runs write, with a report and tables of each run. Prints one line a run and
# a total; exit status 1 when one of them is wrong.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
archive=${library%.so}.a
wrong=0
runs=0

compiler=${CC:-$(command -v cc || command -v gcc)}
"$compiler" -std=gnu11 -O2 "$here/ways.c" -o "$scratch/ways" -ldl -lpthread || exit 1
read -r libcudart libnccl < <(loaded)

# name, program, way, processes, devices, settings
run() {
  local name=$1 program=$2 way=$3 processes=$4 devices=$5 failed=0 result='' number first process parts=() jobs=()
  shift 5
  if [ $((processes * devices)) -lt 2 ]; then
    echo "skipped  $name: needs 2 GPUs"
    return
  fi
  local out="$scratch/ways.$runs"
  mkdir -p "$out"
  runs=$((runs + 1))
  for number in $(seq 0 $((processes - 1))); do
    first=$((number * devices))
    # broadcasts are operations in NCCL 2.29 to 2.32, too; the connections are made at the start
    process=(env NCCL_ALLGATHERV_ENABLE=0 NCCL_RUNTIME_CONNECT=0 RANK="$number" WORLD_SIZE="$processes"
      NCCL_SCOREP_SUMMARY="$out/summary.$number.json" NCCL_SCOREP_RECORD="$out/recording.$number" "$@")
    if [ $((processes * devices)) -gt "$gpus" ]; then
      first=0
      process+=(NCCL_HOSTID="node$number" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo)
    fi
    process+=(timeout --kill-after=10 150 "$program" "$libcudart" "${NCCL_LIBRARY:-$libnccl}")
    process+=("$way" "$first" "$devices" "$out")
    if [ -z "${MPIRUN:-}" ]; then
      "${process[@]}" >"$out/log.$number" 2>&1 &
      jobs+=($!)
    else
      # a part of Open MPI's job: the launcher's numbers count
      [ "$number" = 0 ] || parts+=(:)
      parts+=(-n 1 "${process[@]}")
    fi
  done
  if [ -n "${MPIRUN:-}" ]; then
    # its options are words
    $MPIRUN "${parts[@]}" >"$out/log" 2>&1 || failed=$?
  fi
  for job in "${jobs[@]}"; do wait "$job" || failed=$?; done
  if [ "$failed" = 0 ] && result=$("$python" "$here/ways.py" "$out" 2>&1); then
    echo "right    $name, $processes x $devices devices: $result"
    "$TOOL" report "$out"/recording.* >"$out/report" 2>&1
    "$TOOL" replay --lateness "$out"/recording.* >"$out/tables" 2>&1
  else
    wrong=$((wrong + 1))
    echo "WRONG    $name, $processes x $devices devices: exit $failed: $result"
    tail -n 15 "$out"/log* | sed 's/^/         /'
  fi
}

each=$((gpus >= 4 ? gpus / 2 : gpus))
run "one process" "$scratch/ways" group 1 "$gpus"
run "a thread a device" "$scratch/ways" threads 2 "$each"
run "one thread and ncclGroup" "$scratch/ways" group 2 "$each"
run "a group of collectives" "$scratch/ways" together 2 "$each"
run "a group of collectives" "$scratch/ways" together 1 "$gpus"

if [ -f "$archive" ]; then
  flags=$(sed -n "s|\${archive}|$archive|; s|^Libs: ||p" "$here/../../cmake/scorep-nccl-static.pc.in")
  # shellcheck disable=SC2086 # flags are words
  "$compiler" -std=gnu11 -O2 "$here/ways.c" -o "$scratch/linked" $flags || exit 1
  # without the directory of the shared library
  settings=(NCCL_PROFILER_PLUGIN=STATIC_PLUGIN LD_LIBRARY_PATH="${LD_LIBRARY_PATH#"$scratch"}")
  run "linked with the library" "$scratch/linked" group 2 "$each" "${settings[@]}"
else
  echo "skipped  linked with the library: $archive is missing (make static)"
fi
echo "$runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
