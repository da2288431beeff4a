#!/usr/bin/env bash
# Does the report name the cause of a late rank? Two processes with a GPU each train for some seconds, one of them with a
# fault: a sleep, a busy processor, few processors, stops, more kernels, or none.
#
#   tests/gpu/causes.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release). ROUNDS (1) is the number of runs of each
# fault, STEPS (700) that of steps, PROCESSORS (4) the first of the two processors that it binds processes to, and FAULTS
# the faults. So two of it run beside each other on four GPUs. KEEP names a directory for the recordings and reports.
# Prints one line a run and a total; exit status 1 when a cause is wrong. Needs two GPUs, PyTorch, taskset, and eight
# processors.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
if [ "$gpus" -lt 2 ] || [ "$(nproc)" -lt 8 ]; then
  echo "skipped: two GPUs and eight processors are needed"
  exit 0
fi
wrong=0
first=${PROCESSORS:-4}
second=$((first + 1))
busy=''
trap '[ -z "$busy" ] || kill -9 "$busy" 2>/dev/null; [ -n "${KEEP:-}" ] || rm -rf "$scratch"' EXIT

# Stops a process for 50 ms, now and then, until it ends.
stop() {
  while [ ! -e "$1" ]; do sleep 0.1; done
  local process
  process=$(cat "$1")
  sleep 1.5
  while kill -STOP "$process" 2>/dev/null; do
    sleep 0.05
    kill -CONT "$process" 2>/dev/null
    sleep "0.$((2 + RANDOM % 4))"
  done
}

# fault, round
run() {
  local fault=$1 out="$scratch/causes.$1.$2" rank bound jobs=()
  rm -rf "$out"
  mkdir -p "$out"
  for rank in 0 1; do
    bound=()
    [ "$fault" = busy ] && bound=(taskset -c "$((first + rank))")
    [ "$fault" = few ] && [ "$rank" = 1 ] && bound=(taskset -c "$second")
    env RANK="$rank" OMP_NUM_THREADS=1 SLURM_PROCID="$rank" SLURM_NTASKS=2 SLURM_JOB_ID=1 NCCL_SCOREP_PRESET=light \
      NCCL_SCOREP_CONDITIONS=all NCCL_SCOREP_RECORD="$out/recordings" "${nccl[@]}" \
      timeout --kill-after=10 120 "${bound[@]}" "$python" "$here/causes.py" train "$fault" "${STEPS:-700}" "$out" \
      >"$out/log.$rank" 2>&1 &
    jobs+=($!)
  done
  busy=''
  case $fault in
    busy | few)
      taskset -c "$second" sh -c 'while :; do :; done' &
      busy=$!
      ;;
    stops)
      stop "$out/process.1" &
      busy=$!
      ;;
  esac
  wait "${jobs[@]}"
  [ -z "$busy" ] || { kill -9 "$busy" 2>/dev/null; wait "$busy" 2>/dev/null; }
  busy=''
  "$TOOL" report "$out/recordings" --json "$out/report.json" >"$out/report.txt" 2>&1
  "$python" "$here/causes.py" judge "$fault" "$out/report.json" || wrong=$((wrong + 1))
}

for round in $(seq "${ROUNDS:-1}"); do
  for fault in ${FAULTS:-none sleep busy few stops kernels}; do
    run "$fault" "$round"
  done
done
echo "$wrong wrong"
[ "$wrong" = 0 ]
