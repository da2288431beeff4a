"""What a profiler plugin costs: cost.py latency|steps|masked|calls RANKS DIRECTORY LATENCY LIBCUDART LIBNCCL.

No plugin, an empty one and this library with each of SETTINGS take turns, ROUNDS of them. Each turn runs for a
while before it is measured. A process keeps the memory and the processors that it got for as long as it lives, and two
of one setting may differ by more than two settings: each setting has COPIES processes. Prints medians, and by how much
a setting exceeds no plugin: the excess of a copy is the median of its rounds over all copies without a plugin in the
same round, and that of a setting the median of its copies, with the least and the largest of them. Exit status 1 when
the default costs too much.

`masked` compares steps of one process with each other, since two processes differ by more than a cheap preset costs:
it steps with the preset's event types and without them in turn, and prints the median excess of the pairs of turns with
its 95 % interval. `calls` does so for the calls of all-reduces, which keep the calling thread (calls.c)."""

import json
import os
import statistics
import subprocess
import sys

import interval
from turns import Program, steady, take_turns, timed

WHAT, RANKS, DIRECTORY, LATENCY, LIBCUDART, LIBNCCL = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, COPIES = int(os.environ.get("ROUNDS", "3")), int(os.environ.get("COPIES", "1"))
NONE, EMPTY, DEFAULT = "no plugin", "empty plugin", "auto"
# GPU times, or presets; `off` asks for no GPU time: it is of interest where an operation's latency is
WITH_PLUGIN = os.environ.get("SETTINGS", "auto stamps events off").split()
PRESETS = ("api", "light", "network", "full")
SIZES = {8: "8 B", 64 << 10: "64 KiB", 1 << 20: "1 MiB", 8 << 20: "8 MiB", 64 << 20: "64 MiB"}
# seconds of a turn, and before it is measured: longer for those that look once a second at what events may cost
MEASURED, SETTLED, SETTLED_WITH_EVENTS = 0.3, 0.3, 1.1
# of the default: us an all-reduce, per cent of a step
MOST_MICROSECONDS, MOST_PERCENT = 5.5, 2.0
# of one process: pairs of turns a round, seconds of a turn, and steps behind a switch that are not measured
PAIRS, SWITCHED, BEHIND_SWITCH = 20, 0.15, 3
wrong = []


def settled(name):
    return SETTLED if name in (NONE, EMPTY, "off") else SETTLED_WITH_EVENTS


def settings(names):
    """The environment of each: plugins are found by name in DIRECTORY."""
    for name in names:
        if name == NONE:
            yield name, {}
        elif name == EMPTY:
            yield name, {"NCCL_PROFILER_PLUGIN": "empty"}
        else:
            variable = "NCCL_SCOREP_PRESET" if name in PRESETS else "NCCL_SCOREP_GPU_TIME"
            yield name, {"NCCL_PROFILER_PLUGIN": "scorep", variable: name}


def place(what, name, copy):
    return f"{DIRECTORY}/{what}.{name.replace(' ', '.')}.{copy}"


def programs(what, names, command, environment=None):
    """The copies of each setting in turn, each with a directory of its own."""
    made = []
    for copy in range(COPIES):
        for name, own in settings(names):
            directory = place(what, name, copy)
            os.makedirs(directory)
            every = {**(environment or {}), **own}
            made.append(Program(name, command(directory), every, f"{directory}/log"))
    return made


def shares(what, names):
    """How many operations were timed, as the summaries have it."""
    told = []
    for name in names:
        totals = [timed(place(what, name, copy)) for copy in range(COPIES)]
        count, gpu_timed, event_timed = map(sum, zip(*totals))
        if count:
            told.append(f"{name} {100 * gpu_timed / count:.0f} % ({100 * event_timed / count:.0f} %)")
    return "of all operations timed (by events): " + ", ".join(told)


class Taken:
    """What each turn of each copy of each setting took, of the answers of `take_turns`."""

    def __init__(self, answers, value):
        self._copies = {}
        for program, turns in answers.items():
            self._copies.setdefault(program.name, []).append([value(turn) for turn in turns])

    def median(self, name):
        return statistics.median(turn for copy in self._copies[name] for turn in copy)

    def excess(self, name, over):
        """The least, the median and the largest of the copies' medians of `over(turn, without a plugin)`."""
        without = [statistics.median(turns) for turns in zip(*self._copies[NONE])]
        copies = [statistics.median(map(over, copy, without)) for copy in self._copies[name]]
        return min(copies), statistics.median(copies), max(copies)


def latency():
    names = [NONE, EMPTY, *WITH_PLUGIN]
    made = programs("latency", names, lambda directory: [LATENCY, LIBCUDART, LIBNCCL, RANKS, directory])

    def turn(program):
        measured = {}
        for size in SIZES:
            operations = 400 if size <= 1 << 20 else 50

            def batches(number, size=size, operations=operations):
                answer = program.ask(f"{size} {operations} {number} 0")
                return [float(us) * operations for us in answer.split("|")[0].split()]

            def singles(number, size=size):
                return [float(us) for us in program.ask(f"{size} 1 0 {number}").split("|")[1].split()]

            measured[size] = (
                statistics.median(steady(batches, 3, MEASURED, settled(program.name))) / operations,
                statistics.median(steady(singles, 100, MEASURED, settled(program.name))),
            )
        return measured

    answers = take_turns(made, ROUNDS, turn)
    print(f"us an all-reduce, {RANKS} ranks, back to back / one at a time, {COPIES} processes a setting, {ROUNDS} turns each")
    print(f"{'':13}" + "".join(f"{size:>18}" for size in SIZES.values()))
    parts = ("back to back", "one at a time")
    taken = {(size, part): Taken(answers, lambda turn: turn[size][part]) for size in SIZES for part in range(2)}
    for name in names:
        cells = ["/".join(f"{taken[size, part].median(name):.2f}" for part in range(2)) for size in SIZES]
        print(f"{name:13}" + "".join(f"{cell:>18}" for cell in cells))
    worst = None
    for part, how in enumerate(parts):
        print(f"more than no plugin, {how}: median of the copies, least to largest")
        for name in names:
            cells = []
            for size, label in SIZES.items():
                least, median, largest = taken[size, part].excess(name, lambda own, none: own - none)
                cells.append(f"{median:+.2f} {least:+.1f}..{largest:+.1f}")
                if name == DEFAULT:
                    worst = max(worst or (median, ""), (median, f"{label}, {how}"))
            print(f"{name:13}" + "".join(f"{cell:>18}" for cell in cells))
    print(shares("latency", names))
    if worst:
        verdict(worst[0] <= MOST_MICROSECONDS, f"{DEFAULT}: at most {worst[0]:.1f} us more than no plugin ({worst[1]})")


def steps():
    names = [NONE, EMPTY, *(name for name in WITH_PLUGIN if name != "off")]
    for what, label, environment in (
        ("train", "train", {}),
        ("fsdp", "fsdp", {}),
        ("fsdp", "fsdp, CUDA_DEVICE_MAX_CONNECTIONS=1", {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}),
    ):
        run = f"{what}{len(environment)}"
        if "NCCL_LIBRARY" in os.environ:
            environment = {**environment, "LD_PRELOAD": LIBNCCL}
        command = [sys.executable, f"{HERE}/step.py", what, RANKS]
        made = programs(run, names, lambda directory, command=command: [*command, directory], environment)

        def turn(program):
            taken = steady(lambda number: json.loads(program.ask(str(number))), 20, 0.9, settled(program.name))
            # medians of steps vary by 20 % with what else the host does
            return statistics.quantiles(taken, n=10)[0]

        # the turns are short, and a step varies more than an all-reduce
        taken = Taken(take_turns(made, 2 * ROUNDS, turn), lambda turn: turn)
        print(f"ms a step of {label} (10th percentile), {RANKS} ranks, {COPIES} processes a setting, {2 * ROUNDS} turns each")
        for name in names:
            percents = [100 * each for each in taken.excess(name, lambda own, none: own / none - 1)]
            print(f"{name:13}{taken.median(name) / 1e3:9.3f} {percents[1]:+.2f} % ({percents[0]:+.2f} to {percents[2]:+.2f})")
            if name == DEFAULT:
                verdict(percents[1] <= MOST_PERCENT, f"{DEFAULT}: {label} takes {percents[1]:+.1f} %")
        print(shares(run, names))


def switched(program):
    """Medians of steps with the event types and without them, us: a pair of turns each."""

    def turn(number, is_requested):
        took = json.loads(program.ask(f"{number + BEHIND_SWITCH} {is_requested}"))
        return statistics.median(took[BEHIND_SWITCH:])

    number = max(10, round(SWITCHED * 1e6 / turn(100, 0)))
    pairs = []
    for pair in range(ROUNDS * PAIRS):
        order = (0, 1) if pair % 2 else (1, 0)
        took = {is_requested: turn(number, is_requested) for is_requested in order}
        pairs.append((took[1], took[0]))
    return pairs


def masks(what):
    """Each preset, with a directory and the environment of a process whose event types can be switched."""
    # `empty` has the events of `api`, and does nothing with them
    for preset in [name for name in WITH_PLUGIN if name in (*PRESETS, "empty")] or ["api"]:
        directory = place(what, preset, 0)
        os.makedirs(directory)
        own = {
            "NCCL_PROFILER_PLUGIN": "libnccl-profiler-masked.so",
            "MASKED_PLUGIN": f"libnccl-profiler-{'empty' if preset == 'empty' else 'scorep'}.so",
            "NCCL_SCOREP_PRESET": preset,
        }
        yield preset, directory, own


def calls():
    gpus, pairs = os.environ["GPUS"], ROUNDS * PAIRS
    print(f"a call of an all-reduce of 8 bytes, {RANKS} ranks on {gpus} GPUs, {pairs} pairs of turns in one process")
    for preset, directory, own in masks("calls"):
        command = [f"{DIRECTORY}/calls", LIBCUDART, LIBNCCL, RANKS, gpus, directory, str(pairs)]
        said = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True)
        if said.returncode:
            verdict(False, f"{preset}: {said.stderr[-2000:]}")
            continue
        taken = [tuple(map(float, line.split())) for line in said.stdout.splitlines()]
        more = interval.median([own - none for own, none in taken])
        cells = "{:+.3f} us ({:+.3f} to {:+.3f})".format(*more)
        print(f"{preset:9}{statistics.median(none for _, none in taken):.2f} us without event types; {cells}", flush=True)


def masked():
    print(f"more than without event types, in one process, {RANKS} ranks, {ROUNDS * PAIRS} pairs of turns")
    for what in ("train", "fsdp"):
        for preset, directory, own in masks(f"masked.{what}"):
            command = [sys.executable, f"{HERE}/step.py", what, RANKS, directory]
            program = Program(preset, command, own, f"{directory}/log")
            (taken,) = take_turns([program], 1, switched)[program]
            percents = interval.median([100 * (own / none - 1) for own, none in taken])
            step = statistics.median(none for _, none in taken) / 1e3
            cells = "{:+.2f} % ({:+.2f} to {:+.2f})".format(*percents)
            print(f"{preset:9}a step of {what} of {step:.3f} ms: {cells}", flush=True)


def verdict(is_right, said):
    print("right   " if is_right else "WRONG   ", said, flush=True)
    wrong.extend([] if is_right else [said])


{"latency": latency, "steps": steps, "masked": masked, "calls": calls}[WHAT]()
sys.exit(bool(wrong))
