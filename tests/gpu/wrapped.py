"""Jobs of PyTorch's own wrappers, whose hosts run ahead: wrapped.py ddp|fsdp|hsdp gpu|host gpu|host RANKS DIRECTORY.

The second word says who limits the steps of a model of blocks of two products: the GPU, where each block spins for a
time, or the host. The third one says whose fault rank 1 has in the middle third of the steps: its GPU computes longer
before each forward pass, or its host sleeps. Rank r writes DIRECTORY/steps.r.json: the mean step of each third, in
microseconds of the host's clock, and the times of CLOCK_MONOTONIC between which its steps lie, nanoseconds. The library
records into DIRECTORY/recording.r. NCCL_PROFILER_PLUGIN names it. Ranks that share a GPU need CUDA's Multi-Process
Service, NODES=2 and NCCL_NET=Socket."""

import gc
import json
import os
import sys
import time

import ranks

WRAPPER, BOUND, FAULT, RANKS, DIRECTORY = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5]
RANK = ranks.own()
WARM_UP, STEPS = 50, int(os.environ.get("STEPS", "80"))
# width, tokens and blocks of the model, the milliseconds that a block computes, and the fault's length over that of a
# step
MODEL = {"gpu": (256, 256, 6, 1.0), "host": (64, 64, 16, 0)}[BOUND]
SHARE = {("gpu", "gpu"): 0.2, ("gpu", "host"): 0.9, ("host", "gpu"): 0.8, ("host", "host"): 0.2}[BOUND, FAULT]

if RANK is None:
    ranks.end(ranks.start(RANKS, DIRECTORY, recorded=True))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


class Spin(torch.autograd.Function):
    """Occupies a multiprocessor for a time forward, and for twice that backward."""

    @staticmethod
    def forward(ctx, hidden, cycles):
        ctx.cycles = cycles
        torch.cuda._sleep(cycles)
        return hidden

    @staticmethod
    def backward(ctx, gradient):
        torch.cuda._sleep(2 * ctx.cycles)
        return gradient, None


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, hidden):
        hidden = Spin.apply(hidden, int(MODEL[3] * CYCLES)) if MODEL[3] else hidden
        return hidden + self.narrow(torch.nn.functional.gelu(self.wide(hidden)))


def model(width, blocks):
    made = torch.nn.Sequential(*[Block(width) for _ in range(blocks)]).to("cuda", torch.bfloat16)
    if WRAPPER == "ddp":
        return DistributedDataParallel(made, device_ids=[torch.cuda.current_device()])
    shape, names = ((RANKS,), ("shard",)) if WRAPPER == "fsdp" else ((RANKS, 1), ("replicate", "shard"))
    mesh = init_device_mesh("cuda", shape, mesh_dim_names=names)
    for block in made:
        fully_shard(block, mesh=mesh)
    return fully_shard(made, mesh=mesh)


ranks.join(RANK, RANKS, DIRECTORY)
CYCLES = ranks.cycles_of_a_millisecond()
width, tokens, blocks, _ = MODEL
torch.manual_seed(1)
net = model(width, blocks)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-6, foreach=True)
inputs = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)


def step(fault):
    """A step with a fault of so many milliseconds."""
    if fault and FAULT == "host":
        time.sleep(fault / 1e3)
    if fault and FAULT == "gpu":
        torch.cuda._sleep(int(fault * CYCLES))
    loss = net(inputs).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


def pause():
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    gc.collect()
    time.sleep(0.3)


def third(fault):
    """Milliseconds of a step in the mean, and the times between which the steps lie."""
    pause()
    # the first steps behind a pause are longer
    spans = [time.monotonic_ns()]
    for number in range(STEPS + 10):
        if number == 10:
            torch.cuda.synchronize()
            spans = [time.monotonic_ns()]
        step(fault)
    torch.cuda.synchronize()
    spans.append(time.monotonic_ns())
    return (spans[1] - spans[0]) / 1e6 / STEPS, spans


step(0)
ranks.bind(RANK, RANKS)
gc.disable()
for _ in range(WARM_UP):
    step(0)
before, spans = third(0)
usual = torch.tensor([before], device="cuda")
dist.broadcast(usual, 0)
fault = SHARE * usual.item()
thirds = [(before, spans), third(fault if RANK == 1 else 0), third(0)]
pause()
dist.destroy_process_group()
with open(f"{DIRECTORY}/steps.{RANK}.json", "w") as to:
    json.dump(
        {"mean_us": [1e3 * mean for mean, _ in thirds], "spans": [span for _, span in thirds], "fault_ms": fault}, to
    )
time.sleep(0.2)
