"""Jobs whose hosts run ahead of their GPUs, simulated: computation goes on beside collectives, as in PyTorch.

Each rank has a host, which only a synchronization holds up, and GPU streams. A call begins on its GPU once the host has
made it, its stream is free and the computation that was launched before it is over.
"""

import collections

from simulation import MIB, MS, US, Job, Op
from workloads import FLAT, NONE

LAUNCH, CALL = 5 * US, 20 * US  # of the host: the launch of a computation, a call of NCCL
REACH = 10 * US  # from the host's launch to the earliest begin on the GPU


class Task:
    """A computation, a collective, a group, or a point where streams join. `after`: the latest end so far of those that
    it waits for, of which `missing` have none yet."""

    def __init__(self, after, ns=0.0, op=None):
        self.after, self.ns, self.op, self.stop = after, ns, op, None
        self.missing, self.waiters = 0, []

    def wait_for(self, other):
        if other is None:
            return
        if other.stop is None:
            self.missing += 1
            other.waiters.append(self)
        else:
            self.after = max(self.after, other.stop)


class Ahead(Job):
    """A job whose program is what the host does: ("h", ns) works; ("g", ns) launches a computation on stream 0; ("k",
    comm, func, bytes, stream[, name]) and ("x", comm, messages, stream[, name]) call NCCL; ("j", stream or name) makes
    later computations wait for that stream or call; ("w",) waits for the GPU. A call waits for the computations before
    it; with ("e", stream) the next one on that stream waits for none, with ("e", stream, 2) for the last but one, and
    with ("f", stream, other) for the other stream."""

    def run(self, program, steps):
        self.repeatable = True
        self.host = [0.0] * self.ranks
        self.last = [collections.defaultdict(lambda: None) for _ in range(self.ranks)]  # task of each stream
        self.ready, self.of = [], {}
        self.seq, self.number = collections.Counter(), collections.Counter()
        hosts = collections.deque((rank, self.script(rank, program, steps)) for rank in range(self.ranks))
        waiting = []
        while hosts:
            rank, script = hosts.popleft()
            held = next(script, None)
            self.resolve()
            if held is not None:
                waiting.append((held, rank, script))
            for it in [it for it in waiting if it[0].stop is not None]:
                waiting.remove(it)
                self.host[it[1]] = max(self.host[it[1]], it[0].stop + 10 * US)
                hosts.append(it[1:])
        return self

    def script(self, rank, program, steps):
        """Runs a rank's host; yields the task that it waits for."""
        last, early, launched, named = self.last[rank], {}, [], {}
        for step in range(steps):
            for kind, *more in program(rank, step):
                if kind == "h":
                    self.host[rank] += more[0]
                elif kind == "g":
                    self.host[rank] += LAUNCH
                    launched.append(self.put(rank, 0, Task(self.host[rank] + REACH, more[0])))
                elif kind == "j":
                    self.put(rank, 0, Task(0.0), named[more[0]] if more[0] in named else last[more[0]])
                elif kind == "e":
                    back = more[1] if len(more) > 1 else 0
                    early[more[0]] = launched[-back] if 0 < back <= len(launched) else None
                elif kind == "f":
                    early[more[0]] = last[more[1]]
                elif kind == "w":
                    if last[0] is not None:
                        yield last[0]
                else:
                    self.host[rank] += CALL * self.noise(0.2, "call", rank)
                    arguments, name = more[: 4 if kind == "k" else 3], more[4 if kind == "k" else 3 :]
                    op = self.operation(kind, rank, step, *arguments)
                    behind = early.pop(op.stream, last[0])
                    task = self.put(rank, op.stream, Task(op.called + REACH, op=op), behind)
                    named.update((it, task) for it in name)

    def operation(self, kind, rank, step, comm, *more):
        if kind == "k":
            func, nbytes, stream = more
            op = Op(rank, comm, func, nbytes, stream)
        else:
            messages, stream = more
            numbered = []
            for send, peer, nbytes in messages:
                numbered.append((send, peer, nbytes, self.number[rank, comm, send, peer]))
                self.number[rank, comm, send, peer] += 1
            op = Op(rank, comm, "Group", sum(m[2] for m in messages), stream, numbered)
            op.lone = len(messages) == 1
        op.seq = (op.func, self.seq[rank, comm, op.func])
        self.seq[rank, comm, op.func] += 1
        op.step, op.called = step, self.host[rank]
        self.ops[rank].append(op)
        if len(self.steps[rank]) == step:
            self.steps[rank].append(op)
        return op

    def put(self, rank, stream, task, behind=None):
        """Puts a task at the end of a stream, and behind another task, too."""
        task.rank = rank
        task.wait_for(self.last[rank][stream])
        task.wait_for(behind)
        self.last[rank][stream] = task
        if task.missing == 0:
            self.ready.append(task)
        return task

    def resolve(self):
        """Ends each task that nothing holds up any more."""
        while self.ready:
            task = self.ready.pop()
            if task.op is None:
                over = [(task, task.after + task.ns)]
                if task.ns:
                    self.computed[task.rank].append((task.after, task.after + task.ns))
            else:
                self.of[task.op] = task
                task.op.start = task.after + 2 * US * self.noise(0.3, "begin", task.rank, task.op.stream)
                over = [(self.of.pop(op), stop) for op, stop in self.meet(task.op)]
            for done, stop in over:
                done.stop = stop
                if done.op is not None:
                    done.op.stop = stop
                for waiter in done.waiters:
                    waiter.after = max(waiter.after, stop)
                    waiter.missing -= 1
                    if waiter.missing == 0:
                        self.ready.append(waiter)
                done.waiters = []


class Load:
    """The ranks' computations and what their hosts do. `factor(rank, step)` multiplies a computation, `late(rank, step)`
    is what the host does more in a step, nanoseconds."""

    def __init__(self, job, sigma, factor=FLAT, late=NONE):
        self.job, self.sigma, self.factor, self.late = job, sigma, factor, late

    def layer(self, rank, step, host, ns):
        """The host prepares a computation and launches it."""
        yield ("h", host * self.job.noise(0.05, "host", rank))
        yield ("g", ns * self.job.noise(self.sigma, "layer", rank) * self.factor(rank, step))


def ddp(
    ranks=8,
    steps=60,
    seed=1,
    layers=12,
    compute=1 * MS,
    host=0.2 * MS,
    buckets=4,
    size=48 * MIB,
    every=1,
    accumulate=1,
    per_node=4,
    sigma=0.01,
    factor=FLAT,
    late=lambda rank, step: 0.0,
    **more,
):
    """Data parallel: the backward pass goes on beside the all-reduces of its buckets. The host waits for the GPU behind
    every `every`th step, as by `loss.item()`."""
    job = Ahead(ranks, per_node, seed, **more)
    job.comm("dp", range(ranks))
    load = Load(job, sigma, factor, late)
    ends = {layers * (bucket + 1) // buckets for bucket in range(buckets)}

    def program(rank, step):
        yield ("h", load.late(rank, step))
        for batch in range(accumulate):
            for _ in range(layers):
                yield from load.layer(rank, step, host, compute)
            for layer in range(1, layers + 1):
                yield from load.layer(rank, step, host, 2 * compute)
                if layer in ends and batch == accumulate - 1:
                    # the last bucket is the first of a model's layers, and has what the others left
                    yield ("k", "dp", "AllReduce", size if layer < layers else size // 3, 1)
        yield ("j", 1)
        yield from load.layer(rank, step, host, compute)
        if step % every == 0:
            yield ("w",)

    return job.run(program, steps)


def fsdp(
    ranks=8,
    steps=60,
    seed=1,
    layers=8,
    compute=1 * MS,
    host=0.2 * MS,
    size=64 * MIB,
    every=1,
    norm=True,
    shards=None,
    per_node=4,
    sigma=0.01,
    factor=FLAT,
    late=lambda rank, step: 0.0,
    **more,
):
    """Fully sharded: a layer waits for its all-gather, which waits for the layer before the last; reduce-scatters go on
    beside the backward pass. With `shards` ranks to a shard group, the groups' replicas sum the gradients' shards (hybrid)."""
    job = Ahead(ranks, per_node, seed, **more)
    shards = shards or ranks
    for group in range(ranks // shards):
        job.comm(f"shard{group}", range(group * shards, (group + 1) * shards))
    for place in range(shards if shards < ranks else 0):
        job.comm(f"replica{place}", range(place, ranks, shards))
    job.comm("world", range(ranks))
    load = Load(job, sigma, factor, late)

    def program(rank, step):
        shard, replica = f"shard{rank // shards}", f"replica{rank % shards}"
        yield ("h", load.late(rank, step))
        for times in (1, 2):
            for layer in range(layers):
                # the next layer's all-gather is called before this layer's computation
                for ahead in (0, 1) if layer == 0 else (1,):
                    if layer + ahead < layers:
                        yield ("e", 1, 1)
                        yield ("k", shard, "AllGather", size, 1, layer + ahead + 100)
                yield ("j", layer + 100)
                yield from load.layer(rank, step, host, times * compute)
                if times == 2:
                    yield ("k", shard, "ReduceScatter", size, 1)
                    if shards < ranks:
                        yield ("f", 2, 1)
                        yield ("k", replica, "AllReduce", size // shards, 2)
        yield ("j", 1)
        if shards < ranks:
            yield ("j", 2)
        if norm:
            yield ("k", "world", "AllReduce", 16, 3)
            yield ("j", 3)
        yield from load.layer(rank, step, host, compute)
        if step % every == 0:
            yield ("w",)

    return job.run(program, steps)


def gpipe(
    stages=4,
    replicas=2,
    micro=6,
    steps=50,
    seed=1,
    compute=2 * MS,
    host=0.2 * MS,
    size=16 * MIB,
    every=1,
    sigma=0.01,
    factor=FLAT,
    late=lambda rank, step: 0.0,
    **more,
):
    """Pipelines: all micro-batches forward, then all back, then an all-reduce of each stage.
    Rank = replica + replicas * stage."""
    job = Ahead(stages * replicas, replicas, seed, **more)
    for replica in range(replicas):
        job.comm(f"pp{replica}", range(replica, stages * replicas, replicas))
    for stage in range(stages):
        job.comm(f"dp{stage}", range(stage * replicas, (stage + 1) * replicas))
    job.comm("world", range(stages * replicas))
    load = Load(job, sigma, factor, late)

    def program(rank, step):
        stage, pp = rank // replicas, f"pp{rank % replicas}"
        yield ("h", load.late(rank, step))
        for times, source, target in ((1, stage - 1, stage + 1), (2, stage + 1, stage - 1)):
            for _ in range(micro):
                if 0 <= source < stages:
                    yield ("e", 1)
                    yield ("x", pp, [(False, source, size)], 1)
                    yield ("j", 1)
                yield from load.layer(rank, step, host, times * compute)
                if 0 <= target < stages:
                    yield ("x", pp, [(True, target, size)], 2)
        yield ("k", f"dp{stage}", "AllReduce", 64 * MIB, 3)
        yield ("k", "world", "AllReduce", 16, 3)
        yield ("j", 3)
        yield from load.layer(rank, step, host, compute)
        if step % every == 0:
            yield ("w",)

    return job.run(program, steps)
