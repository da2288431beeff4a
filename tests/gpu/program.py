"""A PyTorch program that uses NCCL, and writes down what it did: program.py WHAT RANKS DIRECTORY.

Each rank is a process of its own, but for `single`. Rank r writes DIRECTORY/did.r.json: operations by function, count and bytes as NCCL
counts them, and times by CUDA events; the plugin writes its summary beside it."""

import collections
import json
import sys
import time

import ranks

WHAT, RANKS, DIRECTORY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
RANK = ranks.own()

if RANK is None:
    ranks.end(ranks.start(1 if WHAT == "single" else RANKS, DIRECTORY))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

did = collections.defaultdict(lambda: [0, 0])
times = {}


def count(function, nbytes, times_done=1):
    did[function][0] += times_done
    did[function][1] += nbytes * times_done


def write():
    with open(f"{DIRECTORY}/did.{RANK}.json", "w") as file:
        json.dump({"did": did, "times": times, "nccl": ranks.nccl_release()}, file)


def collectives():
    for exponent in range(8, 24, 3):
        size = 1 << exponent
        tensor = torch.ones(size // 4, device="cuda")
        gathered = torch.empty(size // 4 * RANKS, device="cuda")
        for _ in range(3):
            dist.all_reduce(tensor)
            count("AllReduce", size)
            dist.broadcast(tensor, 0)
            count("Broadcast", size)
            dist.reduce(tensor, 0)
            count("Reduce", size)
            dist.all_gather_into_tensor(gathered, tensor)
            count("AllGather", size)
            dist.reduce_scatter_tensor(tensor, gathered)
            count("ReduceScatter", size)
    torch.cuda.synchronize()
    # last, since from here on this NCCL's kernel stamps may be out of step
    tensor = torch.ones(1 << 16, device="cuda")
    for _ in range(3):
        dist.all_to_all_single(torch.empty_like(tensor), tensor)
        count("Send", tensor.nbytes // RANKS, RANKS)
        count("Recv", tensor.nbytes // RANKS, RANKS)
    torch.cuda.synchronize()


def broadcasts():
    """Broadcasts among all other collectives: a loop that NCCL 2.29 and 2.30 never end where a plugin asks for kernel events."""
    for size in (4, 512, 64 << 10, 8 << 20):
        tensor = torch.ones(size // 4, device="cuda")
        gathered = torch.empty(size // 4 * RANKS, device="cuda")
        for _ in range(10):
            dist.all_reduce(tensor)
            count("AllReduce", size)
            dist.all_gather_into_tensor(gathered, tensor)
            count("AllGather", size)
            dist.reduce_scatter_tensor(tensor, gathered)
            count("ReduceScatter", size)
            dist.broadcast(tensor, 0)
            count("Broadcast", size)
            dist.reduce(tensor, RANKS - 1)
            count("Reduce", size)
            dist.all_to_all_single(torch.empty_like(gathered), gathered)
            count("Send", size, RANKS)
            count("Recv", size, RANKS)
        torch.cuda.synchronize()


def timing():
    """All-reduces of 4 bytes and of 8 MiB and more, a communicator a size, each between two CUDA events. The GPU is kept busy until all
    three are enqueued, so that the time between the events is the GPU's alone."""
    for size in (4, 8 << 20, 32 << 20, 256 << 20):
        group = dist.new_group(list(range(RANKS)))
        tensor = torch.ones(size // 4, device="cuda")
        dist.broadcast(tensor, 0, group=group)
        count("Broadcast", size)
        spans = []
        for _ in range(20):
            torch.cuda.synchronize()
            torch.cuda._sleep(10_000_000)
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            dist.all_reduce(tensor, group=group)
            last.record()
            torch.cuda.synchronize()
            spans.append(first.elapsed_time(last) * 1e3)
            count("AllReduce", size)
        times[size] = {"min_us": min(spans), "sum_us": sum(spans), "count": len(spans)}


def pipeline():
    tensor = torch.ones(1 << 20, device="cuda")
    for _ in range(16):
        if RANK > 0:
            dist.recv(tensor, RANK - 1)
            count("Recv", tensor.nbytes)
        if RANK < RANKS - 1:
            dist.send(tensor, RANK + 1)
            count("Send", tensor.nbytes)
    torch.cuda.synchronize()


def graph():
    tensor = torch.ones(1 << 18, device="cuda")
    dist.all_reduce(tensor)
    torch.cuda.synchronize()
    count("AllReduce", tensor.nbytes)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        dist.all_reduce(tensor)
    for _ in range(10):
        captured.replay()
        torch.cuda.synchronize()
    count("AllReduce", tensor.nbytes, 10)


def communicators():
    for round_number in range(5):
        group = dist.new_group(list(range(RANKS)))
        tensor = torch.ones(1 << 12, device="cuda")
        dist.all_reduce(tensor, group=group)
        count("AllReduce", tensor.nbytes)
        torch.cuda.synchronize()
        dist.destroy_process_group(group)


def single():
    """One process, several GPUs."""
    tensors = [torch.ones(1 << 18, device=f"cuda:{gpu}") for gpu in range(RANKS)]
    for _ in range(10):
        torch.cuda.nccl.all_reduce(tensors, tensors)
        for tensor in tensors:
            count("AllReduce", tensor.nbytes)
    for gpu in range(RANKS):
        torch.cuda.synchronize(gpu)


if WHAT == "single":
    single()
else:
    ranks.join(RANK, RANKS, DIRECTORY)
    globals()[WHAT]()
    dist.destroy_process_group()
write()
time.sleep(0.1)
