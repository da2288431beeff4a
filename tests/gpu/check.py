"""Compares what a program did with what the plugin saw: check.py WHAT DIRECTORY [SETTING=VALUE ...]. Prints one line, or what is wrong."""

import glob
import json
import sys

WHAT, DIRECTORY, SETTINGS = sys.argv[1], sys.argv[2], dict(setting.split("=", 1) for setting in sys.argv[3:])
PRESET = SETTINGS.get("NCCL_SCOREP_PRESET", "network")
wrong = []
totals = {"operations": 0, "gpu_timed": 0, "transfers": 0, "out_of_step": 0}
remarks = []


def check(rank):
    with open(f"{DIRECTORY}/did.{rank}.json") as file:
        program = json.load(file)
    with open(f"{DIRECTORY}/summary.{rank}.json") as file:
        summary = json.load(file)
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
        if WHAT == "graph" and PRESET == "api":
            continue  # without kernel events NCCL reports a graph's operation once
        if found != [count, nbytes]:
            wrong.append(f"rank {rank}: {function}: {found} instead of {[count, nbytes]}")
    for function in seen.keys() - program["did"].keys():
        wrong.append(f"rank {rank}: {function} was never called")
    process = summary["processes"][0]
    for field in ("dropped", "unfinished", "invisible", "ignored_handles", "unknown_events", "orphans"):
        if process[field]:
            wrong.append(f"rank {rank}: {field} is {process[field]}")
    totals["operations"] += sum(entry[0] for entry in seen.values())
    totals["gpu_timed"] += sum(entry[2] for entry in seen.values())
    totals["transfers"] += sum(row["transfers"] for row in summary["transfers"])
    totals["out_of_step"] += process["out_of_step"]
    if PRESET == "api" and sum(entry[2] for entry in seen.values()):
        wrong.append(f"rank {rank}: GPU times without kernel events")
    if PRESET in ("light", "api") and summary["transfers"]:
        wrong.append(f"rank {rank}: transfers without proxy events")
    if PRESET in ("network", "full") and "NODES" in SETTINGS and not summary["transfers"] and WHAT != "pipeline":
        wrong.append(f"rank {rank}: no transfers between nodes")
    for function, measured in program["times"].items():
        entry = seen[function]
        if entry[2] != entry[0]:
            wrong.append(f"rank {rank}: only {entry[2]} of {entry[0]} {function} are GPU-timed")
        ratio = entry[4] / measured["min_us"]
        remarks.append(f"{function} {entry[4]:.1f} us by the plugin, {measured['min_us']:.1f} us by CUDA events ({ratio:.3f})")
        if not 0.95 <= ratio <= 1.05:
            wrong.append(f"rank {rank}: {remarks[-1]}")
    return summary


ranks = sorted(int(path.split(".")[-2]) for path in glob.glob(f"{DIRECTORY}/did.*.json"))
if not ranks:
    wrong.append("the program wrote nothing")
for rank in ranks:
    check(rank)
if wrong:
    print("; ".join(wrong))
    sys.exit(1)
print(", ".join([f"{len(ranks)} processes", *(f"{value} {name}" for name, value in totals.items()), *remarks]))
