"""Holds the library's GPU times against CUPTI's: truth.py DIRECTORY [SETTING=VALUE ...]. Prints one line, or what is
wrong.

DIRECTORY is of kernels.py. The k-th launch of a process is its k-th kernel. Three things must hold:
- What the library published (its summary) is the sum, least and most of what follows from its recording, worked out in
  recording.py.
- That is CUPTI's time, operation by operation: but for a constant of either source, which the run tells and the line
  says, 95 % of the operations are within 8 us + 1 %, the others within 60 us. The first launch of a kernel on a GPU is
  left out: it is loaded then, takes milliseconds to launch, and may have no time. The sums that were published are compared with CUPTI's, too. With GPU_TIME=events all
  need only be within 60 us: a kernel that waits for processors beside a computation waits behind the first event.
- A replay of the recordings gives the same summary."""

import collections
import glob
import json
import os
import subprocess
import sys

import recording

DIRECTORY, SETTINGS = sys.argv[1], dict(setting.split("=", 1) for setting in sys.argv[2:])
EVENTS_ALONE = SETTINGS.get("NCCL_SCOREP_GPU_TIME") == "events"
GRAPH_EVENTS = int(SETTINGS.get("NCCL_SCOREP_GRAPH_EVENTS", 0))
# microseconds: of 95 % of the operations, with 1 %, and of all
NEAR, FAR = 8.0, 60.0
# what a source may differ by for good, either way: 0.1 us more or less at a time
CONSTANTS = [tenths / 10 for tenths in range(-80, 81)]
# between what was published and what is worked out here: reading a clock earlier or later in a callback
SAME = 2.0
# the share of the operations that must be timed for a maximum to be published
SHOWN = 0.9
# what a kernel's name has in it, where that is not the function's name
KERNEL_NAMES = {"Send": ["SendRecv"], "Recv": ["SendRecv"], "Broadcast": ["Broadcast", "AllGatherV"]}

wrong = []
counts = collections.Counter()
# by source, of operations that are not in a kernel's first launch: (ours - CUPTI's, CUPTI's), us
pairs = collections.defaultdict(list)
# of each row of the summaries: its name, its time but for that of first launches, the launches
published = []


def match(rank, launches, kernels):
    """Gives each launch its kernel; whether that could be done."""
    for replayed in (False, True):
        mine = [launch for launch in launches if launch.replayed == replayed and not launch.captured]
        theirs = [kernel for kernel in kernels if kernel["graph"] == replayed]
        if replayed and not mine:
            # NCCL need not tell of a graph's replays
            continue
        if len(mine) != len(theirs):
            what = "launches by graphs" if replayed else "launches"
            wrong.append(f"rank {rank}: {len(mine)} {what}, {len(theirs)} kernels")
            return False
        for launch, kernel in zip(mine, theirs):
            launch.kernel = kernel
            functions = {operation.function for operation in launch.operations}
            names = [part for function in functions for part in KERNEL_NAMES.get(function, [function])]
            if not any(name in kernel["name"] for name in (*names, "Generic")):
                wrong.append(f"rank {rank}: a launch of {sorted(functions)} is the kernel {kernel['name']}")
                return False
    gpus = collections.defaultdict(set)
    for launch in launches:
        if launch.kernel:
            gpus[launch.communicator].add(launch.kernel["gpu"])
    if any(len(found) > 1 for found in gpus.values()):
        wrong.append(f"rank {rank}: a communicator's kernels ran on several GPUs: {dict(gpus)}")
        return False
    return True


def mark_first(launches):
    """The launches that are the first of a kernel on their GPU."""
    seen, first = set(), set()
    for launch in launches:
        if launch.kernel:
            name = (launch.kernel["gpu"], launch.kernel["name"])
            if name not in seen:
                seen.add(name)
                first.add(id(launch))
    return first


def row_key(run, operation):
    communicator, rank = run.communicators[operation.communicator]
    return communicator, rank, operation.kind, operation.function, operation.peer


def rows_of(summary):
    fields = ("comm", "rank", "kind", "func", "peer")
    return {tuple(row[field] for field in fields): row for row in summary["operations"]}


def check_published(rank, run, first, summary):
    """The rows of the summary against what is worked out here, and against CUPTI."""
    ours = collections.defaultdict(list)
    # of those that have a kernel which is not the first of its name
    compared = collections.defaultdict(list)
    for launch in run.launches:
        for operation in launch.operations:
            key = row_key(run, operation)
            ours[key] += [(launch.time / 1e3, launch.source)] if launch.source else []
            if launch.source and launch.kernel and id(launch) not in first:
                compared[key].append(launch)
    rows = rows_of(summary)
    for key, times in ours.items():
        row, what = rows.get(key), f"rank {rank}: {key[3]}" + ("" if key[4] is None else f" with {key[4]}")
        if row is None:
            wrong.append(f"{what}: not in the summary")
            continue
        by_events = sum(source == "events" for _, source in times)
        if (row["gpu_timed"], row.get("event_timed", 0)) != (len(times), by_events):
            told = f"{row['gpu_timed']} of {row['count']} GPU-timed, {row.get('event_timed', 0)} of them by events"
            wrong.append(f"{what}: {told}; by the recording it is {len(times)} and {by_events}")
            continue
        if not times:
            continue
        alone = [time for time, _ in times]
        for name, value, allowed in (
            ("time_us", sum(alone), SAME * len(alone) + 0.002 * sum(alone)),
            ("min_us", min(alone), 10 * SAME),
            ("max_us", max(alone), 10 * SAME + 0.002 * max(alone)),
        ):
            # the longest of a few is not published
            is_few = name == "max_us" and len(alone) < SHOWN * row["count"]
            if row[name] is None and is_few:
                continue
            if is_few or row[name] is None or abs(row[name] - value) > allowed:
                wrong.append(f"{what}: {name} is {row[name]}, by the recording it is {value:.1f}")
        others = sum(alone) - sum(launch.time / 1e3 for launch in compared[key])
        published.append((what, row["time_us"] - others, compared[key]))


def check_process(rank):
    paths = glob.glob(f"{DIRECTORY}/recording.{rank}/*.jsonl.gz")
    if len(paths) != 1:
        wrong.append(f"rank {rank}: {len(paths)} recordings")
        return
    with open(f"{DIRECTORY}/kernels.{rank}.json") as file:
        kernels = json.load(file)["kernels"]
    with open(f"{DIRECTORY}/summary.{rank}.json") as file:
        summary = json.load(file)
    run = recording.Recording(paths[0])
    if not match(rank, run.launches, kernels):
        return
    run.work_out(EVENTS_ALONE)
    first = mark_first(run.launches)
    check_published(rank, run, first, summary)
    for launch in run.launches:
        in_graph = launch.replayed or launch.captured or launch.by_host_function
        for operation in launch.operations:
            counts["in graphs" if in_graph else "operations"] += 1
            if launch.source is None and not in_graph and id(launch) in first:
                counts["untimed at first"] += 1
            elif launch.source is None:
                counts["in graphs, untimed" if in_graph else "untimed"] += 1
            else:
                counts[launch.source] += 1
                if in_graph:
                    counts[f"in graphs, by {launch.source}"] += 1
        if launch.source and launch.kernel and id(launch) not in first:
            theirs = launch.kernel["duration"] / 1e3
            pairs[launch.source] += [(launch.time / 1e3 - theirs, theirs)] * len(launch.operations)
    for cause, number in summary["processes"][0]["untimed"].items():
        # beside a graph there may be stamps, which are not believed
        if number and cause != "graph" and not (cause == "not_believed" and counts["in graphs, untimed"] + counts["untimed at first"]):
            wrong.append(f"rank {rank}: {number} operations untimed: {cause}")


def constant_of(found):
    """The constant that leaves most operations near CUPTI's time, and of those the one that leaves them nearest."""

    def quality(constant):
        off = [abs(difference - constant) for difference, _ in found]
        return sum(away <= NEAR + 0.01 * theirs for away, (_, theirs) in zip(off, found)), -sum(off)

    return max(CONSTANTS, key=quality)


def check_times():
    """The differences of all operations, by a constant a source; what the line says of them."""
    constants = {source: constant_of(found) for source, found in sorted(pairs.items())}
    differences = [
        (abs(difference - constants[source]), theirs) for source, found in pairs.items() for difference, theirs in found
    ]
    if not differences:
        wrong.append("no operation has a GPU time")
        return ""
    near = sum(off <= NEAR + 0.01 * theirs for off, theirs in differences) / len(differences)
    if near < 0.95 and not EVENTS_ALONE:
        wrong.append(f"{100 * (1 - near):.0f} % of the operations differ by more than {NEAR:.0f} us + 1 %")
    if any(off > FAR + 0.01 * theirs for off, theirs in differences):
        wrong.append(f"one differs by more than {FAR:.0f} us")
    for what, time, launches in published:
        kernels = sum(launch.kernel["duration"] / 1e3 for launch in launches)
        time -= sum(constants[launch.source] for launch in launches)
        if abs(time - kernels) > (FAR if EVENTS_ALONE else NEAR) * len(launches) + 0.01 * kernels:
            wrong.append(f"{what}: {time:.0f} us in all but first launches, CUPTI's kernels {kernels:.0f} us")
    ordered = sorted(off for off, _ in differences)
    shown = "/".join(f"{ordered[int(share * (len(ordered) - 1))]:.1f}" for share in (0.5, 0.95, 1))
    without = ", ".join(f"{constant:+.1f} us of {source}" for source, constant in constants.items())
    return f"{100 * near:.0f} % near CUPTI's, median/95 %/most {shown} us, without {without}"


def check_replay(ranks):
    """A replay of the recordings has the summaries' operations and times."""
    environment = {**os.environ, **SETTINGS}
    for name in ("NCCL_SCOREP_RECORD", "NCCL_SCOREP_SUMMARY", "LD_PRELOAD"):
        environment.pop(name, None)
    sources = [f"{DIRECTORY}/recording.{rank}" for rank in ranks]
    command = [os.environ["TOOL"], "replay", "--format", "json", *sources]
    played = subprocess.run(command, capture_output=True, text=True, env=environment)
    if played.returncode:
        wrong.append(f"the replay: {played.stderr}")
        return
    replayed, published = rows_of(json.loads(played.stdout)), {}
    for rank in ranks:
        with open(f"{DIRECTORY}/summary.{rank}.json") as file:
            published.update(rows_of(json.load(file)))
    if replayed.keys() != published.keys():
        wrong.append(f"the replay has other operations: {sorted(replayed.keys() ^ published.keys(), key=str)[:4]}")
        return
    for key, row in published.items():
        again, allowed = replayed[key], SAME * row["gpu_timed"] + 0.002 * (row["time_us"] or 0)
        counted = [field for field in ("count", "bytes", "gpu_timed", "event_timed") if again.get(field) != row.get(field)]
        if counted or abs((again["time_us"] or 0) - (row["time_us"] or 0)) > allowed:
            names = counted or ["time_us"]
            told = ", ".join(f"{name} {again.get(name)} instead of {row.get(name)}" for name in names)
            wrong.append(f"the replay of {key[1]}'s {key[3]}: {told}")


def main():
    ranks = sorted(int(path.split(".")[-2]) for path in glob.glob(f"{DIRECTORY}/kernels.*.json"))
    if not ranks:
        print("the program wrote nothing")
        return 1
    for rank in ranks:
        check_process(rank)
    said = check_times()
    if counts["untimed"]:
        wrong.append(f"{counts['untimed']} operations outside graphs have no GPU time")
    if GRAPH_EVENTS == 1 and counts["in graphs, by events"] * 3 < counts["in graphs"] - counts["in graphs, by stamps"]:
        wrong.append("events time less than a third of the operations in graphs that have no stamps")
    if "TOOL" in os.environ:
        check_replay(ranks)
    share = 100 * (1 - counts["untimed"] / max(counts["operations"], 1))
    line = f"{counts['operations']} operations, {share:.0f} % timed, {counts['stamps']} by stamps, {counts['events']} by events; {said}"
    if counts["in graphs"]:
        line += f"; {counts['in graphs']} in or beside graphs, {counts['in graphs, untimed']} of them untimed"
        line += f", {counts['in graphs, by events']} timed by events"
    print(line)
    for each in wrong[:6]:
        print("        ", each)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
