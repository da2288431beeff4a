"""Checks a measurement of tests/gpu/score_p.c: score_p.py DIRECTORY. Prints one line, or the faults, with exit status 1.

DIRECTORY has did.R.json of each rank R and Score-P's `experiment`, or `experiment.R` of each rank, as processes of
PyTorch make them without MPI: then counts and bytes alone are checked, and that the program's steps are there. The
archive's events are those that otf2-print of libotf2 shows."""

import bisect
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import xml.etree.ElementTree

# a lane and a kernel of the CUDA adapter agree if begin and end lie this close together, in so many of 100 operations
CLOSE_US, OF_100 = 5, 95
# on GPUs that ranks share, contexts take turns between a kernel and the event behind it: there they agree if they are
# as long as each other within this. Of the sends, 7 % were 5 to 9 us longer than their kernels
SHARED_US = 10
# behind the name of an operation that the GPU has not timed
NO_TIME = " (not GPU-timed)"
# a rank's clocks of host and GPU agree within this
CLOCKS_US = 5
NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# records inside of a region, with bytes
BYTES_OF = {
    "METRIC": re.compile(r'"nccl_op_bytes" <\d+>; UINT64; (\d+)'),
    "MPI_SEND": re.compile(r"Length: (\d+)"),
}
# copies between host and GPU, on their streams
COPIES = {"RMA_PUT", "RMA_GET"}
COPIED = "RMA_OP_COMPLETE_BLOCKING"
KINDS = {"ENTER", "LEAVE", *BYTES_OF, *COPIES, COPIED}
OF_PROCESS = re.compile(r"MPI Rank (\d+)")
LANE = re.compile(r"NCCL [0-9a-f]+ rank (\d+)(?: \(\d+\))?$")


class Region:
    """A region on a location, from enter to leave, in us, with the bytes that its metric or its message names."""

    def __init__(self, name, begin):
        self.name, self.begin, self.end, self.bytes = name, begin, None, 0


def lines_of(archive, *options):
    with subprocess.Popen(["otf2-print", *options, str(archive)], stdout=subprocess.PIPE, text=True) as print_of:
        yield from print_of.stdout
    if print_of.returncode:
        sys.exit(f"otf2-print ended with {print_of.returncode}")


def locations_of(archive):
    """Ticks per second, and rank and name of each location, by its number. Groups of streams lie in a process."""
    groups, locations, ticks = {}, {}, None
    for line in lines_of(archive, "-G"):
        kind, _, rest = line.partition(" ")
        if kind == "CLOCK_PROPERTIES":
            ticks = int(re.search(r"Ticks per Seconds: (\d+)", rest)[1])
        elif kind in ("LOCATION", "LOCATION_GROUP"):
            number, name = int(rest.split()[0]), NAMED.search(rest)[1]
            if kind == "LOCATION":
                group = int(re.search(r'Group: .*<(\d+)>', rest)[1])
                locations[number] = (group, name)
            else:
                creator = re.search(r"Creator: .*<(\d+)>", rest)
                rank = OF_PROCESS.fullmatch(name)
                groups[number] = int(rank[1]) if rank else creator and ("of", int(creator[1]))
    for number, of in list(groups.items()):
        if isinstance(of, tuple):
            groups[number] = groups.get(of[1])
    return ticks, {number: (groups.get(group), name) for number, (group, name) in locations.items()}


def regions_of(archive, ticks):
    """The regions of each location, in the order of their begins. A copy is a region, too, of the name "copy"."""
    regions, open_ones, copies = collections.defaultdict(list), collections.defaultdict(list), {}
    for line in lines_of(archive):
        words = line.split(maxsplit=3)
        if len(words) < 4 or words[0] not in KINDS:
            continue
        location, time = int(words[1]), int(words[2]) * 1e6 / ticks
        if words[0] == "ENTER":
            region = Region(NAMED.search(words[3])[1], time)
            regions[location].append(region)
            open_ones[location].append(region)
        elif words[0] == "LEAVE":
            open_ones[location].pop().end = time
        elif words[0] in COPIES:
            copies[location] = Region("copy", time)
            regions[location].append(copies[location])
        elif words[0] == COPIED:
            # a copy that had begun before the recording has no begin
            if copy := copies.pop(location, None):
                copy.end = time
        elif open_ones[location]:
            found = BYTES_OF[words[0]].search(words[3])
            open_ones[location][-1].bytes += int(found[1]) if found else 0
    return regions


class Measurement:
    """What the archive has of each rank: lanes, the adapter's kernels, and the regions of its first thread."""

    def __init__(self, archive):
        ticks, locations = locations_of(archive)
        self.lanes, self.kernels = collections.defaultdict(list), collections.defaultdict(list)
        self.host, self.streams = {}, collections.defaultdict(list)
        for number, regions in regions_of(archive, ticks).items():
            rank, name = locations[number]
            if lane := LANE.match(name):
                # without MPI, the process has no number
                self.lanes[int(lane[1])] += [region for region in regions if region.name.startswith("nccl")]
            elif name.startswith("CUDA["):
                self.streams[rank].append((name, regions))
                self.kernels[rank] += [region for region in regions if region.name.startswith("nccl")]
            elif any(region.name.rpartition(":")[2] == "step" for region in regions):
                self.host[rank] = regions
        for regions in (*self.lanes.values(), *self.kernels.values()):
            regions.sort(key=lambda region: region.begin)


def distances(lanes, kernels):
    """How much later than its kernel each operation begins and ends, in us. An operation's kernel is the one that it
    has most time in common with. Also the number of kernels that have no operation."""
    begins = [kernel.begin for kernel in kernels]
    pairs, used = [], set()
    for lane in lanes:
        at = bisect.bisect(begins, lane.begin)
        near = range(max(0, at - 3), min(len(kernels), at + 3))
        common = {i: min(lane.end, kernels[i].end) - max(lane.begin, kernels[i].begin) for i in near}
        best = max(common, key=common.get, default=None)
        if best is not None:
            used.add(best)
            pairs.append((lane.begin - kernels[best].begin, lane.end - kernels[best].end))
    return pairs, len(kernels) - len(used)


def check_counts(rank, did, found):
    """The lanes' counts and bytes against the program's."""
    seen = collections.defaultdict(lambda: [0, 0])
    for lane in found.lanes[rank]:
        count = seen[lane.name.removeprefix("nccl").removesuffix(NO_TIME)]
        count[0], count[1] = count[0] + 1, count[1] + lane.bytes
    return [] if seen == did["did"] else [f"rank {rank}: lanes have {dict(seen)}, the program made {did['did']}"]


def check_process(did, experiment):
    """The measurement of one process of PyTorch."""
    found = Measurement(experiment / "traces.otf2")
    wrong = check_counts(did["rank"], did, found)
    steps = sum(region.name.endswith("step") for regions in found.host.values() for region in regions)
    if steps != did["steps"]:
        wrong.append(f"rank {did['rank']}: {steps} steps of {did['steps']} are on the time line")
    return wrong


def check_lanes(rank, did, found):
    """Lanes against kernels, and their counts and bytes against the program's."""
    wrong = check_counts(rank, did, found)
    lanes, kernels = found.lanes[rank], found.kernels[rank]
    pairs, unused = distances(lanes, kernels)
    if unused * 100 > len(kernels) * (100 - OF_100):
        wrong.append(f"rank {rank}: {unused} of {len(kernels)} kernels have no operation")
    if did["gpus"] < did["ranks"]:
        are, limit = "are as long as their kernels", SHARED_US
        close = sum(abs(end - begin) <= limit for begin, end in pairs)
    else:
        are, limit = "lie at their kernels", CLOSE_US
        close = sum(abs(begin) <= limit and abs(end) <= limit for begin, end in pairs)
    if not pairs or close * 100 < len(lanes) * OF_100:
        wrong.append(f"rank {rank}: {close} of {len(lanes)} operations {are}, within {limit} us")
    return wrong, pairs


def check_time_line(rank, did, found):
    """A step's operations are called before they run on the GPU, and run before the step's MPI_Allreduce."""
    host = found.host.get(rank, [])
    steps = [region for region in host if region.name == "step"]
    ends = [region for region in host if region.name == "MPI_Allreduce"]
    ends = [end for end in ends if any(step.begin <= end.begin <= step.end for step in steps)]
    calls = [region for region in host if region.name == "ncclAllReduce"]
    lanes = [region for region in found.lanes[rank] if region.name == "ncclAllReduce"]
    counts = [len(steps), len(ends), len(calls), len(lanes)]
    if counts != [did["steps"]] * 4:
        return [f"rank {rank}: steps, their MPI_Allreduce, calls of NCCL and operations are {counts}"]
    order = [
        step.begin <= call.begin <= lane.begin + CLOCKS_US and lane.end <= end.begin + CLOCKS_US
        for step, call, lane, end in zip(steps, calls, lanes, ends)
    ]
    wrong = [] if all(order) else [f"rank {rank}: {order.count(False)} steps are not in order on the time line"]
    if not any(re.match("cu(da)?[A-Z]", region.name) for region in host):
        wrong.append(f"rank {rank}: no call of CUDA is on the time line")
    return wrong


def ring_calls(host):
    """Begin and end of the calls of each step for the ring's exchange: from the first ncclSend to its ncclGroupEnd."""
    sends, ends = ([region for region in host if region.name == name] for name in ("ncclSend", "ncclGroupEnd"))
    for step in host:
        if step.name == "step":
            begin = next((send.begin for send in sends if send.begin >= step.begin), step.end)
            yield begin, next((end.end for end in ends if end.begin >= begin), begin)


def check_exchanges(rank, did, found):
    """The ring's exchange, by NCCL and by MPI: once in each step, with equal bytes, NCCL's between its call and MPI's. Of
    each step, how long NCCL's calls take, its send, and MPI's call, in us."""
    host = found.host.get(rank, [])
    by_mpi = [region for region in host if region.name == "MPI_Sendrecv"]
    sent = [len(by_mpi), sum(call.bytes for call in by_mpi)]
    if sent != did["mpi"] or not by_mpi:
        return [f"rank {rank}: messages of MPI and their bytes are {sent}, the program sent {did['mpi']}"], []
    sends = [lane for lane in found.lanes[rank] if lane.name.startswith("ncclSend") and lane.bytes == by_mpi[0].bytes]
    if len(sends) != len(by_mpi):
        return [f"rank {rank}: {len(sends)} sends of NCCL are as large as the {len(by_mpi)} of MPI"], []
    exchanges = list(zip(ring_calls(host), sends, by_mpi))
    order = [
        begin <= send.begin + CLOCKS_US and send.end <= call.begin + CLOCKS_US for (begin, _), send, call in exchanges
    ]
    wrong = [] if all(order) else [f"rank {rank}: {order.count(False)} exchanges are not in order on the time line"]
    times = [
        (end - begin, send.end - send.begin, call.end - call.begin) for (begin, end), send, call in exchanges
    ]
    return wrong, times


def check_profile(experiment):
    """The profile of Cube has the kernels, below KERNELS."""
    with tarfile.open(experiment / "profile.cubex") as cube:
        anchor = xml.etree.ElementTree.parse(cube.extractfile("anchor.xml")).getroot()
    names = {region.get("id"): region.findtext("name") for region in anchor.iter("region")}
    for node in anchor.iter("cnode"):
        if names.get(node.get("calleeId")) == "KERNELS":
            called = [names.get(child.get("calleeId")) or "" for child in node.iter("cnode")]
            if any(name.startswith("ncclDev") for name in called):
                return []
    return ["the profile has no kernel of NCCL below KERNELS"]


def check_summary(summary, did):
    """The rank that is late on purpose is the latest by its time, and last as often as it was late. The others may be
    last more often, by microseconds."""
    last = {row["rank"]: row["last"] for row in summary.get("lateness", [])}
    mean = {row["rank"]: row["mean_us"] or 0 for row in summary.get("lateness", [])}
    late = max(mean, key=mean.get, default=None)
    if late != did["late_rank"] or last[late] < 0.9 * did["late"]:
        return [f"rank {did['late_rank']} was late {did['late']} times, and the summary has {last}, by {mean} us"], ""
    return [], f"rank {late} was late {did['late']} times and is last in {last[late]}, by {mean[late]:.0f} us in the mean"


def described(values):
    low, *_, high = statistics.quantiles(values, n=20)
    return f"{statistics.median(values):.1f} us ({low:.1f} to {high:.1f})"


def main():
    directory = pathlib.Path(sys.argv[1])
    programs = [json.loads(path.read_text()) for path in sorted(directory.glob("did.*.json"))]
    wrong = [] if programs else ["no rank says what it did"]
    experiment = directory / "experiment"
    if not experiment.exists():
        wrong += [fault for did in programs for fault in check_process(did, directory / f"experiment.{did['rank']}")]
        print(*wrong or [f"counts and bytes of {len(programs)} ranks"], sep="\n")
        return int(bool(wrong))
    found = Measurement(experiment / "traces.otf2")
    pairs, exchanges = [], []
    for did in programs:
        of_lanes, near = check_lanes(did["rank"], did, found)
        of_exchanges, times = check_exchanges(did["rank"], did, found)
        wrong += of_lanes + check_time_line(did["rank"], did, found) + of_exchanges
        pairs += near
        exchanges += times
    summary = json.loads((experiment / "nccl" / "summary.json").read_text())
    wrong += check_profile(experiment)
    late = ""
    if programs:
        of_summary, late = check_summary(summary, programs[0])
        wrong += of_summary
    if len(pairs) > 1:
        begins, ends = zip(*pairs)
        print(f"{len(pairs)} operations begin {described(begins)} after their kernel and end {described(ends)}; {late}")
    if len(exchanges) > 1:
        calls, sends, by_mpi = (described(times) for times in zip(*exchanges))
        print(f"an exchange by NCCL: {calls} in calls, {sends} on the lane; by MPI: {by_mpi} in MPI_Sendrecv")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
