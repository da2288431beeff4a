"""Steps that are not alike."""

import random

from cases import case, made
from said import Said
from workloads import dp, fsdp, loop, three_d


def steps(name, planted, make, count, tolerance=1):
    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said = Said(tool, made(where, job))
        found = said.part("steps")
        if not judge.that(found, "no steps found"):
            return
        judge.said.append(
            f"{found['count']} steps + {found['warm_up']} warm-up, mean {found['mean_us'] / 1e3:.2f} ms, "
            f"median {found['median_us'] / 1e3:.2f} ms, {found['covered']:.0%} of operations"
        )
        n = found["count"] + found["warm_up"]
        judge.that(abs(n - count) <= tolerance, f"{n} steps, planted {count}")
        lengths = sorted(b.start - a.start for a, b in zip(job.steps[0], job.steps[0][1:]))
        judge.near("median step us", found["median_us"], lengths[len(lengths) // 2] / 1e3, 0.05)


VARY = lambda step: random.Random(f"length/{step}").choice([0.5, 0.75, 1.0, 1.25, 1.75])
steps(
    "steps_loop",
    "120 steps; 12 broadcasts first, 3 slow ones, evaluations after 50 and 100, a checkpoint after 100",
    lambda: loop(),
    120,
)
steps("steps_lengths", "120 steps of computation between 0.5 and 1.75 times the usual", lambda: loop(lengths=VARY), 120)
steps(
    "steps_counts",
    "TP 4 x PP 2 x DP 4: 60 steps whose sizes vary with the sequence's length",
    lambda: three_d(steps=60, lengths=VARY),
    60,
)
steps("steps_accumulate_12", "FSDP of 12 layers, 4 micro-steps a step, 30 steps", lambda: fsdp(8, 30, accumulate=4), 30)
steps(
    "steps_accumulate_32",
    "FSDP of 32 layers, 4 micro-steps a step, 20 steps",
    lambda: fsdp(8, 20, layers=32, accumulate=4),
    20,
)
steps(
    "steps_accumulate_80",
    "FSDP of 80 layers, 8 micro-steps a step, 8 steps",
    lambda: fsdp(8, 8, layers=80, accumulate=8),
    8,
)
steps("steps_3d", "TP 4 x PP 2 x DP 4: 30 steps", lambda: three_d(), 30)
steps("steps_few", "DDP, 3 steps", lambda: dp(8, 3), 3)
