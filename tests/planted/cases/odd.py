"""Jobs at the edges, and other inputs than recordings."""

import os
import re
import subprocess

from cases import case, made
from said import Said
from simulation import MIB, MS, Job
from truth import Truth
from workloads import NONE, ON, Load, dp


@case("one_rank", "a job of one rank")
def one_rank(tool, where, judge):
    job = dp(1, 40)
    said = Said(tool, made(where, job))
    judge.said.append(said.late[:100])
    judge.that(said.exit == 0, f"exit {said.exit}: {said.errors[:100]}")
    judge.that(not said.named(), "calls a rank late that is alone")


@case("groups_of_one", "8 ranks, rank 5 10 % slow; each also has a communicator of its own with operations")
def groups_of_one(tool, where, judge):
    job = Job(8, 8, 1)
    job.comm("dp", range(8))
    for r in range(8):
        job.comm(f"one{r}", [r])
    load = Load(job, 1, 0.02, ON([5], 1.1), NONE)

    def program(rank, step):
        for i in range(4):
            yield load(rank, step, 5 * MS)
            yield ("k", f"one{rank}", "AllReduce", 32 * MIB)
            yield ("k", "dp", "AllReduce", 32 * MIB)
        yield ("k", "dp", "AllReduce", 16)

    job.run(program, 80)
    said, truth = Said(tool, made(where, job)), Truth(job)
    judge.only(said, [5])
    judge.figures(said, truth)


@case("zero_bytes", "8 ranks, rank 5 10 % slow; all-reduces of no byte between")
def zero_bytes(tool, where, judge):
    job = Job(8, 8, 1)
    job.comm("dp", range(8))
    load = Load(job, 1, 0.02, ON([5], 1.1), NONE)

    def program(rank, step):
        for i in range(4):
            yield load(rank, step, 5 * MS)
            yield ("k", "dp", "AllReduce", 32 * MIB)
            yield ("k", "dp", "AllReduce", 0)
        yield ("k", "dp", "AllReduce", 16)

    job.run(program, 80)
    said, truth = Said(tool, made(where, job)), Truth(job)
    judge.that(said.exit == 0, f"exit {said.exit}: {said.errors[:100]}")
    judge.only(said, [5])
    judge.figures(said, truth)


@case("three_operations", "8 ranks with three all-reduces; rank 5 is 3 ms late in each")
def three_operations(tool, where, judge):
    job = Job(8, 8, 1)
    job.comm("dp", range(8))

    def program(rank, step):
        yield ("c", 5 * MS + (3 * MS if rank == 5 else 0))
        yield ("k", "dp", "AllReduce", (8 << step) * MIB)

    job.run(program, 3)
    said = Said(tool, made(where, job))
    judge.that(said.exit == 0, f"exit {said.exit}: {said.errors[:100]}")
    judge.only(said, [5])


@case("tables", "the same from `scorep-nccl table`: 16 ranks, rank 5 10 % slow")
def tables(tool, where, judge):
    to = made(where, dp(steps=60, factor=ON([5], 1.1)))
    run = subprocess.run([tool, "table", to, "--to", f"{where}/tables"], capture_output=True, text=True)
    judge.that(run.returncode == 0, run.stderr[:100])
    one, other = Said(tool, to), Said(tool, f"{where}/tables")
    judge.only(other, [5])
    judge.that(
        (one.late, one.cost, one.network) == (other.late, other.cost, other.network),
        "the answers differ from those of the recordings",
    )


def summaries(name, planted, make, ranks):
    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        to, files = made(where, job), []
        for f in sorted(os.listdir(to)):
            files.append(f"{where}/{f}.json")
            subprocess.run([tool, "replay", f"{to}/{f}", "--summary", files[-1]], capture_output=True)
        said = Said(tool, files)
        judge.said.append(said.late[:110])
        named = [int(r) for r in re.findall(r"^Rank (\d+)", said.late)]
        judge.that(named == ranks, f"names {named or 'nobody'}, planted {ranks}")


summaries("summaries_none", "from summaries alone: 8 ranks, no fault", lambda: dp(8, 60, seed=3), [])
summaries(
    "summaries_slow", "from summaries alone: 8 ranks, rank 5 10 % slow", lambda: dp(8, 60, factor=ON([5], 1.1)), [5]
)
