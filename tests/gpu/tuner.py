"""NCCL's choices with and without the library as its tuner, and its predictions.

tuner.py run RANKS DIRECTORY       collectives of several sizes; each rank writes a recording and a summary there
tuner.py same DIRECTORY OTHER      whether NCCL ran each operation of two such runs in the same way
tuner.py changed DIRECTORY         whether the all-reduces of 4096 bytes are those of the user's tuner of the tests
tuner.py predicted DIRECTORY       whether each prediction is of the way that NCCL ran, and a row for each
tuner.py ordinary DIRECTORY        whether the report of a run without settings names no row as forced
tuner.py forced DIRECTORY OTHER    whether the report of a run with settings names only rows as forced that ran far from
                                   those of OTHER, which ran without: by another algorithm or protocol, or on half of
                                   the channels or less; and all of these from 4 MiB a rank on
tuner.py kept DIRECTORY            whether the report of a run without peer-to-peer access names each row as forced, if
                                   each GPU has 18 NVLinks or more, and otherwise none

The last three read DIRECTORY/report.json, and end in "right of N rows".

Prints one line, or what is wrong, with exit status 1."""

import gzip
import json
import pathlib
import sys

# not 8192 for any number of ranks, for which the user's tuner of the tests fails; 4096 only for all-reduces
SIZES = (640, 20 << 10, 640 << 10, 20 << 20)
TIMES = 20


def run(count, directory):
    import ranks

    rank = ranks.own()
    if rank is None:
        ranks.end(ranks.start(count, directory, recorded=True))
    import torch
    import torch.distributed as dist

    ranks.join(rank, count, directory)
    for size in (*SIZES, 4096):
        for dtype in (torch.float32, torch.bfloat16):
            own = torch.ones(size // dtype.itemsize, dtype=dtype, device="cuda")
            whole = torch.ones(size // dtype.itemsize * count, dtype=dtype, device="cuda")
            for _ in range(TIMES):
                dist.all_reduce(own)
                if size != 4096:
                    dist.all_gather_into_tensor(whole, own)
                    dist.reduce_scatter_tensor(own, whole)
                    dist.broadcast(own, 0)
                    dist.reduce(own, 0)
                torch.cuda.synchronize()
    dist.destroy_process_group()


def ways(directory):
    """By rank: function, count, type, algorithm, protocol and channels of each operation, in their order."""
    found = {}
    for path in sorted(pathlib.Path(directory).glob("recording.*/*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            calls = [line for line in map(json.loads, lines) if line.get("type") == "Coll"]
        fields = ("func", "count", "dtype", "algo", "proto", "nch")
        found[path.parent.name] = [tuple(call[name] for name in fields) for call in calls]
    return found


def same(directory, other):
    found, others = ways(directory), ways(other)
    if not found or found.keys() != others.keys():
        return f"recordings of {sorted(found)} and {sorted(others)}", 1
    for rank, calls in found.items():
        if not calls or len(calls) != len(others[rank]):
            return f"{rank}: {len(calls)} and {len(others[rank])} operations", 1
        differ = [(a, b) for a, b in zip(calls, others[rank]) if a != b]
        if differ:
            return f"{rank}: {len(differ)} of {len(calls)} operations differ, the first: {differ[0]}", 1
    number, kinds = sum(map(len, found.values())), {call[3:] for calls in found.values() for call in calls}
    return f"{number} operations ran alike, in {len(kinds)} ways", 0


def changed(directory):
    calls = [call for calls in ways(directory).values() for call in calls if call[:3] == ("AllReduce", 1024, "ncclFloat32")]
    others = [call for call in calls if call[3:5] != ("TREE", "SIMPLE")]
    return f"{len(calls)} all-reduces of the user's tuner, {len(others)} others", int(not calls or bool(others))


def predicted(directory):
    wrong, rows = [], set()
    for path in sorted(pathlib.Path(directory).glob("summary.*.json")):
        summary = json.loads(path.read_text())
        if not summary.get("predicted"):
            wrong.append(f"{path.name} has no predictions")
        for row in summary.get("predicted", []):
            choice = row.get("tuner", row)
            for way in row["measured"]:
                ran, meant = ([of["algorithm"], of["protocol"]] for of in (way, choice))
                if ran != meant:
                    wrong.append(f"{row['func']} of {row['bytes']} bytes ran as {ran}, predicted is {meant}")
                if way["ratio"] is not None:
                    kind = (row["func"], row["bytes"], way["algorithm"], way["protocol"], way["channels"])
                    rows.add((*kind, choice["predicted_us"], way["median_us"], way["ratio"], row["candidates"]))
        wrong += [note for note in summary["processes"][0]["notes"] if "found no room" in note]
    if wrong or not rows:
        return "\n".join(wrong or ["no operation stands beside its prediction"]), 1
    ratios = sorted(row[7] for row in rows)
    print("| function | bytes | algorithm | protocol | channels | predicted us | median us | ratio | candidates |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in sorted(rows):
        print("| " + " | ".join(map(str, row)) + " |")
    return f"{len(rows)} ways as predicted, ratios {ratios[0]} to {ratios[-1]}, median {ratios[len(ratios) // 2]}", 0


# NCCL reports all-gathers and broadcasts in bytes, as ncclInt8
BYTES = {
    "ncclInt8": 1,
    "ncclUint8": 1,
    "ncclInt32": 4,
    "ncclUint32": 4,
    "ncclInt64": 8,
    "ncclUint64": 8,
    "ncclFloat16": 2,
    "ncclFloat32": 4,
    "ncclFloat64": 8,
    "ncclBfloat16": 2,
    "ncclFloat8e4m3": 1,
    "ncclFloat8e5m2": 1,
}
# bytes a rank from which on the report judges each algorithm, protocol and number of channels
LONG = 4 << 20
# NVLinks of a GPU behind NVSwitches
SWITCHED = 18


def by_size(directory):
    """By function and bytes: the algorithms and protocols of the operations, and their most channels."""
    found = {}
    calls = [call for calls in ways(directory).values() for call in calls]
    for function, count, dtype, algorithm, protocol, channels in calls:
        if dtype not in BYTES:
            sys.exit(f"the size of {dtype} ({function}) is not known: add it to BYTES in tests/gpu/tuner.py")
        of = found.setdefault((function, count * BYTES[dtype]), (set(), []))
        of[0].add((algorithm, protocol))
        of[1].append(channels)
    return {key: (kinds, max(channels)) for key, (kinds, channels) in found.items()}


def judged(directory, may_be, must_be):
    """Compares the rows that the report names as forced with those of which `may_be` and `must_be` say so, by function,
    bytes, algorithm and protocol."""
    report = json.loads((pathlib.Path(directory) / "report.json").read_text())
    rows = [row for row in report["speed"]["known"]["rows"] if row["algorithm"]]
    wrong = []
    for row in rows:
        key, way = (row["function"], row["from_bytes"]), (row["algorithm"], row["protocol"])
        is_right = may_be(key, way) if row["forced"] is not None else not must_be(key, way)
        if not is_right:
            wrong.append(f"{key} by {way}: {row['forced'] or 'not forced'}")
    for line in sorted({row["forced"] for row in rows if row["forced"]}):
        print(f"forced by {line}")
    for line in wrong:
        print(f"wrong: {line}")
    unpredicted = [row for row in rows if row["predicted_us"] is None]
    text = f"{len(rows) - len(wrong)} right of {len(rows)} rows, {len(rows) - len(unpredicted)} of them predicted"
    return text, int(not rows or len(wrong) > len(rows) / 100)


def ordinary(directory):
    return judged(directory, lambda key, way: False, lambda key, way: False)


def forced(directory, other):
    own, others = by_size(directory), by_size(other)
    long = LONG * len(ways(directory))

    def is_far(key, way):
        kinds, channels = others.get(key, (set(), 0))
        return way not in kinds or own[key][1] * 2 <= channels

    return judged(directory, is_far, lambda key, way: key[1] >= long and is_far(key, way))


def kept(directory):
    summaries = [json.loads(path.read_text()) for path in pathlib.Path(directory).glob("summary.*.json")]
    processes = [process for summary in summaries for process in summary["processes"]]
    gpus = [gpu for process in processes for gpu in (process.get("links") or {}).get("gpus", [])]
    nvlinks = [gpu.get("nvlinks") or 0 for gpu in gpus]
    if not nvlinks:
        return "the summaries have no links of GPUs", 1
    print(f"NVLinks of the GPUs: {nvlinks}")
    is_switched = min(nvlinks) >= SWITCHED
    return judged(directory, lambda key, way: is_switched, lambda key, way: is_switched)


def main():
    verb, *arguments = sys.argv[1:]
    if verb == "run":
        run(int(arguments[0]), arguments[1])
        return
    verbs = {"same": same, "changed": changed, "predicted": predicted}
    verbs |= {"ordinary": ordinary, "forced": forced, "kept": kept}
    said, status = verbs[verb](*arguments)
    print(said)
    sys.exit(status)


main()
