#!/usr/bin/env bash
# Does `run --watch` name a rank of a training that is slow or was stopped, soon and nobody else, and does the watch end
# with the job? Processes train with PyTorch under torchrun, the last one with a fault that begins while it runs, or none.
#
#   tests/gpu/watch.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with the tool and the links of `make library`
# beside it. ROUNDS (1) is the number of runs of each fault, FAULTS ("none slow stop") the faults, RANKS (2) the number of
# processes, and KEEP a directory for status files and logs. Prints one line a run and a total; exit status 1 when one is
# wrong. A run takes a minute. Where GPUs are fewer than ranks, ranks share them, as pretended nodes.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
# `run` names the library by itself
unset NCCL_PROFILER_PLUGIN
ranks=${RANKS:-2}
command -v pgrep >/dev/null || { echo "skipped: pgrep is missing (package procps)"; exit 0; }
wrong=0

# fault, round
run() {
  local fault=$1 status result
  out="$scratch/watch.$1.$2"
  rm -rf "$out"
  mkdir -p "$out"
  env "${nccl[@]}" NCCL_SCOREP_GPU_TIME="${GPU_TIME:-events}" OMP_NUM_THREADS=1 timeout --kill-after=10 150 \
    "$python" -m torch.distributed.run --standalone --no-python --nproc-per-node "$ranks" \
    "$TOOL" run --watch --preset network --status "$out/status" -- \
    "$python" "$here/watched.py" train "$fault" "$out" >"$out/log" 2>&1
  status=$?
  if [ "$status" != 0 ]; then
    say "$status" "$fault: exit $status"
    return
  fi
  # the watch looks again until the job is over, for some 10 s
  for _ in $(seq 150); do
    pgrep -f "watch $out/status --lines" >/dev/null || break
    sleep 0.1
  done
  pgrep -f "watch $out/status --lines" >"$out/left"
  [ $? = 1 ]
  say $? "$fault: the watch has ended"
  cat "$out/status/watch.log" >>"$out/log"
  result=$("$python" "$here/watched.py" judge "$fault" "$out" "$ranks" 2>&1)
  say $? "$result"
}

for round in $(seq "${ROUNDS:-1}"); do
  for fault in ${FAULTS:-none slow stop}; do
    run "$fault" "$round"
  done
done
echo "$wrong wrong"
[ "$wrong" = 0 ]
