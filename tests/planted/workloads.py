"""Jobs as people have them. `factor(rank, step)` multiplies a computation, `pause(rank, step, i)` adds to it."""

import collections
import random

from simulation import MIB, MS, Job

FLAT = lambda rank, step: 1.0
NONE = lambda rank, step, i: 0.0
ON = lambda ranks, by: lambda rank, step: by if rank in ranks else 1.0


class Load:
    """Computation times of the ranks: each rank draws its own noise, so that a planted fault changes nothing else."""

    def __init__(self, job, seed, sigma, factor, pause):
        self.rnd = [random.Random(f"{seed}/{r}") for r in range(job.ranks)]
        self.sigma, self.factor, self.pause, self.i = sigma, factor, pause, collections.Counter()

    def __call__(self, rank, step, ns):
        i = self.i[rank, step]
        self.i[rank, step] += 1
        noise = self.rnd[rank].lognormvariate(0, self.sigma) if self.sigma else 1.0
        return ("c", ns * noise * self.factor(rank, step) + self.pause(rank, step, i))


def dp(
    ranks=16,
    steps=60,
    seed=1,
    buckets=6,
    compute=5 * MS,
    size=64 * MIB,
    sigma=0.05,
    factor=FLAT,
    pause=NONE,
    per_node=8,
    bare=False,
    **more,
):
    """Data parallel: computations and blocking all-reduces of all ranks; the first bucket is small and the loss is
    summed at the end of a step, as PyTorch's DDP does. `bare`: equal buckets and no loss."""
    job = Job(ranks, per_node, seed, **{k: more.pop(k) for k in ("jitter", "nvlink", "nic") if k in more})
    for key, value in more.items():
        setattr(job, key, value)
    job.comm("dp", range(ranks))
    load = Load(job, seed, sigma, factor, pause)

    def program(rank, step):
        for i in range(buckets):
            yield load(rank, step, compute)
            yield ("k", "dp", "AllReduce", size if i or bare else size // 8)
        if not bare:
            yield ("k", "dp", "AllReduce", 16)

    return job.run(program, steps)


def fsdp(
    ranks=16,
    steps=40,
    seed=1,
    layers=12,
    accumulate=1,
    compute=1.5 * MS,
    size=96 * MIB,
    sigma=0.05,
    factor=FLAT,
    pause=NONE,
    per_node=8,
    norm=True,
    **more,
):
    """Fully sharded: prefetched all-gathers and reduce-scatters beside computation, then the gradient's norm."""
    job = Job(ranks, per_node, seed)
    for key, value in more.items():
        setattr(job, key, value)
    job.comm("fsdp", range(ranks))
    load = Load(job, seed, sigma, factor, pause)

    def program(rank, step):
        for _ in range(accumulate):
            yield ("k", "fsdp", "AllGather", size, 1)
            for layer in range(layers):
                yield ("j", 1)
                if layer + 1 < layers:
                    yield ("k", "fsdp", "AllGather", size, 1)
                yield load(rank, step, compute)
            yield ("k", "fsdp", "AllGather", size, 1)
            for layer in range(layers):
                yield ("j", 1)
                if layer + 1 < layers:
                    yield ("k", "fsdp", "AllGather", size, 1)
                yield load(rank, step, 2 * compute)
                yield ("k", "fsdp", "ReduceScatter", size, 1)
            yield ("j", 1)
        if norm:
            yield ("k", "fsdp", "AllReduce", 16)
        yield load(rank, step, compute)  # the optimizer

    return job.run(program, steps)


def pipeline(
    stages=4,
    replicas=4,
    micro=8,
    steps=30,
    seed=1,
    compute=3 * MS,
    size=32 * MIB,
    sigma=0.05,
    factor=FLAT,
    pause=NONE,
    per_node=4,
    **more,
):
    """DP x PP by GPipe: all micro-batches forward, then all back, then an all-reduce of each stage, then the norm.
    Rank = replica + replicas * stage."""
    job = Job(stages * replicas, per_node, seed)
    for key, value in more.items():
        setattr(job, key, value)
    for d in range(replicas):
        job.comm(f"pp{d}", [d + replicas * s for s in range(stages)])
    for s in range(stages):
        job.comm(f"dp{s}", [d + replicas * s for d in range(replicas)])
    job.comm("world", range(stages * replicas))
    load = Load(job, seed, sigma, factor, pause)

    def program(rank, step):
        d, s = rank % replicas, rank // replicas
        pp = f"pp{d}"
        for _ in range(micro):
            if s > 0:
                yield ("x", pp, [(False, s - 1, size)])
            yield load(rank, step, compute)
            if s + 1 < stages:
                yield ("x", pp, [(True, s + 1, size)])
        for _ in range(micro):
            if s + 1 < stages:
                yield ("x", pp, [(False, s + 1, size)])
            yield load(rank, step, 2 * compute)
            if s > 0:
                yield ("x", pp, [(True, s - 1, size)])
        yield ("k", f"dp{s}", "AllReduce", 256 * MIB)
        yield ("k", "world", "AllReduce", 16)
        yield load(rank, step, compute)

    return job.run(program, steps)


def three_d(
    tp=4,
    pp=2,
    dp_=4,
    micro=4,
    layers=2,
    steps=30,
    seed=1,
    compute=1 * MS,
    sigma=0.05,
    factor=FLAT,
    pause=NONE,
    per_node=8,
    lengths=None,
    **more,
):
    """TP x DP x PP by 1F1B with grouped sends and receives, as Megatron. Rank = tp + TP * (dp + DP * pp)."""
    n = tp * pp * dp_
    job = Job(n, per_node, seed)
    for key, value in more.items():
        setattr(job, key, value)
    at = lambda t, d, p: t + tp * (d + dp_ * p)
    for d in range(dp_):
        for p in range(pp):
            job.comm(f"tp{d}.{p}", [at(t, d, p) for t in range(tp)])
    for t in range(tp):
        for p in range(pp):
            job.comm(f"dp{t}.{p}", [at(t, d, p) for d in range(dp_)])
        for d in range(dp_):
            job.comm(f"pp{t}.{d}", [at(t, d, p) for p in range(pp)])
    job.comm("world", range(n))
    load = Load(job, seed, sigma, factor, pause)

    def program(rank, step):
        t, d, p = rank % tp, rank // tp % dp_, rank // (tp * dp_)
        tpc, ppc = f"tp{d}.{p}", f"pp{t}.{d}"
        scale = lengths(step) if lengths else 1.0
        size = int(16 * MIB * scale) // 4096 * 4096

        def block(times):
            for _ in range(layers):
                yield load(rank, step, times * compute * scale)
                yield ("k", tpc, "AllReduce", size)

        first, last = p == 0, p == pp - 1
        talk = lambda *messages: [("x", ppc, list(messages))] if messages else []
        to, fro = lambda q: (True, q, size), lambda q: (False, q, size)
        ahead = min(pp - p - 1, micro)
        for _ in range(ahead):
            yield from talk(*([] if first else [fro(p - 1)]))
            yield from block(1)
            yield from talk(to(p + 1))
        rest = micro - ahead
        if rest:
            yield from talk(*([] if first else [fro(p - 1)]))
        for m in range(rest):
            yield from block(1)
            yield from talk(*([] if last else [to(p + 1), fro(p + 1)]))
            yield from block(2)
            more = m + 1 < rest
            yield from talk(*([] if first else [to(p - 1), fro(p - 1)] if more else [to(p - 1)]))
        for _ in range(ahead):
            yield from talk(fro(p + 1))
            yield from block(2)
            yield from talk(*([] if first else [to(p - 1)]))
        yield ("k", f"dp{t}.{p}", "AllReduce", 128 * MIB)
        yield ("k", "world", "AllReduce", 16)
        yield load(rank, step, compute)

    return job.run(program, steps)


def moe(
    ranks=16,
    steps=40,
    seed=1,
    layers=4,
    compute=2 * MS,
    size=4 * MIB,
    sigma=0.05,
    factor=FLAT,
    pause=NONE,
    per_node=8,
    norm=True,
    **more,
):
    """Mixture of experts: two all-to-alls a layer by grouped sends and receives; an all-reduce and the norm a step."""
    job = Job(ranks, per_node, seed)
    for key, value in more.items():
        setattr(job, key, value)
    job.comm("ep", range(ranks))
    job.comm("dp", range(ranks))
    load = Load(job, seed, sigma, factor, pause)
    everyone = [m for peer in range(ranks) for m in ((True, peer, size), (False, peer, size))]

    def program(rank, step):
        for _ in range(layers):
            yield load(rank, step, compute)
            yield ("x", "ep", everyone)
            yield load(rank, step, compute)
            yield ("x", "ep", everyone)
        yield ("k", "dp", "AllReduce", 128 * MIB)
        if norm:
            yield ("k", "dp", "AllReduce", 16)

    return job.run(program, steps)


def loop(
    ranks=16,
    steps=120,
    seed=1,
    per_node=8,
    compute=4 * MS,
    buckets=4,
    evaluate=50,
    checkpoint=100,
    warm_up=3,
    sigma=0.05,
    factor=FLAT,
    pause=NONE,
    lengths=None,
    **more,
):
    """A training loop as people have it: parameters are broadcast first, the first steps are slow, every 50th step an
    evaluation follows (forward alone), every 100th a checkpoint, whose ranks meet at an all-reduce."""
    job = Job(ranks, per_node, seed)
    for key, value in more.items():
        setattr(job, key, value)
    job.comm("dp", range(ranks))
    job.comm("world", range(ranks))
    load = Load(job, seed, sigma, factor, pause)

    def program(rank, step):
        if step == 0:
            for _ in range(12):
                yield ("k", "dp", "Broadcast", 16 * MIB)
        slow = 6.0 if step < warm_up else 1.0
        scale = slow * (lengths(step) if lengths else 1.0)
        for i in range(buckets):
            yield load(rank, step, compute * scale)
            yield ("k", "dp", "AllReduce", 64 * MIB)
        yield ("k", "world", "AllReduce", 16)
        if evaluate and step % evaluate == evaluate - 1:
            for _ in range(10):
                yield load(rank, step, compute)
                yield ("k", "world", "AllReduce", 16)
        if checkpoint and step % checkpoint == checkpoint - 1:
            yield ("k", "world", "AllReduce", 2)
            yield ("c", 900 * MS if rank == 0 else 0)
            yield ("k", "world", "AllReduce", 2)

    return job.run(program, steps)


def one_gpu_nodes(ranks=16, steps=40, seed=1, kind="ring", **more):
    """One rank a node, all over the network, with proxies: ring all-reduces, all-to-alls, or a chain of sends."""
    if kind == "ring":
        return dp(ranks, steps, seed, per_node=1, size=32 * MIB, sigma=0.01, proxies=True, **more)
    if kind == "all-to-all":
        return moe(ranks, steps, seed, per_node=1, size=2 * MIB, layers=2, sigma=0.01, proxies=True, **more)
    return pipeline(ranks, 1, 4, steps, seed, per_node=1, sigma=0.01, proxies=True, **more)
