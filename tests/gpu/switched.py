"""Holds the summaries of a job whose event types were switched against the program's own counts: switched.py DIRECTORY
SWITCHES. Prints one line; exit status 1 if something is wrong."""

import json
import pathlib
import sys

directory, switches = pathlib.Path(sys.argv[1]), int(sys.argv[2])
wrong, lines = [], []
for made in sorted(directory.glob("made.*.json")):
    rank = made.name.split(".")[1]
    wanted = json.loads(made.read_text())["all_reduces"]
    summary = json.loads((directory / f"summary.{rank}.json").read_text())
    rows = [row for row in summary["operations"] if row["func"] == "AllReduce"]
    count, timed = sum(row["count"] for row in rows), sum(row["gpu_timed"] for row in rows)
    process = summary["processes"][0]
    if count != wanted:
        wrong.append(f"rank {rank}: {count} all-reduces, not {wanted}")
    if not 0 < timed < count:
        wrong.append(f"rank {rank}: {timed} of {count} have a GPU time")
    # NCCL stops a kernel channel of an earlier operation once more, where types are switched amid an operation: handles
    # may be ignored
    for nothing in ("orphans", "dropped", "unfinished"):
        if process[nothing]:
            wrong.append(f"rank {rank}: {nothing} is {process[nothing]}")
    lines.append(f"rank {rank}: {count} all-reduces, {timed} with a GPU time, incomplete {process['incomplete']}")
print("; ".join(wrong or lines), f"({switches} switches)")
sys.exit(bool(wrong) or not lines)
