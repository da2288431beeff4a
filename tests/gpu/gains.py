"""Jobs with a planted fault, and without it: gains.py JOB RANKS DIRECTORY FACTOR, gains.py judge DIRECTORY WITHOUT.

Each rank is a process of its own. Computation is a kernel that occupies one multiprocessor for a time, so that ranks
that share a GPU do not slow each other down. One rank, the slow one, computes FACTOR times as long. Rank r writes
DIRECTORY/steps.r.json: its mean step, in microseconds of the host's clock, behind the first ten steps. The library
records into DIRECTORY/recording.r.

`judge` holds the report of a directory against the run WITHOUT the fault: the slow rank, and nobody else, is named, and
the step that the report predicts without the rank's extra time is within 5 % of the measured one."""

import glob
import json
import os
import re
import subprocess
import sys
import time

STEPS, WARM_UP, MICROBATCHES, LAYERS, NEAR = int(os.environ.get("STEPS", "60")), 10, 4, 4, 0.05


def slow(ranks):
    """The rank with the fault."""
    return min(ranks - 1, 2)


def run(directory):
    """The report of a directory, and the mean step by the program's clock."""
    with open(f"{directory}/report.json", "w") as file:
        inputs = sorted(glob.glob(f"{directory}/recording.*"))
        subprocess.run([os.environ["TOOL"], "report", *inputs, "--json", "-"], stdout=file, check=True)
    steps = [json.load(open(path))["mean_us"] for path in glob.glob(f"{directory}/steps.*.json")]
    return json.load(open(f"{directory}/report.json")), len(steps), sum(steps) / len(steps)


def judge(directory, without):
    wrong = []
    (with_it, ranks, own), (clean, _, truth) = run(directory), run(without)
    known = with_it["stragglers"].get("known") or sys.exit(f"not known: {with_it['stragglers'].get('absent')}")
    # `rank 2`, or `process 2` where the recordings do not name their ranks
    name = lambda place: int((re.findall(r"\d+", with_it["gpus"][place]) or [place])[0])
    named = [[name(gpu) for gpu in found["gpus"]] for found in known["found"]]
    if named != [[slow(ranks)]]:
        wrong.append(f"named {named}, planted {slow(ranks)}")
    nobody = (clean["stragglers"].get("known") or {}).get("found")
    if nobody != []:
        wrong.append(f"named without the fault: {nobody}")
    gains = [found["gain_us"] for found in known["found"]]
    gain = gains[0] if len(gains) == 1 else known["together_us"]
    why = [found["why"] for found in known["found"]]
    said = f"a step takes {own / 1e3:.3f} ms ({known['step_us'] / 1e3:.3f} by the report), {truth / 1e3:.3f} without the fault"
    if gain is None:
        wrong.append("no gain")
    else:
        predicted = own - gain
        off = predicted / truth - 1
        said += f", predicted {predicted / 1e3:.3f} ({100 * off:+.1f} %; of the cost {100 * (gain / (own - truth) - 1):+.1f} %)"
        if abs(off) > NEAR:
            wrong.append("the prediction is off by more than 5 %")
    said += f"; {', '.join(map(str, why))}"
    print(said + "".join(f"; {it}" for it in wrong))
    return int(bool(wrong))


if sys.argv[1] == "judge":
    sys.exit(judge(sys.argv[2], sys.argv[3]))

import ranks  # noqa: E402

JOB, RANKS, DIRECTORY, FACTOR = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
RANK = ranks.own()

if RANK is None:
    ranks.end(ranks.start(RANKS, DIRECTORY, recorded=True))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

TIMES = FACTOR if RANK == slow(RANKS) else 1.0


def compute(milliseconds):
    torch.cuda._sleep(int(milliseconds * CYCLES * TIMES))


def late_rank():
    """Data parallelism: all-reduces beside the backward computation. The slow rank's host comes late."""
    gradients = [torch.ones((1 + layer) << 14, device="cuda") for layer in range(LAYERS)]

    def step():
        time.sleep(0.004 * (TIMES - 1))
        works = []
        for gradient in gradients:
            torch.cuda._sleep(int(2 * CYCLES))
            works.append(dist.all_reduce(gradient, async_op=True))
        [work.wait() for work in works]
        torch.cuda.synchronize()

    return step


def ddp():
    """Data parallelism whose host runs ahead: forward, backward with all-reduces beside it, optimizer."""
    gradients = [torch.ones((1 + layer) << 14, device="cuda") for layer in range(LAYERS)]

    def step():
        compute(2)
        works = []
        for gradient in gradients:
            compute(2)
            works.append(dist.all_reduce(gradient, async_op=True))
        [work.wait() for work in works]
        compute(1)

    return step


def moe():
    """A mixture of experts: all-to-alls before and behind the experts, and a norm over all ranks."""
    tokens, theirs = (torch.ones(RANKS << 13, device="cuda") for _ in range(2))
    norm = torch.ones(1, device="cuda")

    def step():
        for _ in range(LAYERS):
            compute(1)
            dist.all_to_all_single(theirs, tokens)
            compute(3)
            dist.all_to_all_single(tokens, theirs)
        dist.all_reduce(norm)
        torch.cuda.synchronize()

    return step


def fsdp():
    """Fully sharded: all-gathers ahead of the computation, reduce-scatters behind it."""
    shards = [torch.ones(1 << 14, device="cuda") for _ in range(LAYERS)]
    wholes = [torch.ones(RANKS << 14, device="cuda") for _ in range(2)]

    def gather(layer):
        return dist.all_gather_into_tensor(wholes[layer % 2], shards[layer], async_op=True)

    def step():
        for backward in (False, True):
            ahead = gather(0)
            for layer in range(LAYERS):
                ahead.wait()
                if layer + 1 < LAYERS:
                    ahead = gather(layer + 1)
                compute(4 if backward else 2)
                if backward:
                    dist.reduce_scatter_tensor(shards[layer], wholes[layer % 2])
        torch.cuda.synchronize()

    return step


def pipeline():
    """GPipe: micro-batches forward, then back. The slow rank is a stage."""
    forward, back = (torch.ones(1 << 16, device="cuda") for _ in range(2))
    between = [dist.new_group([stage, stage + 1]) for stage in range(RANKS - 1)]

    def step():
        for _ in range(MICROBATCHES):
            if RANK > 0:
                dist.recv(forward, RANK - 1, group=between[RANK - 1])
            compute(2)
            if RANK + 1 < RANKS:
                dist.send(forward, RANK + 1, group=between[RANK])
        for _ in range(MICROBATCHES):
            if RANK + 1 < RANKS:
                dist.recv(back, RANK + 1, group=between[RANK])
            compute(4)
            if RANK > 0:
                dist.send(back, RANK - 1, group=between[RANK - 1])
        torch.cuda.synchronize()

    return step


ranks.join(RANK, RANKS, DIRECTORY)
CYCLES = ranks.cycles_of_a_millisecond()
step = {"late_rank": late_rank, "ddp": ddp, "fsdp": fsdp, "moe": moe, "pipeline": pipeline}[JOB]()
dist.barrier()
# NCCL's threads are there: they are to share the rank's processors, and not this thread's one
ranks.bind(RANK, RANKS)
for number in range(STEPS):
    if number == WARM_UP:
        torch.cuda.synchronize()
        begun = time.perf_counter()
    step()
torch.cuda.synchronize()
mean = (time.perf_counter() - begun) / (STEPS - WARM_UP)
dist.barrier()
torch.cuda.synchronize()
dist.destroy_process_group()
with open(f"{DIRECTORY}/steps.{RANK}.json", "w") as to:
    json.dump({"mean_us": 1e6 * mean, "cycles": CYCLES}, to)
time.sleep(0.2)
