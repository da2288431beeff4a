"""What profiler plugins cost, operation by operation: overhead.py DIRECTORY PROGRAM LIBCUDART LIBNCCL GPUS RANKS NODES,
with the settings as JSON lines NAME, ENVIRONMENT and PROGRAM (null for PROGRAM) on standard input; the first one has no
plugin.

All settings take turns (turns.py). Each round gives one number for each setting and operation, us an operation, with
the same number of operations in all settings. From them come the medians, and the medians of the differences from no
plugin in the same round, with intervals of 95 % (interval.py). Writes DIRECTORY/overhead.NODES.json with all numbers
and prints Markdown. REDUCED=1 takes fewer sizes; ROUNDS is the number of rounds."""

import json
import os
import sys

import interval
import turns

REDUCED = os.environ.get("REDUCED", "") not in ("", "0")
ROUNDS = int(os.environ.get("ROUNDS", "7" if REDUCED else "20"))
SIZES = [8, 64 << 10, 1 << 20, 64 << 20, 1 << 30] if REDUCED else [8 << (3 * step) for step in range(10)]
KINDS = ("allreduce", "ring") if REDUCED else ("allreduce", "allgather", "broadcast", "ring")
# seconds of a measurement, and of each operation before the first one: some settings look once a second at their cost
MEASURED, SETTLED = (0.06, 0.25) if REDUCED else (0.2, 1.1)
MOST_OPERATIONS = 2000
UNITS = ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B"))


def label(size):
    return next(f"{size >> shift} {unit}" for shift, unit in UNITS if size >= 1 << shift)


def cells():
    """The operations that are measured: kind and bytes."""
    return [(kind, size) for kind in KINDS for size in SIZES] + [("communicator", 0)]


def number_of(us, seconds):
    """How many operations take about so long."""
    return max(1, min(MOST_OPERATIONS, round(seconds * 1e6 / max(us, 0.1))))


def prepare(program, numbers):
    """Runs each operation for a while. The first setting decides how many make a measurement."""
    for kind, size in cells():
        us = float(program.ask(f"{kind} {size} 1"))
        us = float(program.ask(f"{kind} {size} {number_of(us, SETTLED / 4)}"))
        program.ask(f"{kind} {size} {number_of(us, SETTLED)}")
        numbers.setdefault((kind, size), number_of(us, MEASURED))


def measured(programs):
    """us an operation of each setting and cell, round by round."""
    numbers, prepared = {}, set()

    def turn(program):
        if program not in prepared:
            prepared.add(program)
            prepare(program, numbers)
        return {cell: float(program.ask(f"{cell[0]} {cell[1]} {numbers[cell]}")) for cell in cells()}

    answers = turns.take_turns(programs, ROUNDS, turn)

    def by_cell(rounds):
        return {cell: [turn[cell] for turn in rounds] for cell in cells()}

    return {program.name: by_cell(rounds) for program, rounds in answers.items()}, numbers


def shown(values, sign=""):
    """A median with its interval."""
    median, least, largest = values
    if least is None:
        return f"{median:{sign}.2f}"
    return f"{median:{sign}.2f} ({least:{sign}.2f} to {largest:{sign}.2f})"


def tables(taken, timed):
    """Markdown: medians without a plugin, and each setting's excess over that in us."""
    names = list(taken)
    sizes = {kind: [size for of, size in cells() if of == kind] for kind in dict.fromkeys(kind for kind, _ in cells())}
    for kind, of_kind in sizes.items():
        yield f"\n### {kind}\n"
        head = [label(size) if size else "us" for size in of_kind]
        yield f"| setting | {' | '.join(head)} |"
        yield "|---|" + "---|" * len(head)
        without = taken[names[0]]
        medians = (interval.median(without[kind, size]) for size in of_kind)
        yield f"| {names[0]}, us | " + " | ".join(map(shown, medians)) + " |"
        for name in names[1:]:
            more = (interval.excess(taken[name][kind, size], without[kind, size]) for size in of_kind)
            yield f"| {name}, more | " + " | ".join(shown(each, "+") for each in more) + " |"
    yield "\n| setting | operations | with a GPU time | by CUDA events |\n|---|---|---|---|"
    for name, (count, gpu_timed, event_timed) in timed.items():
        if count:
            yield f"| {name} | {count} | {100 * gpu_timed / count:.0f} % | {100 * event_timed / count:.0f} % |"


def main():
    directory, program, libcudart, libnccl, gpus, ranks, nodes = sys.argv[1:]
    programs, places = [], {}
    for name, environment, own in map(json.loads, sys.stdin):
        places[name] = f"{directory}/{nodes}.{name.replace(' ', '.')}"
        os.makedirs(places[name])
        command = [own or program, libcudart, libnccl, ranks, nodes, gpus, places[name]]
        environment = {**environment, "SCOREP_EXPERIMENT_DIRECTORY": f"{places[name]}/scorep"}
        programs.append(turns.Program(name, command, environment, f"{places[name]}/log"))
    taken, numbers = measured(programs)
    timed = {name: turns.timed(place) for name, place in places.items()}
    rows = [
        {"setting": name, "kind": kind, "bytes": size, "operations": numbers[kind, size], "us": of_setting[kind, size]}
        for name, of_setting in taken.items()
        for kind, size in cells()
    ]
    with open(f"{directory}/overhead.{nodes}.json", "w") as file:
        json.dump({"ranks": int(ranks), "nodes": int(nodes), "gpus": int(gpus), "rounds": ROUNDS, "rows": rows}, file)
    print(f"\n## {ranks} ranks on {nodes} {'node' if nodes == '1' else 'pretended nodes'}, {ROUNDS} rounds")
    print("\n".join(tables(taken, timed)), flush=True)


if __name__ == "__main__":
    main()
