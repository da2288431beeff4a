"""A step of a training, again and again: step.py train|fsdp RANKS DIRECTORY. It says `ready`, then reads lines with a
number of steps until there are no more, makes so many, and prints how long each took: a list of us, of rank 0. With
MASKED_PLUGIN (masked_plugin.c), a line has a second number: 0 for steps without the plugin's event types, 1 for steps
with them."""

import ctypes
import json
import os
import subprocess
import sys
import time

import ranks

WHAT, RANKS, DIRECTORY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
RANK = ranks.own()

if RANK is None:
    processes = ranks.start(RANKS, DIRECTORY, stdin=subprocess.PIPE, text=True)
    for line in sys.stdin:
        for process in processes:
            process.stdin.write(line)
            process.stdin.flush()
    [process.stdin.close() for process in processes]
    ranks.end(processes)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def half(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02


class Train:
    """A transformer's blocks by tensor parallelism of two GPUs, and by a pipeline where there are more: an all-reduce
    for each layer and microbatch, forward and backward, with a computation before each. About 7 ms and 192 operations
    of all processes together."""

    def __init__(self):
        self.stages = RANKS // 2
        self.stage, width = RANK // 2, 2048
        self.pair = [dist.new_group([2 * stage, 2 * stage + 1]) for stage in range(self.stages)][self.stage]
        self.layers, self.microbatches, tokens = (8, 6, 1024) if self.stages == 1 else (4, 4, 2048)
        self.weights = [(half(width, 2 * width), half(2 * width, width)) for _ in range(self.layers)]
        self.hidden = half(tokens, width)

    def __call__(self):
        for forward in (True, False):
            towards = 1 if forward else -1
            before, behind = self.stage - towards, self.stage + towards
            for _ in range(self.microbatches):
                hidden = self.hidden.clone()
                if 0 <= before < self.stages:
                    dist.recv(hidden, RANK - 2 * towards)
                for wide, narrow in self.weights:
                    output = torch.relu(hidden @ wide) @ narrow if forward else (hidden @ narrow.T) @ wide.T
                    dist.all_reduce(output, group=self.pair)
                    hidden = hidden + output
                if 0 <= behind < self.stages:
                    dist.send(hidden, RANK + 2 * towards)


class Fsdp:
    """Fully sharded data parallelism: 25 operations of each process in some 3.6 ms, most of them beside the
    computation."""

    def __init__(self):
        self.width, layers = 4096, 8
        self.shards = [half(self.width * self.width // RANKS) for _ in range(layers)]
        self.whole = [half(self.width * self.width) for _ in range(2)]
        self.hidden, self.norm = half(2048, self.width), torch.ones(1, device="cuda")

    def __call__(self):
        for shards in (self.shards, self.shards[::-1]):
            work = None
            for place, shard in enumerate(shards):
                ahead = dist.all_gather_into_tensor(self.whole[place % 2], shard, async_op=True)
                if work:
                    work.wait()
                self.hidden @ self.whole[(place + 1) % 2].view(self.width, self.width)
                work = ahead
            work.wait()
        for shard in reversed(self.shards):
            dist.reduce_scatter_tensor(shard, self.whole[0])
        dist.all_reduce(self.norm)


ranks.join(RANK, RANKS, DIRECTORY)
step = {"train": Train, "fsdp": Fsdp}[WHAT]()
for _ in range(5):
    step()
torch.cuda.synchronize()
ranks.bind(RANK, RANKS)
if RANK == 0:
    print("ready", flush=True)
plugin = ctypes.CDLL("libnccl-profiler-masked.so") if "MASKED_PLUGIN" in os.environ else None
for line in sys.stdin:
    number, *is_requested = map(int, line.split())
    if plugin and plugin.masked_request(*is_requested):
        sys.exit("NCCL has not begun with the plugin")
    took = []
    for _ in range(number):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        took.append(round((time.perf_counter() - begin) * 1e6, 1))
    if RANK == 0:
        print(json.dumps(took), flush=True)
dist.destroy_process_group()
