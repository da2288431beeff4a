#!/usr/bin/env bash
# What the library costs on GPUs, in turn with no plugin and an empty one: an all-reduce of 8 B to 64 MiB, and steps of
# a training. With `masked`: the cost of presets' event types in the steps of one process, in turn with none. With
# `calls`: that of the calls of all-reduces, also where ranks share a GPU.
#
#   tests/gpu/cost.sh [LIBRARY] [latency|steps|masked|calls]...
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release). These may be set: RANKS (2), ROUNDS (3),
# COPIES (1; processes a setting: two of one setting differ by some per cent), SETTINGS ("auto stamps events off": GPU
# times, or presets), and NCCL_LIBRARY, the file of another NCCL than PyTorch's. Three rounds of one copy take 5 minutes
# each. Exit status 1 when the default costs more than it should.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
[ $# -gt 0 ] && shift
ranks=${RANKS:-2}
if [ "$gpus" -lt "$ranks" ] && [ "${*:-latency}" != calls ]; then
  echo "skipped: $ranks GPUs are needed, there are $gpus"
  exit 0
fi

# both are compiled where they run, and need no headers of CUDA or NCCL
compiler=${CC:-$(command -v cc || command -v gcc)}
for program in latency calls; do
  "$compiler" -std=gnu11 -O2 "$here/$program.c" -o "$scratch/$program" -ldl || exit 1
done
for plugin in empty masked; do
  "$compiler" -std=gnu11 -O2 -shared -fPIC "$here/${plugin}_plugin.c" -o "$scratch/libnccl-profiler-$plugin.so" -ldl ||
    exit 1
done
read -r libcudart libnccl < <(loaded)

# each setting says itself which plugin it has
unset NCCL_PROFILER_PLUGIN NCCL_SCOREP_GPU_TIME
export GPUS=$gpus
wrong=0
for part in "${@:-latency steps}"; do
  for each in $part; do
    arguments=("$each" "$ranks" "$scratch" "$scratch/latency" "$libcudart" "${NCCL_LIBRARY:-$libnccl}")
    "$python" "$here/cost.py" "${arguments[@]}" || wrong=1
  done
done
exit "$wrong"
