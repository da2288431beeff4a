"""The slow and plain reference of a report.

Takes the rows of `scorep-nccl table`, the communicators of the recordings, and the begins and ends on the common clock
from the report's own table of operations. Matches calls and computes waits, transfers and bandwidths as docs/report.md
defines them. Shares no code with the report."""

import collections
import fractions
import gzip
import json

import pyarrow.parquet

SOURCES = ["stamps", "events", "kernels", "proxy", "enqueue"]
BY_GPU = SOURCES[:3]
RANKS_COUNT = ["AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"]


def rows(file):
    return pyarrow.parquet.ParquetFile(file).read().to_pylist()


def teams(recordings):
    """Number of ranks, and the recordings of each rank, by communicator."""
    sizes, claims = {}, collections.defaultdict(lambda: collections.defaultdict(set))
    for recording in recordings:
        for line in gzip.open(recording, "rt"):
            if '"cb":"init"' in line:
                init = json.loads(line)
                comm = f"{int(init['comm'], 16):016x}"
                sizes[comm] = init["nranks"]
                claims[comm][init["rank"]].add(recording)
    return sizes, claims


class Call:
    """A collective of one rank, or an exchange of one rank."""

    def __init__(self, row):
        self.rows, self.comm, self.rank = [row], row["comm"], row["rank"]
        self.is_exchange = row["peer"] is not None
        self.is_whole, self.is_all_to_all, self.occurrence, self.span = False, False, None, None

    def bytes(self, with_itself=True):
        if not self.is_exchange:
            return self.rows[0]["bytes"]
        sums = collections.Counter()
        for row in self.rows:
            if with_itself or row["peer"] != self.rank:
                sums[row["function"]] += row["bytes"]
        return max(sums["Send"], sums["Recv"])

    def sends_to_itself(self):
        return any(row["function"] == "Send" and row["peer"] == self.rank for row in self.rows)

    def function(self):
        if self.is_all_to_all:
            return "AlltoAll"
        return "Exchange" if len(self.rows) > 1 else self.rows[0]["function"]

    def kind(self):
        if not self.is_exchange:
            return "collective"
        return "all-to-all" if self.is_all_to_all else "exchange"

    def source(self):
        return max((row["source"] for row in self.rows), key=SOURCES.index)

    def is_timed(self):
        return self.source() in BY_GPU and all(row["start"] is not None for row in self.rows)

    def duration(self):
        if all(row["start"] is not None for row in self.rows):
            return max(row["stop"] for row in self.rows) - min(row["start"] for row in self.rows)
        return max(row["duration"] for row in self.rows)


def calls(of_process):
    """The calls of a process in the order of its host."""
    found, exchanges = [], {}
    for row in of_process:
        group = ("group", row["group"], row["stream"]) if row["group"] is not None else ("kernel", row["kernel"])
        key = row["comm"], row["rank"], group
        if row["peer"] is not None and key in exchanges:
            exchanges[key].rows.append(row)
            continue
        found.append(Call(row))
        if row["peer"] is not None:
            exchanges[key] = found[-1]
    users = collections.defaultdict(set)
    for call in found:
        for row in call.rows:
            users[call.comm, call.rank, row["kernel"]].add(id(call))
    for call in found:
        call.is_fused = any(len(users[call.comm, call.rank, row["kernel"]]) > 1 for row in call.rows)
    return found


def match(all_calls, sizes, claims):
    """Lists of the calls that belong together; marks the complete ones."""
    collectives, lists, exchanges = collections.defaultdict(list), [], []
    for call in all_calls:
        if len(claims[call.comm][call.rank]) > 1:
            lists.append([call])
        elif call.is_exchange:
            exchanges.append(call)
        elif call.rows[0]["sequence"] is None:
            lists.append([call])
        else:
            row = call.rows[0]
            collectives[call.comm, row["function"], row["sequence"], row["replay"]].append(call)
    for together in collectives.values():
        here = sorted(call.rank for call in together)
        for call in together:
            call.is_whole = here == list(range(sizes[call.comm]))
        lists.append(together)
    return lists + linked(exchanges, sizes)


def linked(exchanges, sizes):
    """Exchanges put together by their messages: the k-th send of a to b has the k-th receive at b from a."""
    ends, count = {}, collections.Counter()
    for call in exchanges:
        for row in call.rows:
            is_send = row["function"] == "Send"
            way = (call.comm, call.rank, row["peer"]) if is_send else (call.comm, row["peer"], call.rank)
            count[way, is_send] += 1
            ends[way, count[way, is_send], is_send] = call
    group = {id(call): [call] for call in exchanges}
    lacking = set()
    for (way, number, is_send), call in ends.items():
        other = ends.get((way, number, not is_send))
        if other is None:
            lacking.add(id(call))
        elif group[id(call)] is not group[id(other)]:
            group[id(call)] += group[id(other)]
            for moved in group[id(other)]:
                group[id(moved)] = group[id(call)]
    lists = list({id(together): together for together in group.values()}.values())
    for together in lists:
        is_whole = not any(id(call) in lacking for call in together)
        size = sizes[together[0].comm]
        everybody = set(range(size))
        has_all = [
            {row["peer"] for row in call.rows if row["function"] == way} | {call.rank} == everybody
            for call in together
            for way in ["Send", "Recv"]
        ]
        ranks = sorted(call.rank for call in together)
        for call in together:
            call.is_whole = is_whole
            is_several = size > 2 or (size == 2 and all(call.sends_to_itself() for call in together))
            call.is_all_to_all = is_whole and is_several and ranks == list(range(size)) and all(has_all)
    return lists


def transfer(together):
    """Latest begin, and the time from it to the latest end, nanoseconds; None if a time is unknown."""
    if not all(call.is_whole and call.span for call in together):
        return None
    begin = max(call.span[0] for call in together)
    return begin, max(0, max(call.span[1] for call in together) - begin)


def factors(function, size):
    """nccl-tests' S over the bytes that NCCL reports, and the factor of the bus bandwidth."""
    share = (size - 1) / size
    if function == "AllReduce":
        return 1, 2 * share
    if function in RANKS_COUNT:
        return size, share
    return 1, None


class Speed:
    """Sums of the operations of one row."""

    def __init__(self):
        self.count, self.transfers, self.bytes, self.durations, self.is_unequal = 0, [], 0, [], False
        self.duration_bytes = 0

    def add(self, together):
        self.count += 1
        moved = [call.bytes(with_itself=False) for call in together]
        self.is_unequal |= len(set(moved)) > 1
        if any(call.is_fused for call in together):
            return
        for call, bytes in zip(together, moved):
            if call.source() in BY_GPU and call.duration() > 0:
                self.durations.append(call.duration())
                self.duration_bytes += bytes
        compared = transfer(together)
        if compared:
            self.transfers.append(compared[1])
            self.bytes += max(moved)

    def row(self, function, size):
        """Microseconds and GB/s, which is bytes over nanoseconds."""
        if function == "AlltoAll":
            # what moves is S (n - 1) / n already
            whole, bus = size / (size - 1), 1.0
        elif function in ["SendRecv", "Exchange"]:
            whole, bus = 1.0, 1.0
        else:
            whole, factor = factors(function, size)
            bus = whole * factor if factor is not None else None
        is_equal, time = not self.is_unequal, sum(self.transfers)
        moved, length = self.bytes, sum(self.durations)
        return {
            "count": self.count,
            "compared": len(self.transfers),
            "min_us": min(self.transfers) / 1e3 if self.transfers else None,
            "max_us": max(self.transfers) / 1e3 if self.transfers else None,
            "mean_us": length / len(self.durations) / 1e3 if self.durations else None,
            "algbw": moved * whole / time if is_equal and time and moved else None,
            "busbw": moved * bus / time if is_equal and time and moved and bus is not None else None,
            "busbw_mean": self.duration_bytes * bus / length
            if is_equal and length and self.duration_bytes and bus is not None
            else None,
        }


def speed_function(together):
    kinds = {call.function() if call.kind() != "exchange" or len(call.rows) > 1 else "SendRecv" for call in together}
    return kinds.pop() if len(kinds) == 1 else "Exchange"


def exposed(operations):
    """Returns the time of each GPU by dimension, from the rows of `operations`: dimensions with calls under way at once
    share the time evenly."""
    spans = collections.defaultdict(list)
    for row in operations:
        if row["start_ns"] is not None:
            spans[row["gpu"]].append((row["start_ns"], row["stop_ns"], row["dimension"]))
    times = collections.defaultdict(dict)
    for gpu, of_gpu in spans.items():
        ends = [[(start, 1, dimension), (stop, -1, dimension)] for start, stop, dimension in of_gpu]
        changes = sorted(change for both in ends for change in both)
        under_way, before = collections.Counter(), None
        for at, side, dimension in changes:
            active = [name for name, calls in under_way.items() if calls > 0]
            for name in active if at != before else []:
                times[gpu][name] = times[gpu].get(name, 0) + fractions.Fraction(at - before, len(active))
            under_way[dimension] += side
            before = at
    return times
