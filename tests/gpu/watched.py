"""A rank of tests/gpu/watch.sh, and the verdict on the findings of its job.

watched.py train FAULT DIRECTORY: a rank under torchrun trains for some 40 s. The last rank has the fault from the
middle on: `slow`, a fifth more kernels; `stop`, it is stopped for 5 s; `none`.
watched.py judge FAULT DIRECTORY RANKS: prints one line; exit status 1 if the fault was not named in time, or anybody else
was."""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

import ranks

# seconds of the training until the fault and behind it, and within which it is to be named
BEFORE, BEHIND, SOON = 16, 26, 15
STOPPED = 5
PARTS, KERNELS = 4, 20


def train(fault, directory):
    import torch
    import torch.distributed as dist

    rank, count = ranks.join_launched()
    data, weights = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    # of different sizes, by which the steps are found
    gradients = [torch.zeros(1 << (20 - part), device="cuda") for part in range(PARTS)]

    def step(kernels):
        for gradient in gradients:
            values = data
            for _ in range(kernels):
                values = torch.mm(values, weights) * 0.01
            gradient.fill_(1.0)
            dist.all_reduce(gradient)
        # as a program that looks at its loss
        gradients[0][0].item()

    def steps_of(seconds):
        """The number of steps of that time, the same on all ranks."""
        begun = time.monotonic()
        for _ in range(20):
            step(KERNELS)
        number = torch.tensor(20 * seconds / (time.monotonic() - begun), device="cuda")
        dist.broadcast(number, 0)
        return int(number.item())

    steps_of(1)
    each = steps_of(1)
    for _ in range(BEFORE * each):
        step(KERNELS)
    kernels = KERNELS
    if rank == count - 1:
        (pathlib.Path(directory) / "effect").write_text(str(time.time()))
        if fault == "slow":
            kernels += KERNELS // 5
        if fault == "stop":
            own = os.getpid()
            subprocess.Popen(["sh", "-c", f"kill -STOP {own}; sleep {STOPPED}; kill -CONT {own}"])
    for _ in range(BEHIND * each):
        step(kernels)
    dist.destroy_process_group()


def names(fault, finding, last):
    """Returns whether a finding names the fault of the rank `last`."""
    if fault == "slow":
        return finding["kind"] == "rank" and finding["rank"]["rank"] == last
    if fault == "stop":
        return finding["kind"] == "pause" and [rank["rank"] for rank in finding["ranks"]] == [last]
    return False


def follows(fault, finding):
    """Returns whether a finding is true of the fault's effect or of the job's end."""
    # whoever waits 5 s for a stopped rank may be found to wait, and the rank to be stopped
    return finding["kind"] == "job" or (fault == "stop" and finding["kind"] in ("hang", "process"))


def judge(fault, directory, count):
    last = int(count) - 1
    directory = pathlib.Path(directory)
    effect = float((directory / "effect").read_text())
    lines = (directory / "status" / "findings.jsonl").read_text().splitlines()
    # what is over was named when it began
    found = [finding for finding in map(json.loads, lines) if finding["change"] != "over"]
    named = [finding for finding in found if names(fault, finding, last)]
    others = [finding for finding in found if finding not in named and not follows(fault, finding)]
    times = [datetime.datetime.fromisoformat(finding["time"]).timestamp() - effect for finding in named]
    right = not others and (fault == "none" or bool(times) and 0 <= times[0] <= SOON)
    said = "; ".join(finding["text"] for finding in named[:1] + others)
    print(f"{fault}: {f'{times[0]:.1f} s behind its effect: ' if times else ''}{said or 'nothing is said'}")
    return int(not right)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    sys.exit({"train": train, "judge": judge}[verb](*arguments))
