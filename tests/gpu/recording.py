"""A recording, and what it says of each operation's time on the GPU: worked out here once more, apart from the library,
by the rules of docs/metrics.md and docs/recording.md."""

import gzip
import json
from dataclasses import dataclass, field

# one of these alone in its kernel: stamps are the kernel's time
STAMPED_ALGORITHMS = ("RING", "PAT")
# state of a KernelCh event that brings its stop stamp; state of a GroupApi event when ncclGroupEnd begins
KERNEL_CH_STOP, GROUP_END_BEGINS = 22, 24
# between two events around a kernel lie at least so many nanoseconds
LEAST = 5_000
# behind another kernel an event waits for that one: then it happens so soon after it, nanoseconds
BEHIND = 4_000
# a kernel this short by the end of its launch, nanoseconds, whose first event happened so long before, was over by then:
# it has its first event's begin if the two events are no further apart than that
BLINK, LONG_BEFORE, KNOWN = 8_000, 30_000, 60_000
# nanoseconds after which the smallest (event - host's time) is looked for anew; that of up to twice as long is used
RECENT = 1_000_000_000


@dataclass
class Operation:
    """A collective, send or receive that ran on the GPU."""

    communicator: int
    kind: str
    function: str
    peer: int | None = None
    channels: int = 0
    algorithm: str | None = None
    # by channel: start and stop stamp
    stamps: dict = field(default_factory=dict)
    # as NCCL's call of its API said
    captured: bool = False
    # nothing but that call
    silent: bool = False


@dataclass
class Launch:
    """A kernel: its launch, and the operations in it."""

    communicator: int
    # handles by which `kernel` lines may know it
    handles: list
    # the host's times, ns: before the first event, and when the launch had returned
    before: int = 0
    after: int = 0
    operations: list = field(default_factory=list)
    # launched by a CUDA graph, or captured into one: there is no kernel then
    replayed: bool = False
    captured: bool = False
    # NCCL told of the operations on another thread, in a host function of CUDA's
    by_host_function: bool = False
    # times of the two events, and when they were learnt
    events: tuple | None = None
    # of what follows: `stamps`, `events` or None, and the time in ns
    source: str | None = None
    time: int | None = None
    # CUPTI's
    kernel: dict | None = None


class Recording:
    """The launches of a process, in their order."""

    def __init__(self, path):
        self.interface = 0
        self.communicators = {}
        self.launches = []
        self._started = {}
        self._owners = {}
        # by thread: the last launch, and the launch that operations start in
        self._last, self._current = {}, {}
        # launches that no operation has followed on their thread, by communicator
        self._open = {}
        # by ncclGroupEnd
        self._calls_of = {}
        with gzip.open(path, "rt") as lines:
            for text in lines:
                line = json.loads(text)
                getattr(self, "_" + line["cb"], lambda line: None)(line)
        self.launches = [each for entry in self.launches for each in self._resolved(entry)]

    def _meta(self, line):
        self.interface = line["api"]

    def _init(self, line):
        self.communicators[line["ctx"]] = (line["comm"], line["rank"])

    def _start(self, line):
        self._started[line["h"]] = line
        kind = line["type"]
        if kind == "KernelLaunch":
            captured = bool(self._started.get(line["parent"], {}).get("graph"))
            launch = Launch(line["ctx"], [line["h"]], before=line["t"], after=line["t"], captured=captured)
            self._owners[line["h"]] = self._last[line["tid"]] = launch
            self._open.setdefault(line["ctx"], []).append(launch)
            self.launches.append(launch)
        elif kind == "Group":
            self._current[line["tid"]] = self._last.pop(line["tid"], None)
        elif kind in ("Coll", "P2p"):
            self._start_operation(line)
        elif kind == "KernelCh" and isinstance(self._owners.get(line["parent"]), Operation):
            stamps = self._owners[line["parent"]].stamps
            stamps[line["ch"]] = [line["ptimer"], None]
            self._owners[line["h"]] = stamps[line["ch"]]

    def _start_operation(self, line):
        call = self._started.get(line["parent"], {})
        call["reported"] = True
        operation = Operation(
            line["ctx"],
            line["type"],
            line["func"],
            line.get("peer") if line["type"] == "P2p" else None,
            line["nch"],
            line.get("algo"),
            captured=bool(call.get("graph")),
        )
        self._owners[line["h"]] = operation
        launch = self._current.get(line["tid"])
        if launch is None:
            launch = self._current[line["tid"]] = self._launch_elsewhere(line["ctx"], operation.captured)
        if launch in self._open.get(launch.communicator, []):
            self._open[launch.communicator].remove(launch)
        launch.operations.append(operation)
        if launch.replayed:
            # a replay has no launch: a time by events is under one of its operations
            launch.handles.append(line["h"])

    def _launch_elsewhere(self, communicator, captured):
        """The launch of operations that no launch came before on their thread: that of a graph, or, while the
        communicator has graphs, one whose operations a host function tells of."""
        waiting = [launch for launch in self._open.get(communicator, []) if not launch.captured]
        if not captured and waiting:
            waiting[0].by_host_function = True
            return waiting[0]
        launch = Launch(communicator, [], replayed=True)
        self.launches.append(launch)
        return launch

    def _state(self, line):
        owner = self._owners.get(line["h"])
        if line["state"] == KERNEL_CH_STOP and isinstance(owner, list):
            owner[1] = line.get("arg")
        elif line["state"] == GROUP_END_BEGINS:
            self._started.get(line["h"], {})["end"] = line["t"]

    def _stop(self, line):
        started = self._started.get(line["h"], {})
        if started.get("type") == "KernelLaunch":
            self._owners[line["h"]].after = line["t"]
        elif started.get("type") == "GroupApi":
            started["stop"] = line["t"]
            self.launches.append(started)
        elif started.get("type") == "CollApi":
            self._calls_of.setdefault(started["parent"], []).append(started)

    def _kernel(self, line):
        self._started.setdefault(line["h"], {})["events"] = (line["first"], line["last"], line["t"], line.get("begin"))

    def _resolved(self, entry):
        """A launch with its events; or, of a call of ncclGroupEnd, the launch of the broadcasts that NCCL told no more
        of."""
        if isinstance(entry, Launch):
            launch = entry
        else:
            calls = [call for call in self._calls_of.get(entry["h"], []) if call["func"] == "Broadcast"]
            calls = [call for call in calls if not call["graph"] and not call.get("reported")]
            if not calls:
                return
            operations = [Operation(call["ctx"], "Coll", "Broadcast", silent=True) for call in calls]
            handles = [call["h"] for call in calls]
            launch = Launch(calls[0]["ctx"], handles, entry.get("end", entry["t"]), entry["stop"], operations)
        for handle in launch.handles:
            launch.events = launch.events or self._started[handle].get("events")
        yield launch

    def work_out(self, events_alone):
        """The time of each launch; `events_alone`: NCCL_SCOREP_GPU_TIME=events."""
        by_events = self._event_times()
        out_of_step, with_graphs = set(), set()
        for launch in self.launches:
            # NCCL counts works when they are launched, those of a replay when it runs: beside each other they are not
            # in step
            if launch.captured or launch.replayed:
                with_graphs.add(launch.communicator)
            elif launch.communicator in with_graphs:
                out_of_step.add(launch.communicator)
            own_rank = self.communicators[launch.communicator][1]
            for operation in launch.operations:
                # from interface v7 on NCCL counts these, too
                to_itself = self.interface < 7 and operation.kind == "P2p" and operation.peer == own_rank
                if to_itself or operation.silent:
                    out_of_step.add(launch.communicator)
            stamps = None if events_alone or launch.communicator in out_of_step else stamped(launch)
            if stamps is not None:
                launch.source, launch.time = "stamps", stamps
            elif id(launch) in by_events:
                launch.source, launch.time = "events", by_events[id(launch)]

    def _event_times(self):
        """By launch: from the later of the first event and the launch's end to the last event. The launch's end is
        brought to the events' clock by the smallest (event - host's time before it) of late: that of an event that
        waited for nothing."""
        times, hosts = {}, {}
        for launch in sorted((launch for launch in self.launches if launch.events), key=lambda launch: launch.events[2]):
            first, last, _, begin = launch.events
            if begin is not None:
                # as the library had it, which read the clock nearer to the events: CUPTI says whether it is right
                times[id(launch)] = last - begin
                continue
            host = hosts.setdefault(launch.communicator, {"since": 0, "current": None, "previous": None, "last": None})
            known = [offset for offset in (host["current"], host["previous"]) if offset is not None]
            has_waited = host["last"] is not None and abs(first - host["last"]) < BEHIND
            has_waited = has_waited and (not known or launch.before + min(known) <= host["last"])
            host["last"] = last
            if has_waited:
                if last - first >= LEAST:
                    times[id(launch)] = last - first
                continue
            offset, age = first - launch.before, launch.before - host["since"]
            if host["current"] is None or age >= RECENT:
                host["previous"] = host["current"] if age < 2 * RECENT else None
                host["since"], host["current"] = launch.before, offset
            host["current"] = min(host["current"], offset)
            launched = launch.after + min(offset for offset in (host["current"], host["previous"]) if offset is not None)
            begin = max(first, launched)
            if begin >= last or (last - begin < BLINK and begin - first > LONG_BEFORE):
                begin = first if last - first <= KNOWN else None
            if last - first >= LEAST and begin is not None:
                times[id(launch)] = last - begin
        return times


def stamped(launch):
    """The time by stamps, if they are the kernel's: one operation alone, of an algorithm whose stamps are right, with
    all its stamps."""
    if len(launch.operations) != 1:
        return None
    operation = launch.operations[0]
    if operation.kind == "Coll" and operation.algorithm not in STAMPED_ALGORITHMS:
        return None
    wanted = operation.channels if operation.kind == "Coll" else 1
    stamps = operation.stamps.values()
    if len(stamps) < wanted or any(stop is None or stop < start for start, stop in stamps):
        return None
    return max(stop for _, stop in stamps) - min(start for start, _ in stamps)
