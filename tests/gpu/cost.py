"""What a profiler plugin costs: cost.py latency|steps RANKS DIRECTORY LATENCY LIBCUDART LIBNCCL.

No plugin, an empty one and this library with each NCCL_SCOREP_GPU_TIME take turns, ROUNDS of them. Each turn runs for a
while before it is measured. Prints a table of medians, and what is more than the turns of the same round without a
plugin (the median of the rounds); exit status 1 when the default costs too much."""

import json
import os
import statistics
import sys

from turns import Program, steady, take_turns, timed

WHAT, RANKS, DIRECTORY, LATENCY, LIBCUDART, LIBNCCL = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
NONE, EMPTY, DEFAULT = "no plugin", "empty plugin", "auto"
SIZES = {8: "8 B", 64 << 10: "64 KiB", 1 << 20: "1 MiB", 8 << 20: "8 MiB", 64 << 20: "64 MiB"}
# seconds of a turn, and before it is measured: longer for those that look once a second at what events may cost
MEASURED, SETTLED, SETTLED_WITH_EVENTS = 0.3, 0.3, 1.1
# of the default: us an all-reduce, per cent of a step
MOST_MICROSECONDS, MOST_PERCENT = 5.5, 2.0
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
            yield name, {"NCCL_PROFILER_PLUGIN": "scorep", "NCCL_SCOREP_GPU_TIME": name}


def programs(what, names, command, environment=None):
    """One program a setting, with a directory of its own."""
    made = []
    for name, own in settings(names):
        directory = f"{DIRECTORY}/{what}.{name.replace(' ', '.')}"
        os.makedirs(directory)
        every = {**(environment or {}), **own}
        made.append(Program(name, command(directory), every, f"{directory}/log"))
    return made


def shares(what, names):
    """How many operations were timed, as the summaries have it."""
    told = []
    for name in names:
        count, gpu_timed, event_timed = timed(f"{DIRECTORY}/{what}.{name.replace(' ', '.')}")
        if count:
            told.append(f"{name} {100 * gpu_timed / count:.0f} % ({100 * event_timed / count:.0f} %)")
    return "of all operations timed (by events): " + ", ".join(told)


def more(answers, name):
    """What a setting's turns took more than those of the same round without a plugin: the median."""
    return statistics.median(own - none for own, none in zip(answers[name], answers[NONE]))


def latency():
    names = [NONE, EMPTY, DEFAULT, "stamps", "events", "off"]
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
    print(f"us an all-reduce, {RANKS} ranks, back to back / one at a time, medians of {ROUNDS} turns; below: the excess")
    print(f"{'':13}" + "".join(f"{size:>18}" for size in SIZES.values()))
    worst = (-1e9, "")
    for shown in ("taken", "more"):
        for name in names[shown == "more" :]:
            cells = []
            for size, label in SIZES.items():
                pair = []
                for part, how in enumerate(("back to back", "one at a time")):
                    taken = {each: [measured[size][part] for measured in found] for each, found in answers.items()}
                    pair.append(statistics.median(taken[name]) if shown == "taken" else more(taken, name))
                    if shown == "more" and name == DEFAULT:
                        worst = max(worst, (pair[-1], f"{label}, {how}"))
                cells.append("/".join(f"{value:.2f}" if shown == "taken" else f"{value:+.2f}" for value in pair))
            print(f"{name:13}" + "".join(f"{cell:>18}" for cell in cells))
    print(shares("latency", names))
    verdict(worst[0] <= MOST_MICROSECONDS, f"{DEFAULT}: at most {worst[0]:.1f} us more than no plugin ({worst[1]})")


def steps():
    names = [NONE, EMPTY, DEFAULT, "stamps", "events"]
    for what, label, environment in (
        ("train", "train", {}),
        ("fsdp", "fsdp", {}),
        ("fsdp", "fsdp, CUDA_DEVICE_MAX_CONNECTIONS=1", {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}),
    ):
        place = f"{what}{len(environment)}"
        if "NCCL_LIBRARY" in os.environ:
            environment = {**environment, "LD_PRELOAD": LIBNCCL}
        command = [sys.executable, f"{HERE}/step.py", what, RANKS]
        made = programs(place, names, lambda directory, command=command: [*command, directory], environment)

        def turn(program):
            taken = steady(lambda number: json.loads(program.ask(str(number))), 20, 0.9, settled(program.name))
            return statistics.median(taken)

        # the turns are short, and a step varies more than an all-reduce
        answers = take_turns(made, 2 * ROUNDS, turn)
        told = []
        for name in names:
            percent = 100 * statistics.median(own / none - 1 for own, none in zip(answers[name], answers[NONE]))
            told.append(f"{name} {statistics.median(answers[name]) / 1e3:.3f} ({percent:+.1f} %)")
            if name == DEFAULT:
                excess = percent
        print(f"ms a step of {label}, {RANKS} ranks, medians of {2 * ROUNDS} turns: " + ", ".join(told))
        print(shares(place, names))
        verdict(excess <= MOST_PERCENT, f"{DEFAULT}: {label} takes {excess:+.1f} %")


def verdict(is_right, said):
    print("right   " if is_right else "WRONG   ", said, flush=True)
    wrong.extend([] if is_right else [said])


{"latency": latency, "steps": steps}[WHAT]()
sys.exit(bool(wrong))
