"""A rank of tests/gpu/causes.sh, and the verdict on its report.

causes.py train FAULT STEPS DIRECTORY: a rank of two (RANK) trains. The second one has the fault.
causes.py judge FAULT REPORT_JSON: prints one line; exit status 1 if the report names a cause that was not there."""

import json
import os
import sys
import time

EXPECTED = {
    "sleep": {"blocked"},
    "busy": {"processor"},
    "few": {"affinity"},
    "stops": {"stopped"},
    "kernels": {"gpu_work"},
    "none": set(),
}
PARTS = 4
KERNELS = 6
SLEEP = 0.004


def work(rounds=6000):
    """Work of the host."""
    total = 0
    for number in range(rounds):
        total += number
    return total


def train(fault, steps, directory):
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    hurt = rank == 1
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{directory}/meeting", rank=rank, world_size=2)
    data, weights = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    # of different sizes, by which the report finds the steps
    gradients = [torch.zeros(1 << (20 - part), device="cuda") for part in range(PARTS)]
    with open(f"{directory}/process.{rank}", "w") as file:
        file.write(str(os.getpid()))
    for _ in range(int(steps)):
        for part in range(PARTS):
            if fault == "sleep" and hurt and part == 0:
                time.sleep(SLEEP)
            work()
            values = data
            for _ in range(KERNELS * (2 if fault == "kernels" and hurt else 1)):
                values = torch.mm(values, weights) * 0.01
            gradients[part].fill_(1.0)
            dist.all_reduce(gradients[part])
            # as a program that looks at its loss
            gradients[part][0].item()
    dist.destroy_process_group()


def judge(fault, report):
    with open(report) as file:
        stragglers = json.load(file)["stragglers"].get("known")
    if stragglers is None:
        print(f"wrong    {fault}: no report")
        return 1
    found = [(rank["name"], [cause["kind"] for cause in rank["causes"] or []]) for rank in stragglers["found"]]
    pauses = {event["cause"] for event in stragglers["events"] if event["cause"]}
    expected = EXPECTED[fault]
    first = {causes[0] for _, causes in found if causes}
    # a rank that pauses now and then need not stand out: then its pauses have the cause
    named = first or (pauses & expected if fault == "stops" else set())
    verdict = "right" if named == expected else "wrong" if named - expected else "unknown"
    print(f"{verdict:8s} {fault}: {found}; pauses: {sorted(pauses)}")
    return int(verdict == "wrong")


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    sys.exit({"train": train, "judge": judge}[verb](*arguments))
