#!/usr/bin/env python3
"""Does the report name the cause of a late rank? Two processes without a GPU are the ranks of a job of steps
(tests/c/programs/steps_host.c). The second one has a fault of its host. The faults are real, so the two processors have
to be idle otherwise. tests/gpu/causes.sh has those of GPUs.

    tests/injected/causes.py [--rounds N] [--fault NAME]... [--library FILE] [--keep DIRECTORY] [--first]

LIBRARY is libscorep_substrate_nccl.so (default: target/shipped/release), with scorep-nccl beside it. A run takes some
seconds. Prints one line a run and the totals; exit status 1 if a run names a cause that was not there. Without the
right to make control groups, or without their controller, runs with a limit are skipped, with the reason. With
--first, the run's processes come before all others of the machine (as root, Linux with autogroups): for processors
that are not idle. Others still take a processor for milliseconds while a rank sleeps. The verdict `disturbed` is for
runs whose rank waited for a processor by the system's own count.

Faults of a host: a sleep, a busy neighbour on the processor, the same where only this rank is bound to it, stops of
50 ms, a limit of processor time, and one of memory that is smaller than the data. Faults of a GPU, by stand-ins for
CUDA's driver and NVML: a slow clock, and more work."""

import argparse
import collections
import contextlib
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# of a run's seconds, the first one and the last one may be unknown
STEPS, CALLS, WORK_US, SLEEP_US = 1000, 4, 800, 4000
# by fault: the causes that are right
EXPECTED = {
    "none": set(),
    "sleep": {"blocked"},
    "busy": {"processor"},
    "few": {"affinity"},
    "stops": {"stopped"},
    "limit": {"throttled"},
    "memory": {"memory"},
    "clock": {"gpu_clock"},
    "more": {"gpu_work"},
}
# a control group limits the rank
LIMITED = ("limit", "memory")
# the rank gives its processor up by itself
OF_SLEEPERS = ("sleep", "memory")
# the GPU computes
OF_GPU = ("clock", "more")
# MHz of the GPUs, of a slow one, and how much longer a rank with more work computes
CLOCK, SLOW, MORE = 1980, 1485, 4 / 3
GPU = "0000:0A:00.0"
# bytes of the data that ranks read, and of the memory of one that is short of it
DATA, MEMORY = 64 << 20, 40 << 20
# part of a rank's extra time from which on something is its cause (GOOD_PART in tools/report/src/analysis/causes)
GOOD_PART = 0.3
CGROUP = pathlib.Path("/sys/fs/cgroup")


class Limit:
    """A control group that may use a part of one processor, or little memory."""

    def __init__(self, fault):
        name = f"scorep-nccl-{os.getpid()}"
        self.is_v2 = (CGROUP / "cgroup.controllers").exists()
        controller = "memory" if fault == "memory" else "cpu"
        self.paths = [(CGROUP if self.is_v2 else CGROUP / controller) / name]
        # beside version 1, version 2 counts the waits for memory
        if (CGROUP / "unified").exists():
            self.paths.append(CGROUP / "unified" / name)
        quota, period = 10_000, 20_000
        if fault == "memory":
            values = {"memory.high": MEMORY} if self.is_v2 else {"memory.limit_in_bytes": MEMORY}
        elif self.is_v2:
            values = {"cpu.max": f"{quota} {period}", "cpu.weight": 10_000}
        else:
            values = {"cpu.cfs_period_us": period, "cpu.cfs_quota_us": quota, "cpu.shares": 1 << 18}
        self.values = values

    def __enter__(self):
        try:
            for path in self.paths:
                path.mkdir()
            for name, value in self.values.items():
                (self.paths[0] / name).write_text(str(value))
        except OSError:
            self.__exit__()
            raise
        return self

    def take(self, process):
        for path in self.paths:
            (path / "cgroup.procs").write_text(str(process))

    def __exit__(self, *_):
        for path in self.paths:
            for _ in range(50):
                with contextlib.suppress(OSError):
                    path.rmdir()
                if not path.exists():
                    break
                time.sleep(0.1)


def build(programs):
    """Compiles the host, and the stand-ins of NVML and CUDA's driver."""
    programs.mkdir(parents=True, exist_ok=True)
    compiler = ["cc", "-std=gnu11", "-O2", "-D_GNU_SOURCE"]
    c = HERE.parent / "c"
    host = [c / "programs/steps_host.c", "-o", programs / "steps_host", "-ldl", "-lpthread"]
    subprocess.run([*compiler, *host], check=True)
    for source, name in (("nvml/nvml.c", "libnvidia-ml.so.1"), ("nvml/current_gpu.c", "libcuda.so.1")):
        shared = ["-shared", "-fPIC", f"-Wl,-soname,{name}", c / source, "-o", programs / name]
        subprocess.run([*compiler, *shared], check=True)


def make_data(path):
    """Makes a file of data that is not in the machine's memory, so that it counts for the group that reads it."""
    with open(path, "wb") as file:
        for _ in range(DATA >> 20):
            file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def come_first():
    """Lets this process and those that it starts come before the machine's other processes."""
    if os.getsid(0) != os.getpid():
        if os.getpgrp() == os.getpid():
            sys.exit("--first: start the script with `setsid -w`")
        os.setsid()
    pathlib.Path("/proc/self/autogroup").write_text("-20")


def take_at_once():
    """Asks for short slices, so that this process gets its processor soon after it has slept, as on an idle machine."""
    sched_setattr, slice_ns = 314, 100_000
    attributes = struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, slice_ns, 0, 0)
    ctypes.CDLL(None).syscall(sched_setattr, 0, attributes, 0)


def start(programs, directory, fault, rank, library, enter):
    settings = {
        **os.environ,
        "NCCL_SCOREP_RECORD": str(directory / "recordings"),
        "SLURM_JOB_ID": "1", "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2",
    }  # fmt: skip
    is_other = rank == 1
    work, sleep = WORK_US, SLEEP_US if is_other and fault == "sleep" else 0
    more = ["host"]
    if fault in OF_GPU:
        slow = is_other and fault == "clock"
        work = round(WORK_US * (CLOCK / SLOW if slow else MORE if is_other else 1))
        nvml = directory / f"nvml.{rank}"
        nvml.write_text(f"gpu {GPU} GPU-{rank}\nclocks {SLOW if slow else CLOCK} {CLOCK} 2619\npower 400000 700000\n")
        settings |= {
            "NCCL_SCOREP_CONDITIONS": "all", "NVML_STAND_IN_FILE": str(nvml), "CUDA_STAND_IN_GPU": GPU,
            "LD_LIBRARY_PATH": str(programs), "LD_PRELOAD": str(programs / "libcuda.so.1"),
        }  # fmt: skip
        more = ["gpu"]
    if fault == "memory":
        data = directory / f"data.{rank}"
        make_data(data)
        more.append(data)
    command = [programs / "steps_host", library, 5, 2, rank, directory / "meeting", STEPS, CALLS, work, sleep, "spin"]
    command += more
    # a rank that is not bound has the other processor to itself
    if not (fault == "few" and rank == 0):
        command = ["taskset", "-c", rank, *command]
    with open(directory / f"log.{rank}", "w") as log:
        return subprocess.Popen([str(word) for word in command], env=settings, stdout=log, stderr=subprocess.STDOUT,
                                preexec_fn=enter if is_other else None)  # fmt: skip


def disturb(fault, process):
    """Does to the process what the fault is, until it has ended; returns the processes that are left to end."""
    if fault in ("busy", "few"):
        return [subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"])]
    # the process stays until its times are read
    lives = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while fault == "stops" and os.waitid(os.P_PID, process.pid, lives) is None:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(random.uniform(0.2, 0.5))
    return []


def shares_waited(processes, begun):
    """Returns the share of the time since their begin for which ended processes were ready and had no processor, as the
    system counts it."""
    shares = []
    for process in processes:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        _, waited, _ = map(int, pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split())
        shares.append(waited / 1e9 / (time.monotonic() - begun))
    return shares


def judge(fault, directory):
    """Returns the verdict: `right`, `unknown` (no cause), `wrong`, or `disturbed`: the report names a wait for a
    processor that is not of the fault, and by the system's own count that rank has waited for a good part of its extra
    time."""
    stragglers = json.loads((directory / "report.json").read_text())["stragglers"].get("known")
    waited = json.loads((directory / "waited.json").read_text())
    if stragglers is None:
        return "no report", []
    found = [(rank["name"], [cause["kind"] for cause in rank["causes"] or []]) for rank in stragglers["found"]]
    pauses = {event["cause"] for event in stragglers["events"] if event["cause"]}
    expected = EXPECTED[fault]
    named = {(name, causes[0]) for name, causes in found if causes}
    if fault == "stops" and not named:
        named = {("rank 1", cause) for cause in pauses & expected}
    right = {("rank 1", cause) for cause in expected}
    others = named - right
    extra = {rank["name"]: rank["excess_us"] / stragglers["step_us"] for rank in stragglers["found"]}
    more = {"rank 0": waited[0] - waited[1], "rank 1": waited[1] - waited[0]}
    waits = {(name, "processor") for name, share in extra.items() if more.get(name, 0) >= GOOD_PART * share}
    if fault == "none" and not named:
        verdict = "unknown" if found else "right"
    elif others:
        verdict = "disturbed" if others <= waits else "wrong"
    else:
        verdict = "right" if named else "unknown"
    shares = {name: round(share, 3) for name, share in extra.items()}
    return verdict, [found, sorted(pauses), [round(share, 3) for share in waited], shares]


def ask(directory, tool):
    """Writes the report of a run."""
    with open(directory / "report.txt", "w") as text:
        subprocess.run([tool, "report", directory / "recordings", "--json", directory / "report.json"], stdout=text,
                       stderr=subprocess.STDOUT, check=False)  # fmt: skip


def run(programs, directory, fault, library):
    (directory / "recordings").mkdir(parents=True)
    with Limit(fault) if fault in LIMITED else contextlib.nullcontext() as limit:
        def enter():
            if limit:
                limit.take(os.getpid())
            if fault in OF_SLEEPERS:
                take_at_once()

        begun = time.monotonic()
        processes = [start(programs, directory, fault, rank, library, enter) for rank in (0, 1)]
        busy = []
        try:
            busy = disturb(fault, processes[1])
            (directory / "waited.json").write_text(json.dumps(shares_waited(processes, begun)))
            status = [process.wait() for process in processes]
        finally:
            # a rank whose peer has ended would wait without end
            for process in busy + processes:
                process.kill()
                process.wait()
    for data in directory.glob("data.*"):
        data.unlink()
    if status != [0, 0]:
        return "failed", [status]
    ask(directory, library.parent / "scorep-nccl")
    return judge(fault, directory)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--fault", action="append", choices=EXPECTED)
    arguments.add_argument("--library", default="target/shipped/release/libscorep_substrate_nccl.so")
    arguments.add_argument("--keep", type=pathlib.Path)
    arguments.add_argument("--first", action="store_true")
    asked = arguments.parse_args()
    # an end that was asked for ends the run's processes, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if asked.first:
        come_first()
    library = pathlib.Path(asked.library).resolve()
    scratch = asked.keep or pathlib.Path(tempfile.mkdtemp())
    programs = scratch / "programs"
    build(programs)
    totals = collections.defaultdict(collections.Counter)
    for number in range(asked.rounds):
        for fault in asked.fault or EXPECTED:
            directory = scratch / f"{fault}.{number}"
            shutil.rmtree(directory, ignore_errors=True)
            try:
                verdict, found = run(programs, directory, fault, library)
            except OSError as error:
                if fault not in LIMITED:
                    raise
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
