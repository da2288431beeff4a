"""Compares what a program did with what the plugin saw: check.py WHAT DIRECTORY [SETTING=VALUE ...]. Prints one line, or what is wrong."""

import collections
import glob
import json
import os
import subprocess
import sys

WHAT, DIRECTORY, SETTINGS = sys.argv[1], sys.argv[2], dict(setting.split("=", 1) for setting in sys.argv[3:])
PRESET = SETTINGS.get("NCCL_SCOREP_PRESET", "network")
GPU_TIME = "off" if PRESET == "api" else SETTINGS.get("NCCL_SCOREP_GPU_TIME", "auto")
# releases of NCCL that tell nothing of a broadcast but the call of its API, unless NCCL_ALLGATHERV_ENABLE=0
SILENT_BROADCASTS = range(22900, 23300)
wrong = []
totals = {"operations": 0, "gpu_timed": 0, "event_timed": 0, "transfers": 0, "out_of_step": 0}
deviations, launches = [], []
summaries, lived = [], []


def check(rank):
    with open(f"{DIRECTORY}/did.{rank}.json") as file:
        program = json.load(file)
    with open(f"{DIRECTORY}/summary.{rank}.json") as file:
        summary = json.load(file)
    if program["nccl"] in SILENT_BROADCASTS and GPU_TIME in ("stamps", "off"):
        # without events nobody knows whether they ran
        summary["processes"][0]["invisible"] -= program["did"].pop("Broadcast", [0])[0]
    seen = {}
    for row in summary["operations"]:
        entry = seen.setdefault(row["func"], [0, 0, 0, 0.0, 1e300])
        entry[0] += row["count"]
        entry[1] += row["bytes"]
        entry[2] += row["gpu_timed"]
        entry[3] += row["time_us"]
        entry[4] = min(entry[4], row["min_us"] or 1e300)
    for function, (count, nbytes) in program["did"].items():
        found = seen.get(function, [0, 0])[:2]
        if WHAT == "graph" and PRESET == "api" and "NODES" not in SETTINGS:
            # with neither kernel events nor a proxy NCCL reports the captured operation once, not its replays
            count, nbytes = 2, nbytes // count * 2
        if found != [count, nbytes]:
            wrong.append(f"rank {rank}: {function}: {found} instead of {[count, nbytes]}")
    for function in seen.keys() - program["did"].keys():
        wrong.append(f"rank {rank}: {function} was never called")
    summaries.append(summary)
    process = summary["processes"][0]
    for field in ("dropped", "unfinished", "invisible", "ignored_handles", "unknown_events", "orphans"):
        if process[field]:
            wrong.append(f"rank {rank}: {field} is {process[field]}")
    totals["operations"] += sum(entry[0] for entry in seen.values())
    totals["gpu_timed"] += sum(entry[2] for entry in seen.values())
    totals["event_timed"] += sum(row["event_timed"] for row in summary["operations"])
    totals["transfers"] += sum(row["transfers"] for row in summary["transfers"])
    totals["out_of_step"] += process["out_of_step"]
    if GPU_TIME == "off" and sum(entry[2] for entry in seen.values()):
        wrong.append(f"rank {rank}: GPU times that nobody asked for")
    untimed = [function for function, entry in seen.items() if entry[2] < entry[0]]
    if GPU_TIME in ("auto", "events") and untimed and WHAT != "graph":
        wrong.append(f"rank {rank}: not all operations have a GPU time: {untimed}")
    if PRESET in ("light", "api") and summary["transfers"]:
        wrong.append(f"rank {rank}: transfers without proxy events")
    if PRESET in ("network", "full") and "NODES" in SETTINGS and not summary["transfers"] and (WHAT != "pipeline" or rank == 0):
        wrong.append(f"rank {rank}: no transfers between nodes")
    if program.get("memory"):
        check_memory(rank, program)
    if program["times"]:
        check_times(rank, summary["operations"], program["times"])
    if os.path.isfile(SETTINGS.get("NCCL_SCOREP_CHAIN", "")):
        check_second(rank, seen)


def check_memory(rank, program):
    """In the second half of its time, a program takes no more memory: resident, and on the GPU, which others may use, too.
    A communicator of PyTorch has a mapping of 31 MiB, not the library's, that may fill late."""
    looks = program["memory"]
    settled = [look for look in looks if look[0] >= looks[-1][0] / 2]
    grown = [max(last - first, 0) / 2**20 for first, last in zip(settled[0][1:], looks[-1][1:])]
    for name, mib in zip(("resident memory", "GPU memory"), grown):
        if mib > 32:
            wrong.append(f"rank {rank}: {name} has grown by {mib:.0f} MiB in {looks[-1][0] - settled[0][0]:.0f} s")
    first, now = ([f"{of / 2**20:.0f}" for of in look[1:]] for look in (looks[0], looks[-1]))
    lived.append(f"rank {rank}: {program['steps']} steps in {looks[-1][0]:.0f} s, resident {first[0]} to {now[0]} MiB "
                 f"(+{grown[0]:.1f} since {settled[0][0]:.0f} s), GPU {first[1]} to {now[1]} MiB (+{grown[1]:.1f})")


def check_second(rank, seen):
    """What the chained plugin of tests/c/programs wrote down: everything was its own and right, and it heard of each operation."""
    with open(f"{DIRECTORY}/second.{rank}.json") as file:
        second = json.load(file)
    heard, ours = second["start"][1] + second["start"][2], sum(entry[0] for entry in seen.values())
    # PyTorch never destroys the communicators of one process with several GPUs
    ended = second["finalize"] == (0 if WHAT == "single" else second["init"])
    if second["wrong"] or heard != ours or not ended:
        wrong.append(f"rank {rank}: the second plugin saw {second}, the first {ours} operations")


def check_recording():
    """Playing the recordings gives the operations that the runs gave."""
    played = subprocess.run([os.environ["TOOL"], "replay", "--format", "json", SETTINGS["NCCL_SCOREP_RECORD"]], capture_output=True, text=True)
    if played.returncode:
        wrong.append(f"the recording: {played.stderr}")
        return

    def of(summaries):
        return sorted([row[field] for field in ("rank", "func", "count", "bytes")] for summary in summaries for row in summary["operations"])

    if of([json.loads(played.stdout)]) != of(summaries):
        wrong.append(f"the recording has other operations: {played.stdout}")


def check_textfiles():
    """The textfiles have the summaries' counts and bytes."""
    found = collections.Counter()
    for path in glob.glob(f"{SETTINGS['NCCL_SCOREP_PROM_DIR']}/*.prom"):
        with open(path) as file:
            for line in file:
                if not line.startswith("#"):
                    series, value = line.rsplit(" ", 1)
                    found[series.split("{")[0]] += float(value)
    collectives = [row for summary in summaries for row in summary["operations"] if row["kind"] == "Coll"]
    for name, expected in (
        ("nccl_profiler_collective_bytes_total", sum(row["bytes"] for row in collectives)),
        ("nccl_profiler_collective_count_count", sum(row["count"] for row in collectives)),
        ("nccl_profiler_collective_time_seconds_count", sum(row["count"] for row in collectives)),
        ("nccl_profiler_rank_bytes_total", sum(row["bytes"] for summary in summaries for row in summary["transfers"])),
        ("nccl_dropped_count_total", 0),
        ("nccl_process_info", len(summaries)),
    ):
        if found[name] != expected:
            wrong.append(f"textfiles: {name} is {found[name]} instead of {expected}")


def check_times(rank, rows, times):
    """The plugin's times against those of CUDA events, which are longer by what it takes to launch a kernel: as much as the fastest
    all-reduce of 4 bytes shows."""
    launch = None
    for size, events in times.items():
        what = f"rank {rank}: AllReduce of {size} bytes"
        found = [row for row in rows if row["func"] == "AllReduce" and row["bytes"] == int(size) * events["count"]]
        if len(found) != 1 or found[0]["gpu_timed"] != events["count"]:
            wrong.append(f"{what}: {found} instead of {events['count']} operations timed on the GPU")
            return
        fastest, total = found[0]["min_us"], found[0]["time_us"]
        if launch is None:
            launch = events["min_us"] - fastest
            launches.append(launch)
            if not 0 < launch < 12:
                wrong.append(f"{what}: {fastest:.1f} us by the plugin, {events['min_us']:.1f} us by CUDA events")
            continue
        for name, ours, theirs in (
            ("fastest", fastest, events["min_us"] - launch),
            ("sum", total, events["sum_us"] - launch * events["count"]),
        ):
            deviations.append(abs(ours / theirs - 1))
            if deviations[-1] > 0.05:
                wrong.append(f"{what}: {name} {ours:.1f} us by the plugin, {theirs:.1f} us by CUDA events without {launch:.1f} us for the launch")


ranks = sorted(int(path.split(".")[-2]) for path in glob.glob(f"{DIRECTORY}/did.*.json"))
if not ranks:
    wrong.append("the program wrote nothing")
for rank in ranks:
    check(rank)
if "NCCL_SCOREP_RECORD" in SETTINGS:
    check_recording()
if "NCCL_SCOREP_PROM_DIR" in SETTINGS:
    check_textfiles()
if wrong:
    print("; ".join(wrong))
    sys.exit(1)
remark = []
if deviations:
    remark = [f"at most {max(deviations) * 100:.1f} % from CUDA events, which show up to {max(launches):.1f} us more for the launch"]
print(", ".join([f"{len(ranks)} processes", *(f"{value} {name}" for name, value in totals.items()), *remark, *lived]))
