"""How often a rank is named in many small jobs: rightly if it is slow, wrongly if none is."""

import collections
import multiprocessing
import os
import random
import shutil

import workloads
from cases import made
from said import Said
from simulation import MIB, MS

# What is planted in the jobs of a part: by how much one rank computes longer (0: no fault), noise (`None`: at random),
# steps, share of the jobs in which the rank must be named, and share in which another may be.
Part = collections.namedtuple("Part", "name by sigma steps least wrong")
PARTS = (
    Part("none", 0.0, None, 60, 0.0, 0.01),
    Part("tenth", 0.10, 0.05, 100, 0.98, 0.01),
    Part("thirtieth", 0.03, 0.05, 300, 0.80, 0.01),
)


def small(rnd, steps, ranks):
    """Returns a small job's kind and maker."""
    per_node, compute = ranks // 2, rnd.uniform(2, 4) * MS
    at = {"per_node": per_node, "compute": compute, "steps": steps}
    return rnd.choice(
        [
            ("DDP", lambda **more: workloads.dp(ranks, buckets=3, size=32 * MIB, **at, **more)),
            ("FSDP", lambda **more: workloads.fsdp(ranks, layers=2, size=32 * MIB, **at, **more)),
            ("GPipe", lambda **more: workloads.pipeline(2, ranks // 2, 3, **at, **more)),
            ("1F1B", lambda **more: workloads.three_d(2, 2, ranks // 4, 2, 1, **at, **more)),
            ("MoE", lambda **more: workloads.moe(8, layers=1, **at, **more)),
            ("loop", lambda **more: workloads.loop(ranks, buckets=3, evaluate=25, checkpoint=0, **at, **more)),
        ]
    )


def one(task):
    """Simulates and reports one job. Returns (part, whether the planted rank is named, whether another is, words)."""
    tool, work, keep, number, part = task
    rnd = random.Random(f"{part.name}/{number}")
    ranks = rnd.choice([8, 12, 16])
    kind, make = small(rnd, part.steps, ranks)
    rank = rnd.randrange(8 if kind == "MoE" else ranks)
    sigma = part.sigma or rnd.uniform(0.005, 0.05)
    job = make(seed=number + 1, sigma=sigma, factor=workloads.ON([rank], 1 + part.by))
    where = f"{work}/{part.name}_{number}"
    said = Said(tool, made(where, job))
    known = said.part("stragglers")
    named = set().union(*(ranks for ranks, _ in said.found())) if known else set()
    paused = {rank for rank, _, _ in said.events()} if known else set()
    slow = said.parts_of_network() if known else []
    wrong = (named | paused) - ({rank} if part.by else set())
    words = (
        f"{part.name}_{number}: {kind}, {job.ranks} ranks, {sigma:.1%} noise, rank {rank} {part.by:+.0%} | "
        f"{(said.late or said.errors)[:160]} | named {sorted(named)}, paused {sorted(paused)}, network {slow}"
    )
    if not keep:
        shutil.rmtree(where, ignore_errors=True)
    return part.name, rank in named and part.by > 0, bool(wrong or slow or not known), words


def run(tool, work, jobs, begins, keep):
    """Prints the counts of each part, and a line about each job that is wrong. Parts with a slow rank have half as many
    jobs. Returns the number of parts whose counts are not as they must be."""
    failed = 0
    for part in (part for part in PARTS if begins(part.name)):
        count = jobs if not part.by else max(1, jobs // 2)
        tasks = [(tool, work, keep, number, part) for number in range(count)]
        with multiprocessing.Pool(min(os.cpu_count() or 1, count)) as pool:
            right = wrong = 0
            for _, is_named, is_wrong, words in pool.imap(one, tasks):
                right, wrong = right + is_named, wrong + is_wrong
                if is_wrong or (part.by and not is_named):
                    print("       " + words, flush=True)
        holds = right >= int(part.least * count) and wrong <= part.wrong * count
        failed += not holds
        found = f"{right} of {count} slow ranks named, at least {int(part.least * count)}; " if part.by else ""
        print(
            f"{'right' if holds else 'WRONG'} {part.name}: {found}{wrong} of {count} jobs with a wrong one, "
            f"at most {int(part.wrong * count)}",
            flush=True,
        )
    return failed
