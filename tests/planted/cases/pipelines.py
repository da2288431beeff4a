"""Slow ranks in pipelines."""

from cases.ranks import slow
from simulation import MIB, MS, Job
from workloads import FLAT, ON, Load, pipeline, three_d

slow(
    "slow_stage_rank",
    "PP 4 x DP 4: rank 6 (stage 1, replica 2) computes 20 % longer",
    lambda: pipeline(steps=60, factor=ON([6], 1.2)),
    [6],
    costs=False,
)
slow(
    "slow_stage_rank_quiet",
    "the same, 1 % noise",
    lambda: pipeline(steps=60, sigma=0.01, factor=ON([6], 1.2)),
    [6],
    costs=False,
)


def three_stages(stage):
    """The smallest pipeline: three ranks, a micro-batch forward and back. One stage takes 20 ms more."""
    job = Job(3, 8, 1)
    job.comm("world", range(3))
    job.comm("pp", range(3))
    load = Load(job, 1, 0.01, FLAT, lambda r, s, i: 20 * MS if r == stage and i == 0 else 0.0)

    def program(rank, step):
        for back in (False, True):
            came, goes = (rank + 1, rank - 1) if back else (rank - 1, rank + 1)
            if 0 <= came < 3:
                yield ("x", "pp", [(False, came, 16 * MIB)])
            yield load(rank, step, 3 * MS)
            if 0 <= goes < 3:
                yield ("x", "pp", [(True, goes, 16 * MIB)])
        yield ("k", "world", "AllReduce", 16)

    return job.run(program, 50)


for stage in range(3):
    slow(
        f"slow_of_three_{stage}",
        f"three ranks, PP 3, one micro-batch: rank {stage} takes 20 ms more forward; else 3 ms a stage and direction",
        lambda stage=stage: three_stages(stage),
        [stage],
        costs=False,
    )
for stage in range(4):
    slow(
        f"slow_1f1b_{stage}",
        f"TP 2 x PP 4 x DP 2 by 1F1B: rank {1 + 4 * stage} (stage {stage}) computes 30 % longer, 1 % noise",
        lambda stage=stage: three_d(2, 4, 2, 8, steps=40, sigma=0.01, per_node=4, factor=ON([1 + 4 * stage], 1.3)),
        [1 + 4 * stage],
        costs=False,
    )
for stage in range(4):
    slow(
        f"slow_stage_{stage}",
        f"PP 4 x DP 4: rank {1 + 4 * stage} (stage {stage}, replica 1) computes 30 % longer, 1 % noise",
        lambda stage=stage: pipeline(steps=60, sigma=0.01, factor=ON([1 + 4 * stage], 1.3)),
        [1 + 4 * stage],
        costs=False,
    )
slow(
    "slow_tp_rank",
    "TP 4 x PP 2 x DP 4: rank 13 computes 20 % longer",
    lambda: three_d(steps=40, factor=ON([13], 1.2)),
    [13],
    costs=False,
)
slow(
    "slow_tp_rank_quiet",
    "the same, 1 % noise",
    lambda: three_d(steps=40, sigma=0.01, factor=ON([13], 1.2)),
    [13],
    costs=False,
)
