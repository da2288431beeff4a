"""NCCL's work under CUPTI, in the same process as the library: kernels.py WORKLOAD RANKS DIRECTORY.

Rank r writes DIRECTORY/kernels.r.json: NCCL's kernels as PyTorch's profiler has them from CUPTI, in the order of their
launches, each with its start (ns of the system's clock), duration (ns), name, GPU and stream, and whether a CUDA graph
launched it. The library writes the summary and a recording of all callbacks beside it. truth.py compares them."""

import contextlib
import json
import sys
import tempfile
import time

import ranks

WORKLOAD, RANKS, DIRECTORY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
RANK = ranks.own()

if RANK is None:
    ranks.end(ranks.start(1 if WORKLOAD == "single" else RANKS, DIRECTORY, recorded=True))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

# while graphs are replayed, ns of the system's clock: nothing else runs then
replays = []


def ones(elements, dtype=torch.float32):
    return torch.ones(elements, device="cuda", dtype=dtype)


def ring():
    """Each rank sends to the next and receives from the one before, in one group: one kernel."""
    for elements in (1 << 8, 1 << 14, 1 << 20, 1 << 23):
        sent, received = ones(elements), ones(elements)
        for _ in range(8):
            there = dist.P2POp(dist.isend, sent, (RANK + 1) % RANKS)
            here = dist.P2POp(dist.irecv, received, (RANK - 1) % RANKS)
            [work.wait() for work in dist.batch_isend_irecv([there, here])]
        torch.cuda.synchronize()


def sends():
    """Eight sends of different sizes in one group, from rank 0 to the others in turn."""
    tensors = [ones(1 << exponent) for exponent in range(4, 20, 2)]
    for _ in range(16):
        peers = [1 + place % (RANKS - 1) for place in range(len(tensors))]
        if RANK == 0:
            work = [dist.P2POp(dist.isend, tensor, peer) for tensor, peer in zip(tensors, peers)]
        else:
            work = [dist.P2POp(dist.irecv, tensor, 0) for tensor, peer in zip(tensors, peers) if peer == RANK]
        [each.wait() for each in dist.batch_isend_irecv(work)]
        torch.cuda.synchronize()


def tree():
    """All-reduces of many sizes; NCCL_ALGO=allreduce:tree asks for the algorithm."""
    for exponent in range(6, 23, 2):
        tensor = ones(1 << exponent)
        for _ in range(6):
            dist.all_reduce(tensor)
        torch.cuda.synchronize()


def pat():
    """All-gathers and reduce-scatters; NCCL_ALGO="allgather:pat;reducescatter:pat" and a GPU a node ask for the
    algorithm."""
    for exponent in range(6, 21, 2):
        shard, whole = ones(1 << exponent), ones(RANKS << exponent)
        for _ in range(6):
            dist.all_gather_into_tensor(whole, shard)
            dist.reduce_scatter_tensor(shard, whole)
        torch.cuda.synchronize()


def moe():
    """A mixture of experts: all-reduces, two all-to-alls a layer (dispatch, combine), gradients by reduce-scatter and
    all-gather, and in every other step a broadcast of a scalar. The first step is without all-to-all."""
    width, tokens, layers = 2048, 1024, 4
    weights = torch.randn(width, width, device="cuda", dtype=torch.bfloat16) * 0.02
    gradients, shard, scale = ones(RANKS << 20), ones(1 << 20), ones(1)
    for step in range(6):
        hidden = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)
        for _ in range(layers):
            output = hidden @ weights
            dist.all_reduce(output)
            if step:
                dispatched = torch.empty_like(output)
                dist.all_to_all_single(dispatched, output)
                dist.all_to_all_single(output, torch.relu(dispatched @ weights))
            hidden = hidden + output
        dist.reduce_scatter_tensor(shard, gradients)
        dist.all_gather_into_tensor(gradients, shard)
        if step % 2:
            dist.broadcast(scale, 0)
        torch.cuda.synchronize()


def broadcasts():
    """Broadcasts among all other collectives, four sizes."""
    for elements in (1, 1 << 7, 1 << 14, 1 << 21):
        tensor, whole = ones(elements), ones(RANKS * elements)
        for _ in range(8):
            dist.all_reduce(tensor)
            dist.all_gather_into_tensor(whole, tensor)
            dist.reduce_scatter_tensor(tensor, whole)
            dist.broadcast(tensor, 0)
            dist.reduce(tensor, RANKS - 1)
            dist.all_to_all_single(torch.empty_like(whole), whole)
        torch.cuda.synchronize()


def grouped():
    """Two broadcasts in one group, from different ranks, and two all-reduces."""
    tensors = [ones(1 << 12), ones(1 << 16)]
    for _ in range(8):
        with dist._coalescing_manager(device=torch.device("cuda", RANK), async_ops=True) as group:
            [dist.broadcast(tensor, root, async_op=True) for root, tensor in enumerate(tensors)]
        group.wait()
        with dist._coalescing_manager(async_ops=True) as group:
            [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        group.wait()
        torch.cuda.synchronize()


def pipeline():
    """Activations forward, gradients backward by lone sends and receives, then an all-reduce of neighbours, in
    communicators of their own."""
    pairs = [dist.new_group([first, first + 1]) for first in range(0, RANKS - 1, 2)]
    activations = ones(1 << 21)
    for _ in range(4):
        for before, behind in ((RANK - 1, RANK + 1), (RANK + 1, RANK - 1)):
            for _ in range(8):
                if 0 <= before < RANKS:
                    dist.recv(activations, before)
                activations.mul_(1.0001)
                if 0 <= behind < RANKS:
                    dist.send(activations, behind)
        if RANK // 2 < len(pairs):
            dist.all_reduce(activations[: 1 << 20], group=pairs[RANK // 2])
        torch.cuda.synchronize()


def fsdp():
    """Fully sharded data parallelism: an all-gather ahead of each layer, forward and backward, beside the computation;
    reduce-scatters, and the gradients' norm by all-reduce."""
    width, layers = 4096, 8
    shards = [ones(width * width // RANKS, torch.bfloat16) for _ in range(layers)]
    whole = [ones(width * width, torch.bfloat16) for _ in range(2)]
    hidden = torch.randn(2048, width, device="cuda", dtype=torch.bfloat16)
    norm = ones(1)
    for _ in range(4):
        for order in (range(layers), range(layers - 1, -1, -1)):
            work = None
            for place, layer in enumerate(order):
                ahead = dist.all_gather_into_tensor(whole[place % 2], shards[layer], async_op=True)
                if work:
                    work.wait()
                hidden @ whole[(place + 1) % 2].view(width, width)
                work = ahead
            work.wait()
        for shard in reversed(shards):
            dist.reduce_scatter_tensor(shard, whole[0])
        dist.all_reduce(norm)
        torch.cuda.synchronize()


def graph():
    """All-reduces, alone and captured into a CUDA graph that is replayed, in turn."""
    tensor = ones(1 << 18)
    captured = torch.cuda.CUDAGraph()
    for launch in range(3):
        for _ in range(4):
            dist.all_reduce(tensor)
        torch.cuda.synchronize()
        if launch == 0:
            with torch.cuda.graph(captured):
                dist.all_reduce(tensor)
                tensor.mul_(0.5)
                dist.all_reduce(tensor)
        with replayed():
            for _ in range(10):
                captured.replay()


def graphs():
    """A layer of a model in a CUDA graph: collectives, and a send and a receive in one kernel. It is replayed slowly,
    with plain all-reduces in between, and then many times on end. NCCL_SCOREP_GRAPH_EVENTS=1 has events time replays."""
    tensor, small, whole, received = ones(1 << 18), ones(1 << 10), ones(RANKS << 16), ones(1 << 18)

    def layer():
        dist.all_reduce(tensor)
        tensor.mul_(0.5)
        dist.all_reduce(small)
        dist.all_gather_into_tensor(whole, tensor[: 1 << 16])
        there = dist.P2POp(dist.isend, tensor, (RANK + 1) % RANKS)
        here = dist.P2POp(dist.irecv, received, (RANK - 1) % RANKS)
        [work.wait() for work in dist.batch_isend_irecv([there, here])]

    for _ in range(3):
        layer()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        layer()
    for _ in range(20):
        dist.all_reduce(tensor)
        with replayed():
            for _ in range(3):
                captured.replay()
                torch.cuda.synchronize()
                time.sleep(0.015)
    with replayed():
        for _ in range(50):
            captured.replay()
    dist.all_reduce(tensor)
    torch.cuda.synchronize()


def decode():
    """A server: a layer in a CUDA graph, replayed slowly, and nothing outside of it for ten seconds and from then on.
    NCCL_SCOREP_GRAPH_EVENTS=1 has events time replays."""
    tensor, small = ones(1 << 18), ones(1 << 10)

    def layer():
        dist.all_reduce(tensor)
        tensor.mul_(0.5)
        dist.all_reduce(small)

    layer()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        layer()
    time.sleep(10)
    with replayed():
        for _ in range(200):
            captured.replay()
            torch.cuda.synchronize()
            time.sleep(0.015)


@contextlib.contextmanager
def replayed():
    """Around replays: far enough from everything else that CUPTI's clock and the system's need not agree by more than
    milliseconds."""
    torch.cuda.synchronize()
    time.sleep(0.05)
    begin = time.time_ns()
    yield
    torch.cuda.synchronize()
    replays.append((begin - 20_000_000, time.time_ns() + 20_000_000))
    time.sleep(0.05)


def ahead():
    """A host that is ahead of its GPU throughout: no launch finds a free stream."""
    elements, matrix = torch.ones(1 << 20, device="cuda"), torch.ones(4096, 4096, device="cuda", dtype=torch.bfloat16)
    peer = (RANK + 1) % RANKS
    torch.cuda._sleep(500_000_000)
    for number in range(150):
        for _ in range(20):
            matrix @ matrix
        dist.all_reduce(elements)
        if number % 3 == 0:
            received = torch.empty_like(elements)
            operations = [dist.P2POp(dist.isend, elements, peer), dist.P2POp(dist.irecv, received, peer)]
            for work in dist.batch_isend_irecv(operations):
                work.wait()


def single():
    """One process, several GPUs."""
    for elements in (1 << 8, 1 << 18, 1 << 22):
        tensors = [torch.ones(elements, device=f"cuda:{gpu}") for gpu in range(RANKS)]
        for _ in range(10):
            torch.cuda.nccl.all_reduce(tensors, tensors)
        for gpu in range(RANKS):
            torch.cuda.synchronize(gpu)


def kernels(profiled):
    """NCCL's, of a profile, in the order of their launches: CUPTI numbers the calls that launch them."""
    with tempfile.TemporaryDirectory() as scratch:
        profiled.export_chrome_trace(f"{scratch}/trace.json")
        with open(f"{scratch}/trace.json") as file:
            trace = json.load(file)
    found = []
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel" and event["name"].startswith("nccl"):
            start, detail = trace.get("baseTimeNanoseconds", 0) + round(event["ts"] * 1e3), event["args"]
            found.append(
                {
                    "start": start,
                    "duration": round(event["dur"] * 1e3),
                    "name": event["name"],
                    "gpu": detail["device"],
                    "stream": detail["stream"],
                    "launch": detail["correlation"],
                    "graph": any(begin <= start <= end for begin, end in replays),
                }
            )
    return sorted(found, key=lambda kernel: (kernel["launch"], kernel["start"]))


if WORKLOAD != "single":
    ranks.join(RANK, RANKS, DIRECTORY)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
    globals()[WORKLOAD]()
    for gpu in range(RANKS if WORKLOAD == "single" else 0):
        torch.cuda.synchronize(gpu)
    torch.cuda.synchronize()
with open(f"{DIRECTORY}/kernels.{RANK}.json", "w") as file:
    json.dump({"nccl": ranks.nccl_release(), "kernels": kernels(profiled)}, file)
if WORKLOAD != "single":
    dist.destroy_process_group()
time.sleep(0.3)
