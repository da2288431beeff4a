#!/usr/bin/env python3
"""Does a watcher name a fault soon, and nobody else? Processes without a GPU are the ranks of a job of steps
(tests/c/programs/watched_host.c), whose fault begins while it runs. `scorep-nccl watch` looks at their states.

    tests/watched/faults.py [--rounds N] [--fault NAME]... [--beside N] [--seed N] [--library FILE] [--keep DIRECTORY]

LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with scorep-nccl beside it or above it. Jobs
run --beside each other (4). A run takes up to a minute. Prints one line a run and the totals; exit status 1 if somebody
else was named, or less than 95 of 100 faults within 15 s of their effect. A node's fault needs root, for the hosts'
names.

Verdicts: `named` within 15 s, `late` behind that, `missed` at the end of the run, `wrong` where something else was said
before or after (`none`: anything), `starved` where all that else was said is true of a rank that the machine has kept
waiting, as the rank's own log says, `failed` where a process has not run as it should. Starved runs count neither way;
if they are more than a tenth, the machine is too busy and the exit status is 1. Behind a run that is not named stands
for how long the machine has kept that of its ranks waiting that waited longest."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# seconds within which a fault is to be named, for which a run goes on behind that, and behind its first finding
SOON, LATE, BEHIND = 15, 15, 8
# microseconds of a step's own work, calls of a step
OWN, CALLS = 40_000, 4
# windows after which a rank begins to stand out (HELD in tools/live/src/watch/judge/track.rs)
HELD = 4
# ranks of a node of the jobs that have several
OF_NODE = 4
FAULTS = ("slow", "stop", "link", "kill", "exit", "call", "hang", "node", "none")


class Job:
    """What a run is like: `ranks` of `nodes`, of which `of` have the fault from a step on."""

    def __init__(self, fault, rng):
        self.fault = fault
        self.nodes = rng.choice([2, 3]) if fault == "node" else 1
        self.ranks = self.nodes * OF_NODE if fault == "node" else rng.choice([2, 4, 8])
        self.transfer = 2_000
        if fault == "link":
            # longer transfers, since processes on a busy machine see their ends late
            self.ranks, self.transfer = rng.choice([4, 8]), 6_000
        self.step = (OWN + CALLS * self.transfer) / 1e6
        self.of = [rng.randrange(self.ranks)]
        if fault == "node":
            first = OF_NODE * rng.randrange(self.nodes)
            self.of = list(range(first, first + OF_NODE))
        # few links are compared with their own usual rates, which are known after nine looks
        self.start = round(rng.uniform(12, 20) / self.step) + (round(12 / self.step) if fault == "link" else 0)
        self.noise = rng.choice([0, 1, 2])
        self.amount = {"stop": 5000, "link": 100}.get(fault, 10)
        # of two ranks, a tenth of the own work may be as they are
        if fault == "slow" and self.ranks == 2:
            self.amount = 20

    def __str__(self):
        return f"{self.fault} of {self.of} of {self.ranks} on {self.nodes}, noise {self.noise} %"

    def options(self, rank):
        kind = "slow" if self.fault == "node" else self.fault
        words = ["--calls", CALLS, "--step-us", OWN, "--transfer-us", self.transfer, "--noise", self.noise,
                 "--nodes", self.nodes, "--fault", kind, "--of", ",".join(map(str, self.of)),
                 "--from", self.start, "--amount", self.amount, "--patience", 200]  # fmt: skip
        return words + (["--host", f"n{rank // OF_NODE}"] if self.nodes > 1 else [])

    def names(self, finding):
        """Returns whether a finding names the fault."""
        kind, text, other = finding["kind"], finding["text"], self.of[0]
        if self.fault == "slow":
            return kind == "rank" and finding["rank"]["rank"] == other
        if self.fault == "stop":
            return kind == "pause" and [rank["rank"] for rank in finding["ranks"]] == self.of
        if self.fault == "link":
            return kind == "link" and finding["from"]["rank"] == other
        if self.fault == "node":
            return kind == "node" and finding["host"] == f"n{other // OF_NODE}"
        if self.fault == "kill":
            return kind == "process" and text.startswith(f"process {other} on ") and "is dead" in text
        if self.fault == "exit":
            return kind == "process" and text.startswith(f"process {other} on ") and "has ended in order" in text
        if self.fault == "call":
            return kind == "hang" and "different counts" in text and f"524288 on rank {other}" in text
        return self.fault == "hang" and kind == "hang" and f"rank {other} has not entered" in text

    def follows(self, finding):
        """Returns whether a finding is true of the fault's effect: a job that stops hangs, too."""
        return self.fault in ("kill", "exit", "call", "hang") and finding["kind"] in ("hang", "process", "job")


def start(job, rank, directory, program, library):
    settings = {
        **os.environ, "NCCL_SCOREP_PRESET": "network", "NCCL_SCOREP_TRUST_NCCL": "on",
        "NCCL_SCOREP_STATUS": str(directory / "status"),
        "RANK": str(rank), "WORLD_SIZE": str(job.ranks),
    }  # fmt: skip
    command = [program, library, 6, job.ranks, rank, directory / "meeting", 1_000_000, *job.options(rank)]
    with open(directory / f"log.{rank}", "w") as log:
        return subprocess.Popen([str(word) for word in command], env=settings, stdout=log, stderr=subprocess.STDOUT)


def effect(job, directory):
    """Returns the time of the fault's effect by the monotonic clock, seconds, from the file in which the ranks meet; None
    where they have not met."""
    for _ in range(300):
        time.sleep(0.1)
        with open(directory / "meeting", "rb") as file:
            head = file.read(16)
        origin = struct.unpack("=8xQ", head)[0] if len(head) == 16 else 0
        if origin:
            return origin / 1e9 + job.start * job.step
    return None


def delays(job, directory):
    """Returns for each rank the calls before which the machine has kept it waiting, how long, and until when, seconds
    by the monotonic clock."""
    of = []
    for rank in range(job.ranks):
        words = [line.split() for line in (directory / f"log.{rank}").read_text().splitlines()]
        late = [line for line in words if line[:1] == ["late"] and len(line) == 4]
        of.append([(int(line[1]), int(line[2]) / 1e9, int(line[3]) / 1e9) for line in late])
    return of


def is_starved(finding, of, said):
    """Returns whether a finding of the time `said` is true of a rank that the machine has kept waiting, beyond its
    peers, for half of what it says at least. It says an excess of some windows in a row, or a pause."""
    if finding["kind"] == "rank" and finding["excess"]:
        ranks, since = [finding["rank"]], finding["excess"]["since"]["number"]
        length = HELD * finding["excess"]["seconds"]
    elif finding["kind"] == "pause":
        ranks, since, length = finding["ranks"], finding["since"]["number"], finding["seconds"]
    else:
        return False
    sums = [sum(delay for call, delay, until in rank if since <= call and until <= said) for rank in of]
    usual = statistics.median(sums)
    return all(sums[rank["rank"]] - usual >= length / 2 for rank in ranks)


def read(watcher, findings):
    for line in watcher.stdout:
        findings.append((time.monotonic(), json.loads(line)))


def run(job, directory, library, tool):
    (directory / "status").mkdir(parents=True)
    program = directory.parent / "programs/watched_host"
    processes = [start(job, rank, directory, program, library) for rank in range(job.ranks)]
    findings = []
    with open(directory / "watch.err", "w") as errors:
        watcher = subprocess.Popen([tool, "watch", directory / "status", "--json"], stdout=subprocess.PIPE,
                                   stderr=errors, text=True)  # fmt: skip
    reader = threading.Thread(target=read, args=(watcher, findings))
    reader.start()
    at = effect(job, directory)
    while at and time.monotonic() < at + SOON + LATE:
        time.sleep(0.1)
        named = [when for when, finding in findings if job.names(finding)]
        if named and time.monotonic() > named[0] + BEHIND:
            break
    watcher.terminate()
    reader.join()
    (directory / "findings.jsonl").write_text("".join(json.dumps(it) + "\n" for it in findings))
    alive = [process.poll() is None for process in processes]
    for process in processes:
        process.kill()
        process.wait()
    should = [not (job.fault in ("kill", "exit") and rank in job.of) for rank in range(job.ranks)]
    if at is None or any(a != s for a, s in zip(alive, should)) or watcher.wait() not in (0, 1):
        return "failed", [alive, watcher.returncode]
    named = [when - at for when, finding in findings if job.names(finding)]
    said = [(when, finding) for when, finding in findings if finding["change"] != "over" and not job.names(finding)
            and not (when >= at and job.follows(finding))]  # fmt: skip
    of = delays(job, directory)
    waited = max((sum(delay for _, delay, _ in rank) for rank in of), default=0)
    waited = f"a rank was kept waiting for {waited:.1f} s in all"
    if said:
        starved = all(is_starved(finding, of, when) for when, finding in said)
        return "starved" if starved else "wrong", [*(finding["text"] for _, finding in said), waited]
    if job.fault == "none":
        return "named", ["nobody"]
    if not named:
        return "missed", [*(finding["text"] for _, finding in findings), waited]
    soon = named[0] <= SOON
    return "named" if soon else "late", [round(named[0], 1), *([] if soon else [waited])]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--fault", action="append", choices=FAULTS)
    arguments.add_argument("--beside", type=int, default=4)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--library", default="target/shipped/release/libscorep_substrate_nccl.so")
    arguments.add_argument("--keep", type=pathlib.Path)
    asked = arguments.parse_args()
    library = pathlib.Path(asked.library).resolve()
    above = [library.parent / "scorep-nccl", library.parent.parent / "scorep-nccl"]
    tool = next((path for path in above if path.exists()), None)
    if not library.exists() or not tool:
        sys.exit(f"{library}: no such library, or no scorep-nccl beside it: build them, or name another with --library")
    scratch = asked.keep or pathlib.Path(tempfile.mkdtemp())
    (scratch / "programs").mkdir(parents=True, exist_ok=True)
    source, program = HERE.parent / "c/programs/watched_host.c", scratch / "programs/watched_host"
    compiler = ["cc", "-std=gnu11", "-O2", "-D_GNU_SOURCE"]
    subprocess.run([*compiler, source, "-o", program, "-ldl", "-lpthread"], check=True)
    totals = collections.defaultdict(collections.Counter)
    rng, runs = random.Random(asked.seed), {}
    with concurrent.futures.ThreadPoolExecutor(asked.beside) as pool:
        for number in range(asked.rounds):
            for fault in asked.fault or FAULTS:
                job, directory = Job(fault, rng), scratch / f"{fault}.{number}"
                shutil.rmtree(directory, ignore_errors=True)
                runs[pool.submit(run, job, directory, library, tool)] = (job, directory)
        for done in concurrent.futures.as_completed(runs):
            (job, directory), (verdict, more) = runs[done], done.result()
            totals[job.fault][verdict] += 1
            print(f"{verdict:6s} {job}: {more}", flush=True)
            if verdict == "named" and not asked.keep:
                shutil.rmtree(directory, ignore_errors=True)
    for fault, counts in totals.items():
        print(f"{fault}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if not asked.keep:
        shutil.rmtree(scratch, ignore_errors=True)
    counts = sum(totals.values(), collections.Counter())
    judged = sum(counts.values()) - counts["starved"]
    is_bad = counts["wrong"] + counts["failed"] or counts["named"] < 0.95 * judged
    return int(bool(is_bad or counts["starved"] > 0.1 * sum(counts.values())))


if __name__ == "__main__":
    sys.exit(main())
