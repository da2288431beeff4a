"""Jobs whose hosts run ahead, and faults, by random draws: who must be named, and what a step gains truly.

Each job is simulated a second time without its fault and with the same random numbers, as in drawn.py.
"""

import random

import ahead
from cases import made
from recording import Clocks
from said import Said
from simulation import MIB, MS
from truth import mean_step


def shape(rnd):
    """Returns a job's words, its maker, its number of ranks, the GPU's and the host's time of a step, and its steps."""
    layers, compute, host = rnd.randrange(4, 10), rnd.uniform(0.3, 1.5) * MS, rnd.uniform(0.1, 0.9) * MS
    ranks, steps, every = rnd.choice([2, 4, 8]), rnd.randrange(60, 100), rnd.choice([1, 1, 10])
    more = {"compute": compute, "host": host, "every": every, "per_node": 4, "steps": steps}
    kind = rnd.choice(["DDP", "DDP", "FSDP", "FSDP", "hybrid FSDP", "GPipe"])
    if kind == "DDP":
        batches = rnd.choice([1, 1, 2, 4])
        more |= {"layers": layers, "buckets": rnd.randrange(1, 4), "size": rnd.choice([16, 64]) * MIB}
        more |= {"accumulate": batches, "ranks": ranks}
        make, gpu, calls = ahead.ddp, (3 * layers * batches + 1) * compute, (2 * layers * batches + 1) * host
    elif kind == "GPipe":
        del more["per_node"]
        more |= {"stages": 2, "replicas": (ranks := 8) // 2, "micro": layers}
        make, gpu, calls = ahead.gpipe, (3 * layers + 1) * compute, (2 * layers + 1) * host
    else:
        ranks = 8 if kind != "FSDP" else ranks
        more |= {"layers": layers, "size": rnd.choice([16, 64]) * MIB, "norm": rnd.random() < 0.7}
        more |= {"shards": 4 if kind != "FSDP" else None, "ranks": ranks}
        make, gpu, calls = ahead.fsdp, (3 * layers + 1) * compute, (2 * layers + 1) * host
    words = f"{kind}, {ranks} ranks, {layers} layers of {compute / MS:.2f} ms, host {host / MS:.2f} ms, sync {every}"
    return words, lambda **options: make(**more, **options), ranks, gpu, calls, steps


class Draw:
    """A job; with a fault if `has_fault`."""

    def __init__(self, seed, number, has_fault):
        rnd = random.Random(f"ahead/{seed}/{number}")
        words, self.make, ranks, gpu, host, steps = shape(rnd)
        self.peers = ranks // (2 if "GPipe" in words else 1) - 1
        self.name, self.seed, self.sigma = f"ahead_{seed}_{number}", rnd.randrange(1 << 30), rnd.uniform(0.003, 0.02)
        self.rank = rnd.randrange(ranks) if has_fault else None
        self.options, says = self.fault(rnd, max(gpu, host), steps) if has_fault else ({}, "no fault")
        self.planted = f"{words}, {self.sigma:.1%} noise: {says}"

    def fault(self, rnd, length, steps):
        """Returns the keywords of a fault and its words: `length` is about the length of a step, nanoseconds."""
        by, kind = rnd.uniform(0.05, 0.5), rnd.choice(["factor", "late"])
        when = rnd.choice(["", "", "", " in every 4th step", f" from step {steps // 2} on"])
        is_on = {"": lambda step: True, " in every 4th step": lambda step: step % 4 == 1}.get(
            when, lambda step: step >= steps // 2
        )
        if kind == "factor":
            return {"factor": lambda rank, step: 1 + by * (rank == self.rank and is_on(step))}, (
                f"rank {self.rank} computes {by:.0%} longer{when}"
            )
        return {"late": lambda rank, step: by * length * (rank == self.rank and is_on(step))}, (
            f"rank {self.rank}'s host sleeps {by * length / MS:.1f} ms a step{when}"
        )

    def judged(self, tool, where):
        """Returns what the report says of the job: a dictionary of truths, and the words for a person."""
        job = self.make(seed=self.seed, sigma=self.sigma, **self.options)
        said = Said(tool, made(where, job, clocks=Clocks(job, seed=self.seed)))
        words = f"{self.name}: {self.planted} | {(said.late or said.errors)[:300]}"
        known = said.part("stragglers")
        if not known:
            return {"known": False}, words
        warm_up = (said.part("steps") or {"warm_up": 0})["warm_up"]
        step = mean_step(job, warm_up)
        cost = step - mean_step(self.make(seed=self.seed, sigma=self.sigma), warm_up) if self.options else 0.0
        names = set().union(*(ranks for ranks, _ in said.found()))
        slow = said.parts_of_network()
        truth = {"known": True, "wrong": bool(names - {self.rank} or slow), "named": self.rank in names}
        # of few peers, smaller differences are not seen (docs/report.md)
        truth["must"] = cost > {1: 0.12, 3: 0.06}.get(self.peers, 0.03) * step
        if truth["named"] and not truth["wrong"]:
            it = known["found"][0]
            slack = 0.003 * step
            least, most = (1e3 * (it[f"gain_{bound}_us"] or 0.0) for bound in ("least", "most"))
            gain = 1e3 * (it["gain_us"] or 0.0)
            truth["range"] = " to " in said.late and most - least > 0.1 * gain
            truth["holds"] = (
                least - slack <= cost <= most + slack if truth["range"] else abs(gain - cost) <= 0.1 * cost + slack
            )
            truth["narrow"] = most - least <= 2 * cost + slack
            words += f" | gain {gain / MS:.3f}, {least / MS:.3f} to {most / MS:.3f} ms"
        words += f" | true cost {cost / MS:.3f} ms of {step / MS:.3f} ms | named {sorted(names)}, network {slow}"
        return truth, words
