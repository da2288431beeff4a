"""Pauses."""

import random
import re

from cases import case, made
from said import Said
from simulation import MS, S
from workloads import dp, loop


@case("pauses_random", "pauses of 200 ms on random ranks, 30 in 150 steps: no rank is worse than others")
def pauses_random(tool, where, judge):
    rnd = random.Random(9)
    at = {(rnd.randrange(16), rnd.randrange(150)) for _ in range(30)}
    job = dp(steps=150, sigma=0.01, pause=lambda r, s, i: 200 * MS if i == 2 and (r, s) in at else 0.0)
    said = Said(tool, made(where, job))
    judge.said.append(said.late[:110])
    steps = said.part("steps")
    hit = {s for _, s in at}
    first = said.named()[0][0] if said.named() else None
    judge.that(
        not said.named()
        or len(said.named()) > 2
        or "pause" in said.late
        or "turn" in said.late
        or "few operations" in said.late,
        f"names rank {first} as late, {sum(1 for r, _ in at if r == first)} of the {len(at)} pauses are its",
    )
    behind = {s - steps["warm_up"] for s in hit if s >= steps["warm_up"]}
    judge.that(behind <= set(steps["outliers"]), f"outliers {len(steps['outliers'])}, steps with a pause {len(behind)}")


@case("pause_once", "rank 9 pauses once for 5 s, in step 80 of 150")
def pause_once(tool, where, judge):
    job = dp(steps=150, sigma=0.02, pause=lambda r, s, i: 5 * S if (r, s, i) == (9, 80, 3) else 0.0)
    said = Said(tool, made(where, job))
    judge.only(said, [9])
    judge.that(
        re.search(r"\bonce\b|one operation|one step|1 step|a single|step 80", said.late),
        "the answer spreads one pause over all steps and does not say that it was one",
    )
    judge.that(80 in said.part("steps")["outliers"], "step 80 is no outlier")


@case("checkpoint_once", "training loop without a slow rank; rank 0 writes one checkpoint of 0.9 s in 120 steps")
def checkpoint_once(tool, where, judge):
    job = loop()
    said = Said(tool, made(where, job))
    judge.said.append(said.late[:110])
    judge.that(
        not said.named() or re.search(r"\bonce\b|one operation|one step|1 step|a single", said.late),
        f"names rank {said.named()[0][0] if said.named() else ''} without saying that it was one operation",
    )
    # waits without the one: of the steps that have neither evaluation nor checkpoint
    usual = [op for ops in job.ops for op in ops if op.step not in (0, 1, 2, 49, 99)]
    want = sum(min(op.latest, op.stop) - op.start for op in usual) / 16 / 115 / 1e3
    got = said.part("budget")["whole"]["waiting_ns"] / 1e3 / 16 / said.part("budget")["steps"]
    judge.that(got < 2 * want, f"waiting {got:.0f} us a step; in 115 of 120 steps it is {want:.0f} us")
