"""A training in PyTorch that goes on for a time: training.py SECONDS RANKS DIRECTORY.

Each rank is a process of its own, and writes DIRECTORY/did.R.json as program.py does, with its memory in use from time
to time: seconds, resident bytes, bytes in use on the GPU. A step computes a small transformer forward and backward,
all-reduces its gradients by layer while the backward computation goes on, and gathers shards of an embedding. Every
200th step makes a communicator and destroys it. DIRECTORY/begun.R says that the first of them is over."""

import collections
import json
import os
import sys
import time

import ranks

SECONDS, RANKS, DIRECTORY = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
RANK = ranks.own()

if RANK is None:
    ranks.end(ranks.start(RANKS, DIRECTORY))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

LAYERS, WIDTH, TOKENS, BATCH, WORDS = 4, 512, 128, 4, 8192
LOOK, ALONE, BEGUN = 20, 200, 12
did = collections.defaultdict(lambda: [0, 0])
memory = []


def count(function, nbytes):
    did[function][0] += 1
    did[function][1] += nbytes


def look(begun):
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    free, total = torch.cuda.mem_get_info()
    memory.append((time.monotonic() - begun, resident, total - free))


def all_reduced(gradient):
    """The gradient's mean over the ranks, under way."""
    count("AllReduce", gradient.nbytes)
    return dist.all_reduce(gradient, op=dist.ReduceOp.AVG, async_op=True)


class Model(torch.nn.Module):
    """Words by an embedding of which each rank has a shard, and layers whose gradients are reduced as they come."""

    def __init__(self):
        super().__init__()
        layer = lambda: torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = torch.nn.ModuleList(layer() for _ in range(LAYERS))
        self.shard = torch.nn.Parameter(torch.randn(WORDS // RANKS, WIDTH) * 0.02)
        self.under_way = []

    def reduce_as_they_come(self):
        for parameter in self.layers.parameters():
            parameter.register_post_accumulate_grad_hook(lambda own: self.under_way.append(all_reduced(own.grad)))

    def forward(self, words):
        embedding = torch.empty(WORDS, WIDTH, device="cuda")
        with torch.no_grad():
            dist.all_gather_into_tensor(embedding, self.shard)
            count("AllGather", self.shard.nbytes)
        embedding.requires_grad_()
        state = embedding[words]
        for layer in self.layers:
            state = layer(state)
        return state @ embedding.T, embedding

    def finish(self, embedding):
        """The gradient of the own shard, and those of the layers."""
        self.shard.grad = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(self.shard.grad, embedding.grad)
        count("ReduceScatter", self.shard.nbytes)
        for work in self.under_way:
            work.wait()
        self.under_way.clear()


def communicator():
    """One that lives for an all-reduce."""
    group = dist.new_group(list(range(RANKS)))
    tensor = torch.ones(1 << 12, device="cuda")
    dist.all_reduce(tensor, group=group)
    count("AllReduce", tensor.nbytes)
    torch.cuda.synchronize()
    dist.destroy_process_group(group)


def goes_on(until):
    """Whether the first rank has time left, as all ranks learn."""
    flag = torch.tensor([float(time.monotonic() < until)], device="cuda")
    dist.broadcast(flag, 0)
    count("Broadcast", flag.nbytes)
    return bool(flag.item())


def train():
    torch.manual_seed(1)
    model = Model().cuda()
    model.reduce_as_they_come()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    begun, step, loss = time.monotonic(), 0, None
    while goes_on(begun + SECONDS):
        for _ in range(LOOK):
            words = torch.randint(WORDS, (BATCH, TOKENS), device="cuda")
            scores, embedding = model(words)
            loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), words.flatten())
            loss.backward()
            model.finish(embedding)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % ALONE == 0:
                communicator()
        look(begun)
        if len(memory) == BEGUN:
            open(f"{DIRECTORY}/begun.{RANK}", "w").close()
    return step, loss.item()


ranks.join(RANK, RANKS, DIRECTORY)
steps, last_loss = train()
dist.destroy_process_group()
with open(f"{DIRECTORY}/did.{RANK}.json", "w") as to:
    made = {"did": did, "times": {}, "nccl": ranks.nccl_release(), "memory": memory, "steps": steps, "loss": last_loss}
    json.dump(made, to)
time.sleep(0.1)
