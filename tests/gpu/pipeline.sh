#!/usr/bin/env bash
# examples/pipeline on GPUs: are its results those of one process, is its bubble the simulated one, and does the
# report show both the bubble and the slow stage?
#
#   tests/gpu/pipeline.sh PIPELINE [LIBRARY] [TOOL]
#
# PIPELINE is examples/pipeline's program (cargo build --release), LIBRARY libscorep_substrate_nccl.so and TOOL
# scorep-nccl (default: both of target/shipped/release). NCCL and cuBLAS are those of PyTorch's packages, or what
# LD_LIBRARY_PATH finds. OUT names a directory for what comes out: pipeline.log, pipeline.md (tables), reports.txt,
# recordings.tar. These may be set: SIZE (the model's options), STAGES ("2 4"), STEPS (10), LIMIT (seconds a run, 150),
# and LONG, seconds of one long run, which is then the only one: the memory in use is to stay as it is.
# Prints one line a run and a total; exit status 1 when one is wrong. Takes some 5 minutes on two GPUs. On one GPU, all
# stages share it as pretended nodes: results are judged, shares of time are not.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
shipped=$here/../../target/shipped/release
program=$(realpath "${1:?the program of examples/pipeline}")
library=$(realpath "${2:-$shipped/libscorep_substrate_nccl.so}")
tool=$(realpath "${3:-$shipped/scorep-nccl}")
for file in "$program" "$library" "$tool"; do
  [ -f "$file" ] || { echo "$file is missing"; exit 1; }
done
chmod +x "$program" "$tool" 2>/dev/null
python=${PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=${OUT:-$scratch/out}
mkdir -p "$out"
log=$out/pipeline.log
: >"$log"

# PyTorch's packages of NCCL and CUDA: nvidia/*/lib
packages=$("$python" - 2>>"$log" <<'END'
import glob
import importlib.util
import os
roots = []
for name in ("nvidia", "torch"):
    found = importlib.util.find_spec(name)
    roots += list(found.submodule_search_locations or []) if found else []
roots += [os.path.join(os.path.dirname(root), "nvidia") for root in roots]
libraries = {os.path.dirname(path) for root in roots for path in glob.glob(root + "/*/lib/lib*.so*")}
print(":".join(sorted(libraries)))
END
)
export LD_LIBRARY_PATH="${packages:+$packages:}${LD_LIBRARY_PATH:-}"
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
pretended=()
[ "$gpus" -ge 2 ] || pretended=(--pretended-nodes)
missing=$("$program" --stages 1 --layers 1 --hidden 64 --tokens 64 --microbatches 1 --steps 1 --warmup 1 2>&1 >>"$log")
case $? in
  0) ;;
  3) echo "skipped: $missing"; exit 0 ;;
  *) echo "WRONG    one process does not run: $missing"; exit 1 ;;
esac
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader | tee -a "$log"

runs=0
wrong=0
# status, name, what it says
tell() {
  runs=$((runs + 1))
  if [ "$1" -eq 0 ]; then
    echo "right    $2: $3" | tee -a "$log"
  else
    wrong=$((wrong + 1))
    echo "WRONG    $2: $3" | tee -a "$log"
    tail -n 15 "$scratch/last" | sed 's/^/         /'
  fi
}
# The program, with its output in `last` and in the log. The library's settings come from the caller.
start() {
  echo "+ $*" >>"$log"
  timeout --kill-after=10 "${LIMIT:-150}" "$@" >"$scratch/last" 2>&1
  local status=$?
  cat "$scratch/last" >>"$log"
  return "$status"
}
measured() {
  NCCL_SCOREP_RECORD=$1 start "$tool" run --library "$library" -- "$program" "${pretended[@]}" "${@:2}"
}

# Figures of the program and of the report, held against each other: JSON of both, the GPUs, the slow stage or nothing.
cat >"$scratch/judge.py" <<'END'
import json
import re
import sys

figures, report = (json.load(open(path)) for path in sys.argv[1:3])
gpus, slow = int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None
shared = figures["stages"] > gpus
complete, wrong, said = report["complete"], [], []
known = {part: report[part].get("known") or {} for part in ("budget", "late", "steps")}
messages = sum(sum(stage["outcome"]["messages"][way] for way in ("sends", "receives")) for stage in figures["by_stage"])
said.append(f"{complete['operations']} operations of {messages} messages, {complete['untimed']} untimed, "
            f"{complete['unmatched']} unmatched")
if complete["operations"] != messages or complete["dropped"] or complete["unfinished"]:
    wrong.append("not all messages are in the report")
whole = known["budget"].get("whole")
if not whole or not whole["total_ns"]:
    sys.exit("the report has no budget")
waiting = whole["waiting_ns"] / whole["total_ns"]
formula, bubble, simulated = (figures[name] for name in ("formula", "bubble", "simulated"))
# the formula knows neither a loss nor the time of messages, the simulation does
off = lambda share: share / simulated - 1
said.append(f"bubble {100 * bubble:.1f} % by the program ({100 * off(bubble):+.1f} % of it), waiting {100 * waiting:.1f} % "
            f"by the report ({100 * off(waiting):+.1f} %), formula {100 * formula:.1f} %, simulated {100 * simulated:.1f} %")
said.append(f"{figures['samples_per_second']:.1f} samples/s")
if slow is None:
    # GPUs that processes share take turns at the driver's will: told, not judged
    if not shared and abs(off(bubble)) > 0.1:
        wrong.append("the program's bubble is off by more than 10 %")
    if not shared and abs(off(waiting)) > 0.1:
        wrong.append("the report's waiting is off by more than 10 %")
else:
    # `rank 2`, or `process 2` where the recordings do not name their ranks: processes are in the stages' order then
    name = lambda place: int((re.findall(r"\d+", str(report["gpus"][place])) or [place])[0])
    late = known["late"].get("ranks") or []
    own = max(range(len(late)), key=lambda place: late[place]["own_us"])
    busiest = max(range(len(known["budget"]["gpus"])), key=lambda place: known["budget"]["gpus"][place]["idle_ns"])
    said.append(f"slow stage {slow}: by the program {figures['slowest']}, late most by the report {name(own)}, "
                f"longest without NCCL {name(busiest)}; GPUs {json.dumps(report['gpus'])[:300]}")
    if not figures["slowest"] or figures["slowest"][0] != int(slow):
        if not shared:
            wrong.append("the program does not find the slow stage")
    if not shared and int(slow) not in (name(own), name(busiest)):
        wrong.append("the report does not show the slow stage")
print("; ".join((["GPUs are shared"] if shared else []) + said + wrong))
sys.exit(bool(wrong))
END

# stages, schedule, slow stage or nothing
compare() {
  local stages=$1 schedule=$2 slow=${3:-} name recording result status words
  name="$stages stages, $schedule${slow:+, slow $slow}"
  recording="$scratch/$stages.$schedule.${slow:-equal}"
  read -ra words <<<"${SIZE:---hidden 4096 --tokens 2048 --layers 8 --microbatches 8}"
  words+=(--stages "$stages" --schedule "$schedule" --steps "${STEPS:-10}" --json "$recording.json")
  [ -z "$slow" ] || words+=(--slow "$slow")
  if ! measured "$recording" "${words[@]}"; then
    tell 1 "$name" "the run failed or took too long"
    return
  fi
  { echo "### $name"; echo; grep '^|' "$scratch/last"; echo; } >>"$out/pipeline.md"
  "$tool" report --library "$library" "$recording" --part steps,late --json "$recording.report.json" \
    >"$scratch/report" 2>&1
  { echo "### $name"; cat "$scratch/report"; echo; } >>"$out/reports.txt"
  result=$("$python" "$scratch/judge.py" "$recording.json" "$recording.report.json" "$gpus" ${slow:+"${slow%%:*}"} 2>&1)
  status=$?
  tell "$status" "$name" "$result"
  [ "$stages.$schedule" != 2.1f1b ] || tar -C "$scratch" -rf "$out/recordings.tar" "$(basename "$recording")" 2>>"$log"
}

if [ -n "${LONG:-}" ]; then
  LIMIT=$((LONG + 120))
  mkdir -p "$scratch/long"
  read -ra words <<<"${SIZE:-}"
  NCCL_SCOREP_SUMMARY=$scratch/long/summary.%p.json NCCL_SCOREP_SUMMARY_SECONDS=5 \
    start "$tool" run --library "$library" -- "$program" "${pretended[@]}" "${words[@]}" --stages 2 --seconds "$LONG" \
    --json "$scratch/long/figures.json"
  status=$?
  result=$("$python" - "$scratch/long" 2>&1 <<'END'
import glob
import json
import sys
figures = json.load(open(f"{sys.argv[1]}/figures.json"))
wrong, made, seen = [], {"Send": [0, 0], "Recv": [0, 0]}, {}
for stage in figures["by_stage"]:
    outcome = stage["outcome"]
    (first, last), steps, messages = outcome["memory"], outcome["steps"], outcome["messages"]
    for func, way in (("Send", "sends"), ("Recv", "receives")):
        made[func] = [made[func][0] + messages[way], made[func][1] + messages[way] * messages["bytes"]]
    mib = [f"{memory[of] / 2**20:.0f}" for of in ("resident", "device") for memory in (first, last)]
    print(f"stage {stage['stage']}: {steps['count']} steps in {steps['seconds']:.0f} s, resident {mib[0]} to {mib[1]} MiB, "
          f"GPU {mib[2]} to {mib[3]} MiB", end="; ")
    wrong += [f"stage {stage['stage']}: memory grows"] if last["resident"] - first["resident"] > 32 * 2**20 else []
    wrong += [f"stage {stage['stage']}: GPU memory grows"] if last["device"] - first["device"] > 32 * 2**20 else []
summaries = [json.load(open(path)) for path in glob.glob(f"{sys.argv[1]}/summary.*.json")]
for row in (row for summary in summaries for row in summary["operations"]):
    count = seen.setdefault(row["func"], [0, 0])
    count[0], count[1] = count[0] + row["count"], count[1] + row["bytes"]
lost = ("dropped", "unfinished", "invisible", "ignored_handles", "unknown_events", "orphans")
for process in (process for summary in summaries for process in summary["processes"]):
    wrong += [f"{field} is {process[field]}" for field in lost if process[field]]
timed = sum(row["gpu_timed"] for summary in summaries for row in summary["operations"])
print(f"{sum(count for count, _ in seen.values())} messages, {timed} timed", end="; ")
wrong += [f"the summaries have {seen}, the program made {made}"] if seen != made else []
print(f"{figures['samples_per_second']:.1f} samples/s, loss {figures['loss'][0]:.6f} to {figures['loss'][1]:.6f}", *wrong, sep="; ")
sys.exit(bool(wrong))
END
  ) && [ "$status" -eq 0 ]
  tell $? "$LONG seconds" "$result"
else
  small=(--hidden 1024 --tokens 512 --layers 8 --microbatches 6 --steps 3 --check)
  for stages in ${STAGES:-2 4}; do
    for schedule in gpipe 1f1b; do
      measured "$scratch/check" "${small[@]}" --stages "$stages" --schedule "$schedule"
      tell $? "$stages stages, $schedule, checked" "$(grep '^check:' "$scratch/last")"
    done
    for schedule in gpipe 1f1b; do
      compare "$stages" "$schedule"
      compare "$stages" "$schedule" "$((stages / 2)):1.5"
    done
  done
fi
echo "$runs runs, $wrong wrong" | tee -a "$log"
[ "$wrong" -eq 0 ]
