"""Recordings that are missing, cut, or of several jobs."""

import os
import re

from cases import case, made
from recording import Clocks, write
from said import Said
from simulation import S
from workloads import ON, dp


@case("missing_ranks", "16 ranks, of which 3 and 12 have no recording")
def missing_ranks(tool, where, judge):
    job = dp(steps=40)
    write(job, f"{where}/job", dropped=(3, 12))
    said = Said(tool, f"{where}/job")
    judge.said.append(said.first[:120])
    judge.that("14 of 16" in said.first and said.first.startswith("Not complete"), "does not say 14 of 16")
    judge.that(not said.named(), f"names {said.named()} although ranks are missing")
    judge.that("0 % waiting" not in said.cost, "says '0 % waiting' although waits are unknown (planted 7.6 %)")
    judge.that(
        re.search(
            r"\b3\b.*\b12\b",
            said.first + Said(tool, f"{where}/job", "--part", "complete").text.split("Is all there?")[-1],
        ),
        "does not name ranks 3 and 12 as missing",
    )


@case("truncated", "rank 5's recording is cut in the middle")
def truncated(tool, where, judge):
    job = dp(steps=60, factor=ON([9], 1.2))
    to = made(where, job)
    path = f"{to}/node000.4005.jsonl.gz"
    data = open(path, "rb").read()
    open(path, "wb").write(data[: len(data) // 2])
    said = Said(tool, to)
    judge.said.append(said.first[:120])
    judge.that(said.exit in (0, 1) and said.text, f"exit {said.exit}: {said.errors[:80]}")
    judge.that("Not complete" in said.first or "cut" in said.first or "ends before" in said.first, "calls it complete")
    judge.only(said, [9])


def hang_of(job, rank, step):
    """Takes away what could not happen: `rank` was gone before its second operation of the step. The others began that
    operation and wait."""
    first = next(i for i, op in enumerate(job.ops[rank]) if op.step == step) + 1
    for r in range(job.ranks):
        del job.ops[r][first + (0 if r == rank else 1) :]
        if r != rank:
            job.ops[r][first].stop = None
    return first


@case("died", "rank 3's process is gone in step 30; the others wait for it for ever")
def died(tool, where, judge):
    job = dp(steps=60)
    job.died[3] = hang_of(job, 3, 30)
    to = made(where, job)
    said = Said(tool, to, "--part", "unfinished")
    judge.said.append(said.first[:120])
    judge.that("never ended" in said.first, "the first line does not say that operations never ended")
    tail = said.text.split("Not over")[-1] if "Not over" in said.text else said.text[-1500:]
    judge.that(
        re.search(r"behind[^\n]*\brank 3\b|rank 3\b[^\n]*behind|rank 3\b", tail), "does not say that rank 3 is behind"
    )
    short = Said(tool, to)
    judge.that(
        re.search(r"rank 3\b", short.first + short.late) or "unfinished" in short.text,
        "without --part, nothing leads to rank 3 or to --part unfinished: " + short.late[:60],
    )


@case("two_jobs", "two jobs in one directory, 8 ranks each, one with rank 5 10 % slow")
def two_jobs(tool, where, judge):
    write(dp(8, 60, seed=1, factor=ON([5], 1.1)), f"{where}/both", name="slurm 7, step 0", seed=1)
    other = dp(8, 60, seed=2)
    write(other, f"{where}/second", name="slurm 8, step 0", seed=2, base=3600 * S, clocks=Clocks(other, seed=77))
    for f in os.listdir(f"{where}/second"):
        host, pid = f.split(".")[:2]
        os.rename(f"{where}/second/{f}", f"{where}/both/{host}.{int(pid) + 1000}.jsonl.gz")
    said = Said(tool, f"{where}/both", "--part", "complete")
    judge.said.append((said.first + " " + said.errors)[:140])
    judge.that(re.search(r"jobs|slurm 8", said.text + said.errors), "does not say that these are two jobs")
    judge.that(
        "Complete" not in said.first or "jobs" in said.first,
        "the first line calls two jobs one that is complete as far as is known",
    )
