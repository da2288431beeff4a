"""A simulated job as recordings (tests/captures/README.md), one of each rank.

They have the callbacks of NCCL 2.28.9 (v5, preset `network`), stamps of the GPU for single operations, CUDA events for
groups, and proxy steps between nodes. Hosts' clocks may be apart and drift.
"""

import collections
import gzip
import json
import math
import os
import random
import time

from simulation import EPOCH, MS, US, S


class Clocks:
    """Each host's monotonic clock, its time of day, and each GPU's clock. `apart`: seconds that the hosts' times of day
    are apart at most; `ppm`: drift."""

    def __init__(self, job, seed=7, apart=0.0005, ppm=0.0):
        rnd = random.Random(seed)
        nodes = range(job.node(job.ranks - 1) + 1)
        self.uptime = [rnd.randrange(10_000, 9_000_000) * S + rnd.randrange(S) for _ in nodes]
        self.error = [int(rnd.uniform(-apart, apart) * S) for _ in nodes]
        self.drift = [1 + rnd.uniform(-ppm, ppm) * 1e-6 for _ in nodes]
        self.boot = ["%08x-0000-4000-8000-%012x" % (rnd.getrandbits(32), rnd.getrandbits(48)) for _ in nodes]
        self.gpu = [(rnd.uniform(-0.4, 0.4) * S, 1 + rnd.uniform(-3, 3) * 1e-6) for _ in range(job.ranks)]


def write(job, to, clocks=None, seed=3, name="slurm 7, step 0", base=0, chunks=6, level=1, channels=2, dropped=()):
    """Writes a recording of each rank into the directory. `base` is the time of day of the job's begin after EPOCH."""
    os.makedirs(to, exist_ok=True)
    clocks = clocks or Clocks(job)
    ids = {c: "%016x" % random.Random(f"{name}/{c}/{seed}").getrandbits(64) for c in job.comms}
    for rank in range(job.ranks):
        if rank in dropped:
            continue
        lines, meta, host, pid = recording(
            job, rank, clocks, ids, random.Random(seed * 100_003 + rank), name, base, chunks, channels
        )
        with gzip.open(f"{to}/{host}.{pid}.jsonl.gz", "wb", compresslevel=level) as file:
            file.write((json.dumps(meta, separators=(",", ":")) + "\n").encode())
            file.write("\n".join(lines).encode())
            file.write(b"\n")


def recording(job, rank, clocks, ids, rnd, name, base, chunks, channels):
    node = job.node(rank)
    drift, host, pid = clocks.drift[node], f"node{node:03}", 4000 + rank
    t0 = -2.0 * S - rnd.random() * 0.2 * S  # the process began before the job's first operation
    lead = 40 * MS
    gpu_off, gpu_drift = clocks.gpu[rank]

    def at(t):  # the host's clock since the process began
        return int((t - t0) * drift)

    def stamp(t):  # the GPU's clock
        return int(EPOCH + base + gpu_off + t * gpu_drift)

    def event(t):  # the clock of CUDA events
        return int(EPOCH + base + 5 * MS + gpu_off / 1000 + t * gpu_drift)

    out = []  # (time, order, text)
    put = lambda t, text: out.append((t, len(out), text))
    ctx, handle = {}, [0]

    def h():
        handle[0] += 1
        return handle[0]

    begun = 0
    for comm, members in job.comms.items():
        if rank in members:
            ctx[comm] = len(ctx) + 1
            nodes = len({job.node(r) for r in members})
            t = at(t0) + 1000 + 30 * MS * begun
            begun += 1
            put(
                t,
                f'{{"t":{t},"tid":1,"cb":"init","ctx":{ctx[comm]},"comm":"{ids[comm]}","name":"","nnodes":{nodes},'
                f'"nranks":{len(members)},"rank":{members.index(rank)}}}',
            )
    ops = [op for op in job.ops[rank] if op.start is not None]
    died = job.died.get(rank)
    if died is not None:
        ops = ops[:died]
    # the host enqueues ahead of the GPU, in order, and launches before the kernel can begin; or when the job says
    enqueued, before = [0.0] * len(ops), math.inf
    for i in range(len(ops) - 1, -1, -1):
        before = min(ops[i].start - min(lead, (30 + rnd.expovariate(1 / 400)) * US), before - 40 * US)
        enqueued[i] = before if ops[i].called is None else ops[i].called
    seqs = collections.Counter()
    event_comms = {op.comm for op in ops if op.messages is not None and not op.lone}
    for op, enq in zip(ops, enqueued):
        members = job.comms[op.comm]
        me, c, t = members.index(rank), ctx[op.comm], at(enq)
        g, k = h(), h()
        stream = f"7f00{op.stream:02x}00"
        call = op.messages is None
        put(
            t,
            f'{{"t":{t},"tid":1,"cb":"start","ctx":{c},"h":{g},"type":"GroupApi","parent":0,"rank":{me},'
            f'"depth":1,"graph":0}}',
        )
        put(t + 700, f'{{"t":{t + 700},"tid":1,"cb":"state","h":{g},"state":23}}')
        apis, t2 = [], t + 1000
        if call:
            count = op.bytes // 2
            # NCCL counts what one rank gives for an all-gather, and what it gets for a reduce-scatter
            if op.func in ("AllGather", "ReduceScatter"):
                count //= len(members)
            put(
                t2,
                f'{{"t":{t2},"tid":1,"cb":"start","ctx":{c},"h":{k},"type":"CollApi","parent":{g},"rank":{me},'
                f'"func":"{op.func}",'
                f'"count":{count},"dtype":"ncclBfloat16","root":0,"stream":"{stream}","graph":0}}',
            )
            put(t2 + 2000, f'{{"t":{t2 + 2000},"tid":1,"cb":"stop","h":{k}}}')
            t2 += 2500
        else:
            for send, peer, nbytes, _ in op.messages:
                a = h()
                apis.append(a)
                f = "Send" if send else "Recv"
                put(
                    t2,
                    f'{{"t":{t2},"tid":1,"cb":"start","ctx":{c},"h":{a},"type":"P2pApi","parent":{g},'
                    f'"rank":{me},"func":"{f}",'
                    f'"count":{nbytes // 2},"dtype":"ncclBfloat16","stream":"{stream}","graph":0}}',
                )
                put(t2 + 300, f'{{"t":{t2 + 300},"tid":1,"cb":"stop","h":{a}}}')
                t2 += 400
        put(t2, f'{{"t":{t2},"tid":1,"cb":"state","h":{g},"state":24}}')
        launch = h()
        put(
            t2 + 500,
            f'{{"t":{t2 + 500},"tid":1,"cb":"start","ctx":{c},"h":{launch},"type":"KernelLaunch","parent":{g},'
            f'"rank":{me},"stream":"{stream}"}}',
        )
        put(t2 + 4500, f'{{"t":{t2 + 4500},"tid":1,"cb":"stop","h":{launch}}}')
        grp = h()
        put(
            t2 + 5000,
            f'{{"t":{t2 + 5000},"tid":1,"cb":"start","ctx":{c},"h":{grp},"type":"Group","parent":0,"rank":{me}}}',
        )
        t3, main, handles = t2 + 5200, h(), []
        if call:
            number = seqs[op.comm, op.func]
            seqs[op.comm, op.func] += 1
            put(
                t3,
                f'{{"t":{t3},"tid":1,"cb":"start","ctx":{c},"h":{main},"type":"Coll","parent":{k},"rank":{me},'
                f'"seq":{number},"func":"{op.func}",'
                f'"count":{count},"dtype":"ncclBfloat16","root":0,"nch":{channels},"nwarps":17,"algo":"RING",'
                f'"proto":"SIMPLE"}}',
            )
            handles.append(main)
            t3 += 300
        else:
            for (send, peer, nbytes, _), a in zip(op.messages, apis):
                p, f = h(), "Send" if send else "Recv"
                put(
                    t3,
                    f'{{"t":{t3},"tid":1,"cb":"start","ctx":{c},"h":{p},"type":"P2p","parent":{a},"rank":{me},'
                    f'"func":"{f}",'
                    f'"count":{nbytes // 2},"dtype":"ncclBfloat16","peer":{peer},"nch":{channels}}}',
                )
                handles.append(p)
                t3 += 300
        for x in handles:
            put(t3, f'{{"t":{t3},"tid":1,"cb":"stop","h":{x}}}')
            t3 += 50
        put(t3, f'{{"t":{t3},"tid":1,"cb":"stop","h":{grp}}}')
        put(t3 + 200, f'{{"t":{t3 + 200},"tid":1,"cb":"stop","h":{g}}}')
        # the GPU
        ended = op.stop is not None
        if died is None and rank in job.died:
            ended = False
        if op.comm in event_comms:
            if ended:
                late = at(op.stop) + rnd.randrange(1, 10) * MS
                put(
                    late,
                    f'{{"t":{late},"tid":3,"cb":"kernel","h":{launch},"first":{event(op.start - 2 * US)},'
                    f'"begin":{event(op.start)},'
                    f'"last":{event(op.stop + 2 * US)},"at":{t2 + 300}}}',
                )
        else:
            for x in handles:
                for ch in range(channels):
                    kc = h()
                    ta = at(op.start) + rnd.randrange(3, 30) * US + (rnd.randrange(MS) if rnd.random() < 0.03 else 0)
                    put(
                        ta,
                        f'{{"t":{ta},"tid":2,"cb":"start","ctx":{c},"h":{kc},"type":"KernelCh","parent":{x},'
                        f'"rank":{me},"ch":{ch},'
                        f'"ptimer":{stamp(op.start) // 32 * 32}}}',
                    )
                    if ended:
                        tb = max(
                            ta + 500,
                            at(op.stop) + rnd.randrange(3, 30) * US + (rnd.randrange(MS) if rnd.random() < 0.03 else 0),
                        )
                        put(
                            tb,
                            f'{{"t":{tb},"tid":2,"cb":"state","h":{kc},"state":22,'
                            f'"arg":{stamp(op.stop - rnd.random() * US) // 32 * 32}}}',
                        )
                        put(tb + 150, f'{{"t":{tb + 150},"tid":2,"cb":"stop","h":{kc}}}')
        if job.proxies and ended:
            proxies(job, op, rank, c, me, handles, at, h, put, pid, chunks)
    final = max([x[0] for x in out], default=0)
    ends = died is None
    if ends:
        for comm, c in ctx.items():
            final += 2 * MS
            put(final, f'{{"t":{final},"tid":1,"cb":"finalize","ctx":{c}}}')
        final += 5 * MS
        put(final, f'{{"t":{final},"tid":1,"cb":"end"}}')
    out.sort()
    real0 = EPOCH + base + int(t0) + clocks.error[node]
    day = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime((real0 + final) // S)) + ".000000Z"
    meta = {
        "cb": "meta",
        "format": 1,
        "api": 5,
        "mask": 3934,
        "pid": pid,
        "real0": real0,
        "mono0": clocks.uptime[node] + int(t0 * drift),
        "dropped": 0,
        "ends": 1,
        "process": {
            "ended": day,
            "id": "%016x" % rnd.getrandbits(64),
            "host": host,
            "boot": clocks.boot[node],
            "job": name,
            "rank": rank,
            "ranks": job.ranks,
            "nccl": "2.28.9",
        },
    }
    return [x[2] for x in out], meta, host, pid


def proxies(job, op, rank, c, me, handles, at, h, put, pid, chunks):
    """Proxy operations and steps: of a ring between nodes, or of the messages."""
    members = job.comms[op.comm]
    sends = []  # (peer, bytes, first moment, last moment, time of a step, handle of the operation)
    if op.messages is None:
        nodes = sorted({job.node(r) for r in members})
        if len(nodes) < 2:
            return
        n, per = len(members), len(members) // len(nodes)
        volume = (
            op.bytes
            * {"AllReduce": 2 * (n - 1) / n, "AllGather": (n - 1) / n, "ReduceScatter": (n - 1) / n}.get(op.func, 1)
            / per
        )
        peer = (me + per) % n
        slow = job.hop(rank, members[peer])
        sends.append((peer, volume, op.latest, op.stop, volume / chunks / job.nic * slow, handles[0]))
    else:
        index = {(m[0], m[1]): x for m, x in zip(op.messages, handles)}
        for peer, nbytes, first, last in op.transfers:
            sends.append((peer, nbytes, first, last, (last - first - 15 * US) / chunks, index[True, peer]))
    for peer, volume, first, last, took, parent in sends:
        p, size = h(), int(volume / chunks)
        t = at(first)
        put(
            t,
            f'{{"t":{t},"tid":2,"cb":"start","ctx":{c},"h":{p},"type":"ProxyOp","parent":{parent},"rank":{me},'
            f'"pid":{pid},"ch":0,'
            f'"peer":{peer},"nsteps":{chunks},"chunk":{size},"send":1}}',
        )
        put(t + 300, f'{{"t":{t + 300},"tid":2,"cb":"state","h":{p},"state":19,"arg":0}}')
        end = t
        for i in range(chunks):
            s = h()
            begin = max(at(first + i * (last - first) / chunks) + 2 * US, t + 1000)
            end = begin + max(1000, int(took * job.noise(job.jitter)))
            put(
                begin - 900,
                f'{{"t":{begin - 900},"tid":2,"cb":"start","ctx":{c},"h":{s},"type":"ProxyStep","parent":{p},'
                f'"rank":{me},"step":{i}}}',
            )
            put(begin - 700, f'{{"t":{begin - 700},"tid":2,"cb":"state","h":{s},"state":8,"arg":0}}')
            put(begin - 400, f'{{"t":{begin - 400},"tid":2,"cb":"state","h":{s},"state":20,"arg":0}}')
            put(begin, f'{{"t":{begin},"tid":2,"cb":"state","h":{s},"state":9,"arg":{size}}}')
            put(end, f'{{"t":{end},"tid":2,"cb":"stop","h":{s}}}')
        put(end + 500, f'{{"t":{end + 500},"tid":2,"cb":"stop","h":{p}}}')
