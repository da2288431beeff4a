#!/usr/bin/env bash
# Are NVML's bytes over NVLink those that NCCL's operations should have moved? Runs all-gathers of known bytes in a loop,
# under torchrun without MPI, on a machine where nobody else uses the GPUs.
#
#   tests/gpu/nvlink.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with the tool beside it. NCCL_LIBRARY may be
# set, the file of another NCCL than PyTorch's.
# On one GPU: the monitor's lines, and a job whose summary has NVML's bytes or the reason why there are none. On two: a
# ring, whose ratio must be within 5 % of 1, and NCCL's own choice of an algorithm, whose bytes may not be known. Prints
# one line a run and a total; exit status 1 when one of them is wrong.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
wrong=0

# name, ranks, verb of nvlink.py, settings
job() {
  local name=$1 ranks=$2 verb=$3 result
  shift 3
  if [ "$ranks" -gt "$gpus" ]; then
    echo "skipped  $name: needs $ranks GPUs, there are $gpus"
    return
  fi
  out="$scratch/nvlink.${name// /_}"
  mkdir -p "$out"
  env "${nccl[@]}" "$@" NCCL_SCOREP_NVLINK=on NCCL_SCOREP_SUMMARY="$out/summary.%r.json" \
    timeout --kill-after=10 200 "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" \
    "$here/nvlink.py" run "$out" >"$out/log" 2>&1 &&
    result=$("$python" "$here/nvlink.py" "$verb" "$out" 2>&1)
  say $? "$name: ${result:-}"
}

out="$scratch/nvlink.monitor"
mkdir -p "$out"
found=$("$TOOL" gpus --interval 1 --count 3 --links --csv "$out/nvlink.csv" --prometheus "$out" 2>&1)
status=$?
sed 's/^/         /' <<<"$found"
[ $status = 0 ] && [ -s "$out/nvlink.csv" ] && compgen -G "$out/*.prom" >/dev/null
say $? "monitor: ends with $status, $(wc -l <"$out/nvlink.csv") rows"

job "one GPU" 1 say
job "ring" 2 check NCCL_ALGO=Ring NCCL_PROTO=Simple
job "ring with LL128" 2 check NCCL_ALGO=Ring NCCL_PROTO=LL128
job "own choice" 2 say

echo "$wrong wrong"
[ "$wrong" = 0 ]
