#!/usr/bin/env bash
# The overhead experiments: all-reduces, all-gathers, broadcasts, sends and receives of 8 B to 1 GiB, and communicators
# made and destroyed, on one node and on pretended ones; without a plugin, with an empty one, with each preset and each
# NCCL_SCOREP_GPU_TIME, under Score-P, and with NVIDIA's example and inspector.
#
#   tests/gpu/overhead.sh [LIBRARY]
#
# LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release). These may be set:
#   REDUCED=1     fewer sizes and operations, shorter
#   ROUNDS        20; 7 if reduced. Intervals need 6
#   RANKS         2
#   NODES         "1 2"
#   NCCL_SOURCE   a checkout of NCCL, to build NVIDIA's plugins
#   NCCL_LIBRARY  the file of another NCCL than PyTorch's
#   KEEP          a directory for overhead.md with the tables, and for each number of nodes all measurements and a plot
# Settings that cannot be built are named. Where there are fewer GPUs than ranks, these share them, on pretended nodes
# alone.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/setup.sh
. "$here/setup.sh" "${1:-}"
ranks=${RANKS:-2}
unset NCCL_PROFILER_PLUGIN NCCL_SCOREP_GPU_TIME NCCL_SCOREP_PRESET
# broadcasts never end in NCCL 2.29 and 2.30 where kernel events are asked for
export NCCL_ALLGATHERV_ENABLE=0

compiler=${CC:-$(command -v cc || command -v gcc)}
"$compiler" -std=gnu11 -O2 "$here/overhead.c" -o "$scratch/overhead" -ldl || exit 1
"$compiler" -std=gnu11 -O2 -shared -fPIC "$here/empty_plugin.c" -o "$scratch/libnccl-profiler-empty.so" || exit 1
read -r libcudart libnccl < <(loaded)

settings=()
# name, program or null, variables: one more setting
setting() {
  local name=$1 program=$2 pair variables=''
  shift 2
  for pair in "$@"; do variables+="${variables:+, }\"${pair%%=*}\": \"${pair#*=}\""; done
  settings+=("[\"$name\", {$variables}, $program]")
}
setting "no plugin" null
setting "empty plugin" null NCCL_PROFILER_PLUGIN=empty
for preset in api light network full; do
  setting "$preset" null NCCL_PROFILER_PLUGIN=scorep NCCL_SCOREP_PRESET=$preset
done
for gpu_time in stamps events off; do
  setting "network, $gpu_time" null NCCL_PROFILER_PLUGIN=scorep NCCL_SCOREP_GPU_TIME=$gpu_time
done

# NVIDIA's own plugins, of a checkout
for plugin in example inspector; do
  source=${NCCL_SOURCE:-/nowhere}/plugins/profiler/$plugin
  if [ -d "$source" ] && make -C "$source" >"$scratch/$plugin.log" 2>&1 &&
    built=$(find "$source" "${NCCL_SOURCE}" -name "libnccl-profiler-$plugin.so" -print -quit) && [ -n "$built" ]; then
    # each writes only if it is asked for; this is what it takes to collect
    setting "NVIDIA's $plugin" null NCCL_PROFILER_PLUGIN="$built" NCCL_PROFILE_EVENT_MASK=4095 NCCL_INSPECTOR_ENABLE=1 \
      NCCL_INSPECTOR_DUMP_DIR="$scratch/$plugin" NCCL_PROFILE_DUMP_FILE="$scratch/$plugin.dump"
  else
    echo "left out: NVIDIA's $plugin (NCCL_SOURCE names no checkout that builds it)"
  fi
done

# with Score-P: profile and trace, in an instrumented program
if command -v scorep >/dev/null && scorep --thread=pthread --nocompiler "$compiler" -std=gnu11 -O2 "$here/overhead.c" \
  -o "$scratch/overhead.scorep" -ldl >"$scratch/scorep.log" 2>&1; then
  for name in libscorep_substrate_nccl libnccl_plugin; do ln -sf "$library" "$scratch/$name.so"; done
  setting "network, with Score-P" "\"$scratch/overhead.scorep\"" NCCL_PROFILER_PLUGIN=scorep \
    SCOREP_METRIC_PLUGINS=nccl_plugin SCOREP_METRIC_NCCL_PLUGIN=default SCOREP_SUBSTRATE_PLUGINS=nccl \
    SCOREP_ENABLE_TRACING=true SCOREP_TOTAL_MEMORY=512M
else
  echo "left out: Score-P (no scorep on PATH that builds the program)"
fi

failed=0
for nodes in ${NODES:-1 2}; do
  if [ "$nodes" -lt "$ranks" ] && [ "$gpus" -lt "$ranks" ]; then
    echo "skipped  $ranks ranks on $nodes nodes: $ranks GPUs are needed, there are $gpus"
    continue
  fi
  arguments=("$scratch" "$scratch/overhead" "$libcudart" "${NCCL_LIBRARY:-$libnccl}" "$gpus" "$ranks" "$nodes")
  if printf '%s\n' "${settings[@]}" | "$python" "$here/overhead.py" "${arguments[@]}" |
    tee -a "$scratch/overhead.md"; then
    "$python" "$here/overhead_plot.py" "$scratch/overhead.$nodes.json" "$scratch/overhead.$nodes.svg" || failed=1
  else
    failed=1
  fi
done
exit "$failed"
