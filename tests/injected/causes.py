#!/usr/bin/env python3
"""Does the report name the cause of a late rank? Two processes without a GPU are the ranks of a job of steps
(tests/c/programs/steps_host.c). The second one has a fault of its host. The faults are real, so the two processors have
to be idle otherwise. tests/gpu/causes.sh has those of GPUs.

    tests/injected/causes.py [--rounds N] [--fault NAME]... [--library FILE] [--keep DIRECTORY]

LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with scorep-nccl beside it. A run takes some
seconds. Prints one line a run and the totals; exit status 1 if a run names a cause that was not there. Without the right to
make cgroups, runs with a limit are left out."""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
STEPS, CALLS, WORK_US, SLEEP_US = 600, 4, 800, 4000
# by fault: the causes that are right
EXPECTED = {
    "none": set(),
    "sleep": {"blocked"},
    "busy": {"processor"},
    "few": {"affinity"},
    "stops": {"stopped"},
    "limit": {"throttled"},
}
CGROUP = pathlib.Path("/sys/fs/cgroup")


class Limit:
    """A cgroup that may use a part of one processor."""

    def __init__(self, share):
        self.quota, self.period = int(share * 20_000), 20_000
        self.is_v2 = (CGROUP / "cgroup.controllers").exists()
        self.path = (CGROUP if self.is_v2 else CGROUP / "cpu") / f"scorep-nccl-{os.getpid()}"

    def __enter__(self):
        self.path.mkdir()
        if self.is_v2:
            (self.path / "cpu.max").write_text(f"{self.quota} {self.period}")
        else:
            (self.path / "cpu.cfs_period_us").write_text(str(self.period))
            (self.path / "cpu.cfs_quota_us").write_text(str(self.quota))
        return self

    def take(self, process):
        (self.path / "cgroup.procs").write_text(str(process))

    def __exit__(self, *_):
        for _ in range(50):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)


def start(programs, directory, fault, rank, library):
    settings = {
        **os.environ,
        "NCCL_SCOREP_RECORD": str(directory / "recordings"),
        "SLURM_JOB_ID": "1", "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2",
    }  # fmt: skip
    sleep = SLEEP_US if rank == 1 and fault == "sleep" else 0
    command = [programs / "steps_host", library, 5, 2, rank, directory / "meeting", STEPS, CALLS, WORK_US, sleep, "spin"]
    # a rank that is not bound has the other processor to itself
    if not (fault == "few" and rank == 0):
        command = ["taskset", "-c", rank, *command]
    with open(directory / f"log.{rank}", "w") as log:
        return subprocess.Popen([str(word) for word in command], env=settings, stdout=log, stderr=subprocess.STDOUT)


def disturb(fault, process, limit):
    """Does to the process what the fault is, until it has ended; returns what is left to end."""
    if fault in ("busy", "few"):
        return subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"])
    if fault == "limit":
        limit.take(process.pid)
    while fault == "stops" and process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        process.send_signal(signal.SIGCONT)
        time.sleep(random.uniform(0.2, 0.5))
    return None


def judge(fault, report):
    stragglers = json.loads(report.read_text())["stragglers"].get("known")
    if stragglers is None:
        return "no report", []
    found = [(rank["name"], [cause["kind"] for cause in rank["causes"] or []]) for rank in stragglers["found"]]
    pauses = {event["cause"] for event in stragglers["events"] if event["cause"]}
    expected = EXPECTED[fault]
    named = {causes[0] for _, causes in found if causes}
    if fault == "stops":
        named = named or pauses & expected
    if fault == "none":
        verdict = "wrong" if named else "named" if found else "right"
    else:
        verdict = "wrong" if named - expected else "right" if named else "unknown"
    return verdict, [found, sorted(pauses)]


def run(programs, directory, fault, library):
    (directory / "recordings").mkdir(parents=True)
    with Limit(0.7) if fault == "limit" else open(os.devnull) as limit:
        processes = [start(programs, directory, fault, rank, library) for rank in (0, 1)]
        busy = disturb(fault, processes[1], limit)
        status = [process.wait() for process in processes]
        if busy:
            busy.kill()
            busy.wait()
    if status != [0, 0]:
        return "failed", [status]
    report = directory / "report.json"
    with open(directory / "report.txt", "w") as text:
        subprocess.run([library.parent / "scorep-nccl", "report", directory / "recordings", "--json", report],
                       stdout=text, stderr=subprocess.STDOUT, check=False)
    return judge(fault, report)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--fault", action="append", choices=EXPECTED)
    arguments.add_argument("--library", default="target/shipped/release/libscorep_substrate_nccl.so")
    arguments.add_argument("--keep", type=pathlib.Path)
    asked = arguments.parse_args()
    library = pathlib.Path(asked.library).resolve()
    scratch = asked.keep or pathlib.Path(tempfile.mkdtemp())
    programs = scratch / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    source = HERE.parent / "c/programs/steps_host.c"
    subprocess.run(["cc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", source, "-o", programs / "steps_host", "-ldl",
                    "-lpthread"], check=True)  # fmt: skip
    totals = collections.defaultdict(collections.Counter)
    for number in range(asked.rounds):
        for fault in asked.fault or EXPECTED:
            directory = scratch / f"{fault}.{number}"
            shutil.rmtree(directory, ignore_errors=True)
            try:
                verdict, found = run(programs, directory, fault, library)
            except PermissionError as error:
                verdict, found = "skipped", [str(error)]
            totals[fault][verdict] += 1
            print(f"{verdict:8s} {fault}: {found}", flush=True)
            if verdict == "right" and not asked.keep:
                shutil.rmtree(directory, ignore_errors=True)
    for fault, counts in totals.items():
        print(f"{fault}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if not asked.keep:
        shutil.rmtree(scratch, ignore_errors=True)
    return int(any(counts["wrong"] + counts["failed"] for counts in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
