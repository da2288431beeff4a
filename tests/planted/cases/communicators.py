"""Dimensions of the parallelism, unequal sizes, and communication beside computation."""

import collections
import json
import re

from cases import case, made
from recording import Clocks
from said import Said
from simulation import EPOCH, MIB, MS, Job, S
from truth import union
from workloads import FLAT, NONE, Load, fsdp, three_d


@case("overlap_kernels", "FSDP of 8 ranks with kernels of the computation: communication beside it and exposed")
def overlap_kernels(tool, where, judge):
    job = fsdp(8, 30, per_node=8, compute=0.8 * MS)
    clocks = Clocks(job, apart=0)
    to, files = made(where, job, clocks=clocks), []
    for r in range(8):
        base = EPOCH - 10 * S
        events = [
            {
                "ph": "X",
                "cat": "kernel",
                "name": "gemm",
                "pid": 0,
                "tid": 7,
                "ts": (a + EPOCH - base) / 1e3,
                "dur": (b - a) / 1e3,
                "args": {"device": 0, "stream": 7},
            }
            for a, b in job.computed[r]
        ]
        files.append(f"{where}/trace.{r}.json")
        json.dump(
            {
                "schemaVersion": 1,
                "distributedInfo": {"rank": r, "world_size": 8},
                "baseTimeNanoseconds": base,
                "traceEvents": events,
            },
            open(files[-1], "w"),
        )
    said = Said(tool, to, "--kernels", *files)
    budget = said.part("budget")
    if not judge.that(budget and budget["with_kernels"], "kernels were not taken: " + (said.errors + said.first)[:150]):
        return
    both = beside = 0.0
    for r in range(8):
        comm, comp = [(o.start, o.stop) for o in job.ops[r]], job.computed[r]
        beside += union(comm) + union(comp) - union(comm + comp)
        both += union(comm)
    n = 8 * len(job.steps[0])
    per = 1e3 * 8 * budget["steps"]
    judge.said.append(said.cost[:140])
    judge.near("beside computing us a step", budget["whole"]["overlapped_ns"] / per, beside / n / 1e3, 0.05)
    judge.near(
        "exposed us a step",
        (budget["whole"]["waiting_ns"] + budget["whole"]["transferring_ns"]) / per,
        (both - beside) / n / 1e3,
        0.07,
    )


# 7. communicators


@case("dimensions_3d", "TP 4, PP 2, DP 4 and a world")
def dimensions(tool, where, judge):
    job = three_d()
    said = Said(tool, made(where, job))
    rows = said.part("communicators")["rows"]
    want = collections.Counter(
        "TP" if n.startswith("tp") else "PP" if n.startswith("pp") else "DP" if n.startswith("dp") else "world"
        for n in job.comms
    )
    got = collections.Counter()
    sets = {frozenset(m): n for n, m in job.comms.items()}
    wrong = 0
    for row in rows:
        members = []
        for part in row["members"].split(","):
            if m := re.fullmatch(r"(\d+)-(\d+)(?::(\d+))?", part):
                members += range(int(m[1]), int(m[2]) + 1, int(m[3] or 1))
            elif part.strip().isdigit():
                members.append(int(part))
        name = sets.get(frozenset(members))
        wrong += name is None
        got[row["dimension"]["name"]] += 1
    judge.said.append(str(dict(got)))
    judge.that(not wrong, f"{wrong} of {len(rows)} communicators are printed with members that are none's")
    for d in ("TP", "PP", "DP"):
        judge.that(got[d] == want[d], f"{got[d]} communicators are {d}, planted {want[d]}")


@case("dimensions_given", "the same with --dimensions by ranks of the job")
def dimensions_given(tool, where, judge):
    job = three_d()
    to = made(where, job)
    with open(f"{where}/dims", "w") as file:
        for d in ("tp", "dp", "pp"):
            file.write(
                d.upper()
                + " ranks "
                + " ".join(",".join(map(str, m)) for n, m in job.comms.items() if n.startswith(d))
                + "\n"
            )
    said = Said(tool, to, "--dimensions", f"{where}/dims")
    got = (
        collections.Counter(row["dimension"]["name"] for row in said.part("communicators")["rows"]) if said.json else {}
    )
    judge.said.append(str(dict(got)) + said.errors[:100])
    for d, n in (("TP", 8), ("PP", 16), ("DP", 8)):
        judge.that(got.get(d) == n, f"{got.get(d)} communicators are {d}, planted {n}")


@case("moe_unequal", "MoE, 16 ranks: rank 2's experts get three times the bytes")
def moe_unequal(tool, where, judge):
    job = Job(16, 8, 1)
    job.comm("ep", range(16)), job.comm("dp", range(16))
    load = Load(job, 1, 0.02, FLAT, NONE)
    size = lambda a, b: (6 if b == 2 else 2) * MIB

    def program(rank, step):
        for _ in range(4):
            yield load(rank, step, 2 * MS)
            yield ("x", "ep", [m for p in range(16) for m in ((True, p, size(rank, p)), (False, p, size(p, rank)))])
            yield load(rank, step, 2 * MS)
            yield ("x", "ep", [m for p in range(16) for m in ((True, p, size(p, rank)), (False, p, size(rank, p)))])
        yield ("k", "dp", "AllReduce", 16)

    job.run(program, 60)
    said = Said(tool, made(where, job))
    row = max(
        (r for r in said.part("speed")["rows"] if "AlltoAll" in r["function"] or "lltoall" in r["function"].lower()),
        key=lambda r: r["count"],
        default=None,
    )
    if judge.that(row, "no all-to-all in the speeds"):
        judge.said.append(f"imbalance {row['imbalance']}")
        judge.that(row["imbalance"] and row["imbalance"] > 1.5, f"imbalance {row['imbalance']}, planted about 2.7")
