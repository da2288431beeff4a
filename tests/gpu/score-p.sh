#!/usr/bin/env bash
# MPI, CUDA and NCCL in one measurement of Score-P. Runs a program of MPI that computes on one stream and communicates
# on another (score_p.c), with the CUDA adapter by the runtime's calls, by the driver's and by its defaults, on one node
# and on two pretended ones. Checks in the archive, as otf2-print shows it, that lanes lie where the adapter's kernels
# do, that counts and bytes are the program's, that the profile has the kernels, that the summary names the rank that is
# late on purpose, that MPI, CUDA and NCCL are in order on one time line, and that MPI's messages are those of NCCL's
# sends. Then it runs PyTorch under Score-P's Python bindings (score_p_torch.py), where they are installed, and checks
# counts and bytes.
#
#   tests/gpu/score-p.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with the tool beside it. Needs `scorep`
# and `otf2-print` of a Score-P with MPI and CUDA on PATH. MPIRUN ("mpirun --oversubscribe --bind-to none") starts the
# ranks, one for each GPU and 2 at least; where there are fewer GPUs, ranks share them, on pretended nodes alone.
# PROGRAM names the program if it was compiled before, LIBCUDART the runtime that Score-P was built with, and
# NCCL_LIBRARY the file of another NCCL than PyTorch's. KEEP names a directory for what the runs write. Prints two
# lines a run and a total; exit status 1 when one of them is wrong.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
# NCCL's threads need processors beside those of the calling threads
mpirun=${MPIRUN:-mpirun --oversubscribe --bind-to none}
ranks=$((gpus < 2 ? 2 : gpus))
wrong=0
runs=0

skip() {
  echo "skipped: $1"
  exit 0
}
command -v scorep-info >/dev/null || skip "no Score-P on PATH"
command -v otf2-print >/dev/null || skip "no otf2-print on PATH"
command -v "${mpirun%% *}" >/dev/null || skip "no ${mpirun%% *} on PATH"
scorep-info config-summary | grep -qiE '^ *CUDA support: +yes' || skip "this Score-P was built without CUDA"

program=${PROGRAM:-$scratch/score_p}
if [ -z "${PROGRAM:-}" ]; then
  scorep --user --cuda --mpp=mpi --thread=pthread mpicc -std=gnu11 -O2 "$here/score_p.c" -o "$program" -ldl || exit 1
fi
# Score-P's adapter and the program have one runtime of CUDA, else the adapter does not see its calls
adapter=$(find "$(dirname "$(command -v scorep-info)")/.." -name 'libscorep_adapter_cuda_*.so*' 2>/dev/null | head -n 1)
used=$(ldd "${adapter:-/bin/true}" "$program" 2>/dev/null | awk '/libcudart/ { print $3; exit }')
libcudart=${LIBCUDART:-$used}
[ -n "$libcudart" ] || skip "no libcudart beside Score-P's adapter: LIBCUDART may name it"
libnccl=${NCCL_LIBRARY:-$(loaded | cut -d ' ' -f 2)}

# name, nodes, features of the adapter
run() {
  local name=$1 nodes=$2 features=$3 failed=0 result=''
  local out="$scratch/score-p.$runs"
  mkdir -p "$out"
  runs=$((runs + 1))
  # its command and options are words
  # shellcheck disable=SC2086
  SCOREP_ENABLE_TRACING=true SCOREP_ENABLE_PROFILING=true SCOREP_TOTAL_MEMORY=128M SCOREP_CUDA_ENABLE="$features" \
    SCOREP_EXPERIMENT_DIRECTORY="$out/experiment" NCCL_SCOREP_HOST_REGIONS=on NCCL_RUNTIME_CONNECT=0 \
    timeout --kill-after=10 150 $mpirun -n "$ranks" "$TOOL" run -- "$program" "$libcudart" "$libnccl" \
    "$gpus" "$nodes" "$out" >"$out/log" 2>&1 || failed=$?
  if [ "$failed" = 0 ] && result=$("$python" "$here/score_p.py" "$out" 2>&1); then
    echo "right    $name, $ranks ranks on $nodes nodes, $features: $result"
  else
    wrong=$((wrong + 1))
    echo "WRONG    $name, $ranks ranks on $nodes nodes, $features: exit $failed: $result"
    tail -n 25 "$out/log" | sed 's/^/         /'
  fi
}

# PyTorch under Score-P's Python bindings: a measurement for each process
run_torch() {
  local out="$scratch/score-p.torch" number failed=0 result='' jobs=() pretended=()
  mkdir -p "$out"
  runs=$((runs + 1))
  for number in $(seq 0 $((ranks - 1))); do
    [ "$gpus" -ge "$ranks" ] || pretended=(NCCL_HOSTID="node$number" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo)
    env "${pretended[@]}" RANK="$number" WORLD_SIZE="$ranks" MASTER_ADDR=127.0.0.1 MASTER_PORT="${MASTER_PORT:-29511}" \
      SCOREP_ENABLE_TRACING=true SCOREP_TOTAL_MEMORY=256M SCOREP_EXPERIMENT_DIRECTORY="$out/experiment.$number" \
      timeout --kill-after=10 150 "$TOOL" run -- "$python" -m scorep --mpp=none --thread=pthread \
      "$here/score_p_torch.py" "$out" >"$out/log.$number" 2>&1 &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job" || failed=$?; done
  if [ "$failed" = 0 ] && result=$("$python" "$here/score_p.py" "$out" 2>&1); then
    echo "right    PyTorch under Score-P's Python bindings, $ranks ranks: $result"
  else
    wrong=$((wrong + 1))
    echo "WRONG    PyTorch under Score-P's Python bindings, $ranks ranks: exit $failed: $result"
    tail -n 15 "$out"/log.* | sed 's/^/         /'
  fi
}

for features in runtime,kernel,memcpy driver,kernel,memcpy yes; do
  if [ "$gpus" -ge "$ranks" ]; then
    run "one node" 1 "$features"
  else
    echo "skipped  one node, $features: needs $ranks GPUs"
  fi
  run "pretended nodes" 2 "$features"
done
if "$python" -c 'import scorep' 2>/dev/null; then
  run_torch
else
  echo "skipped  PyTorch under Score-P's Python bindings: no Python package scorep"
fi
echo "$runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
