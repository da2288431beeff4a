"""How often a rank is named in many small jobs: rightly if it is slow, wrongly if none is."""

import collections
import multiprocessing
import os
import random
import shutil

import drawn_ahead
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


def one_ahead(task):
    """Simulates and reports one job whose host runs ahead. Returns its truths (drawn_ahead.py) and words."""
    tool, work, keep, number, seed, has_fault = task
    draw = drawn_ahead.Draw(seed, number, has_fault)
    where = f"{work}/{draw.name}"
    found = draw.judged(tool, where)
    if not keep:
        shutil.rmtree(where, ignore_errors=True)
    return found


def ahead(tool, work, jobs, name, seed, keep):
    """Prints the counts of jobs whose hosts run ahead: with "ahead_none" nobody is to be named but in 2 of 100; with
    "ahead_fault" a figure is within a tenth of the true cost in 95 of 100, a range holds it in 99 and is narrower than
    twice the cost in 80. Returns whether they are not so."""
    tasks = [(tool, work, keep, number, seed, name == "ahead_fault") for number in range(jobs)]
    with multiprocessing.Pool(min(os.cpu_count() or 1, jobs)) as pool:
        results = pool.map(one_ahead, tasks, chunksize=1)
    truths = [truth for truth, _ in results]
    of = lambda field, among: sum(bool(truth.get(field)) for truth in among)
    named = [truth for truth in truths if truth.get("named") and not truth["wrong"]]
    figures, ranges = [t for t in named if not t["range"]], [t for t in named if t["range"]]
    must = [truth for truth in truths if truth.get("must")]
    for truth, words in results:
        if (
            not truth["known"]
            or truth.get("wrong")
            or truth.get("holds") is False
            or (truth.get("must") and not truth.get("named"))
        ):
            print("       " + words, flush=True)
    holds = of("known", truths) == jobs and of("wrong", truths) <= 0.02 * jobs
    holds = holds and of("named", must) >= 0.95 * len(must)
    holds = holds and of("holds", figures) >= 0.95 * len(figures) and of("holds", ranges) >= 0.99 * len(ranges)
    holds = holds and of("narrow", ranges) >= 0.8 * len(ranges)
    print(
        f"{'right' if holds else 'WRONG'} {name}: {of('known', truths)} of {jobs} are judged, {of('wrong', truths)} with a wrong one; of {len(must)} that "
        f"cost 3 % of a step {of('named', must)} named; {of('holds', figures)} of {len(figures)} figures within 10 %, "
        f"{of('holds', ranges)} of {len(ranges)} ranges hold the cost, {of('narrow', ranges)} are narrow",
        flush=True,
    )
    return not holds


def run(tool, work, jobs, begins, keep):
    """Prints the counts of each part, and a line about each job that is wrong. Parts with a slow rank have half as many
    jobs. Returns the number of parts whose counts are not as they must be."""
    failed = sum(ahead(tool, work, jobs, name, 1, keep) for name in ("ahead_none", "ahead_fault") if begins(name))
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
