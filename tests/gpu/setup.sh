# shellcheck shell=bash
# What the scripts here have in common; sourced, with the library's path or nothing. Sets `here`, `library`, `python`,
# `gpus` and `scratch` (KEEP names a directory for what the runs write; without it that is removed), and an environment
# in which NCCL finds the library as the plugin `scorep`. NCCL_LIBRARY, the file of another NCCL than PyTorch's, is for
# programs that are started with "${nccl[@]}". Where there is no GPU it says so, and the script is over.
library=$(realpath "${1:-$here/../../target/shipped/release/libscorep_substrate_nccl.so}")
TOOL=$(dirname "$library")/scorep-nccl
export TOOL PYTHONDONTWRITEBYTECODE=1

python=${PYTHON:-python3}
gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())' 2>/dev/null || echo 0)
if [ "$gpus" -lt 1 ]; then
  echo "skipped: no GPU, or no PyTorch that sees one"
  exit 0
fi
[ -f "$library" ] || { echo "$library is missing: build it first (make library tool)"; exit 1; }

scratch=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"
ln -sf "$library" "$scratch/libnccl-profiler-scorep.so"
export LD_LIBRARY_PATH="$scratch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# NCCL 2.23 to 2.25 know no short name
export NCCL_PROFILER_PLUGIN=libnccl-profiler-scorep.so

nccl=()
if [ -n "${NCCL_LIBRARY:-}" ]; then
  NCCL_LIBRARY=$(realpath "$NCCL_LIBRARY")
  export NCCL_LIBRARY
  nccl=("LD_PRELOAD=$NCCL_LIBRARY")
fi

# Prints the files of CUDA's runtime and of NCCL that PyTorch loads.
loaded() {
  "$python" - <<'END'
import re
import torch
mapped = set(re.findall(r"\S+/lib(?:cudart|nccl)\.so[.\d]*", open("/proc/self/maps").read()))
print(*(next(path for path in mapped if f"/{name}.so" in path) for name in ("libcudart", "libnccl")))
END
}

# Says that a run is right, if its status is 0, or wrong, which the script counts in `wrong`, with the end of its log.
# shellcheck disable=SC2154 # the script sets `out`
say() {
  if [ "$1" = 0 ]; then
    echo "right    $2"
  else
    wrong=$((wrong + 1))
    echo "WRONG    $2"
    tail -n 25 "$out/log" | sed 's/^/         /'
  fi
}

# the GPUs, PyTorch and the NCCL that is loaded
env "${nccl[@]}" PYTHONPATH="$here" "$python" - <<'END'
import torch
import ranks
release = ranks.nccl_release()
print(f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, "
      f"NCCL {release // 10000}.{release // 100 % 100}.{release % 100}")
END
