"""Compares what the processes of tests/gpu/ways.c did with what the plugin saw: ways.py DIRECTORY. Prints one line, or
what is wrong, with exit status 1.

DIRECTORY has did.P.json, summary.P.json and recording.P of each process P. The summaries have the figures, the
recordings the threads and groups that the calls came from."""

import collections
import glob
import gzip
import json
import os
import sys

DIRECTORY = sys.argv[1]
# what a summary counts that it could not use
NONE_OF = ("dropped", "unfinished", "invisible", "ignored_handles", "unknown_events", "orphans", "out_of_step")
wrong = []
figures = collections.Counter()


def per_rank(did):
    """Count and bytes of each function for one rank, and the number of operations of a round."""
    expected = collections.defaultdict(lambda: [0, 0])
    for function, nbytes in did["round"]:
        expected[function][0] += did["rounds"]
        expected[function][1] += did["rounds"] * nbytes
    return dict(expected)


def check_summary(did, summary):
    where = f"process {did['process']}"
    ranks = list(range(did["first_rank"], did["first_rank"] + did["devices"]))
    communicators = summary["communicators"]
    if len(communicators) != 1:
        wrong.append(f"{where}: {len(communicators)} communicators instead of 1")
    for communicator in communicators:
        here = sorted(member["rank"] for member in communicator["ranks"])
        if (communicator["nranks"], here) != (did["ranks"], ranks):
            wrong.append(f"{where}: ranks {here} of {communicator['nranks']} instead of {ranks} of {did['ranks']}")
    found = {rank: {} for rank in ranks}
    for row in summary["operations"]:
        found.setdefault(row["rank"], {})[row["func"]] = [row["count"], row["bytes"]]
        figures["operations"] += row["count"]
        figures["gpu_timed"] += row["gpu_timed"]
        figures["kernel_time_us"] += row["kernel_time_us"]
        figures["kernel_once_us"] += row["kernel_once_us"]
        if row["gpu_timed"] != row["count"]:
            timed = f"{row['gpu_timed']} of {row['count']} have a GPU time"
            wrong.append(f"{where}: {row['func']} of rank {row['rank']}: {timed}")
    for rank, functions in found.items():
        if functions != (per_rank(did) if rank in ranks else {}):
            wrong.append(f"{where}: rank {rank}: {functions} instead of {per_rank(did)}")
    process = summary["processes"][0]
    for field in NONE_OF:
        if process[field]:
            wrong.append(f"{where}: {field} is {process[field]}")
    figures["transfers"] += sum(row["transfers"] for row in summary["transfers"])
    return {communicator["comm"] for communicator in communicators}


def check_recording(did, lines):
    """Which thread called for which rank, and how many calls each group has. Interfaces before v5 report no calls."""
    where = f"process {did['process']}"
    if lines[0]["api"] < 5:
        return
    rank_of = {line["ctx"]: line["rank"] for line in lines if line["cb"] == "init"}
    threads, groups, launches = collections.defaultdict(set), collections.Counter(), 0
    for line in lines:
        if line["cb"] == "start" and line["type"] == "CollApi":
            threads[rank_of[line["ctx"]]].add(line["tid"])
            groups[line["parent"]] += 1
        launches += line["cb"] == "start" and line["type"] == "KernelLaunch"
    callers = set().union(*threads.values())
    expected = did["devices"] if did["way"] == "threads" else 1
    is_one_each = len(threads) == did["devices"] and all(len(of_rank) == 1 for of_rank in threads.values())
    if not is_one_each or len(callers) != expected:
        wrong.append(f"{where}: {dict(threads)} are the threads of the ranks; {expected} were expected")
    a_group = len(did["round"]) * (1 if did["way"] == "threads" else did["devices"])
    a_process = did["rounds"] * len(did["round"]) * did["devices"]
    if set(groups.values()) != {a_group} or sum(groups.values()) != a_process:
        sizes, calls = sorted(set(groups.values())), sum(groups.values())
        wrong.append(f"{where}: groups of {sizes} calls instead of {a_group}; {calls} calls instead of {a_process}")
    figures["groups"] += len(groups)
    figures["launches"] += launches
    figures["threads"] += len(callers)


communicators = set()
paths = sorted(glob.glob(f"{DIRECTORY}/did.*.json"))
for path in paths:
    with open(path) as file:
        did = json.load(file)
    summary = f"{DIRECTORY}/summary.{did['process']}.json"
    if os.path.exists(summary):
        with open(summary) as file:
            communicators |= check_summary(did, json.load(file))
    else:
        wrong.append(f"process {did['process']} has no summary: NCCL has not loaded the plugin")
    recordings = glob.glob(f"{DIRECTORY}/recording.{did['process']}/*.jsonl.gz")
    if len(recordings) != 1:
        wrong.append(f"process {did['process']}: {len(recordings)} recordings")
    for recording in recordings:
        with gzip.open(recording, "rt") as file:
            check_recording(did, [json.loads(line) for line in file])
if not paths:
    wrong.append("no process has written what it did")
elif len(paths) * did["devices"] != did["ranks"] or len(communicators) != 1:
    what = f"{len(paths)} processes with {did['devices']} of {did['ranks']} ranks"
    wrong.append(f"{what}, communicators {sorted(communicators)}")
if wrong:
    print("\n".join(wrong))
    sys.exit(1)
print(", ".join(f"{name} {round(value, 1)}" for name, value in sorted(figures.items())))
