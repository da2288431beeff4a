#!/usr/bin/env bash
# Do status files name the rank that a real NCCL waits for, and do switched event types leave the counts exact? Runs
# PyTorch under torchrun on 2 GPUs, without MPI: a rank that skips an all-reduce, one that sleeps, and switches between
# api and full under load. Ranks share a GPU, as pretended nodes, where there are fewer GPUs than ranks.
#
#   tests/gpu/status.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with the tool beside it. SWITCHES (100),
# RANKS (2) and PRESETS ("api network") may be set, and NCCL_LIBRARY, the file of another NCCL than PyTorch's. Prints
# one line a run and a total; exit status 1 when one of them is wrong. 100 switches take 5 minutes.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
ranks=${RANKS:-2}
switches=${SWITCHES:-100}
wrong=0

# scenario, preset: starts the job in the background, with its files in $out
begin() {
  out="$scratch/status.$1.$2"
  mkdir -p "$out"
  env "${nccl[@]}" NCCL_ALLGATHERV_ENABLE=0 NCCL_SCOREP_STATUS="$out" NCCL_SCOREP_SUMMARY="$out/summary.%r.json" NCCL_SCOREP_PRESET="$2" \
    TORCH_NCCL_ASYNC_ERROR_HANDLING=0 TORCH_NCCL_ENABLE_MONITORING=0 \
    "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$here/status.py" "$1" "$out" \
    >"$out/log" 2>&1 &
  job=$!
}

# torchrun ends its ranks when it is told to end
end() {
  kill -TERM "$job" 2>/dev/null
  wait "$job" 2>/dev/null
}

# waits for a file
await() {
  for _ in $(seq 600); do
    [ -e "$1" ] && return 0
    sleep 0.2
  done
  return 1
}

for preset in ${PRESETS:-api network}; do
  for scenario in skip sleep; do
    begin $scenario $preset
    await "$out/late"
    sleep 12
    found=$("$TOOL" hang "$out" 2>&1)
    status=$?
    # the last rank is the one that has not entered what the others wait in
    [ $status != 0 ] && grep -Eq "rank $((ranks - 1))([^0-9]|$)" <<<"$found"
    say $? "$scenario, $preset: hang ends with $status: $(head -n 3 <<<"$found" | tr '\n' ' ')"
    end
  done
done

begin switch api
for _ in $(seq 300); do
  compgen -G "$out/*.status.json" >/dev/null && grep -q '"entered":[1-9]' "$out"/*.status.json && break
  sleep 0.2
done
for turn in $(seq "$switches"); do
  preset=$([ $((turn % 2)) = 1 ] && echo full || echo api)
  "$TOOL" ask "$out" --preset "$preset" >>"$out/asked" 2>&1
  # 3: in part, as a job that began with api cannot have launches timed
  case $? in 0 | 3) ;; *) break ;; esac
  sleep 1.5
done
touch "$out/stop"
wait "$job"
result=$("$python" "$here/switched.py" "$out" "$switches" 2>&1)
say $? "switch, api and full: $result; $(tail -n 1 "$out/asked")"

echo "$wrong wrong"
[ "$wrong" = 0 ]
