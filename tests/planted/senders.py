"""Late ranks that send more slowly, by random draws: over sockets, transfers of a rank that came late by a fifth took
half as long again to twice as long (docs/gpu-test.md, "Watched jobs"). Such a rank is late, and no part of the network
is slow. Some of the jobs have a slow link or adapter as well, which must be named.
"""

import collections
import math
import random

import workloads
from cases import made
from recording import Clocks
from said import Said
from simulation import MIB

# A kind of job: its name, `make(**more)`, ranks, ranks of a node, and ranks of each stage.
Shape = collections.namedtuple("Shape", "name make ranks per_node stages", defaults=((),))


def nodes(shape):
    return [range(first, first + shape.per_node) for first in range(0, shape.ranks, shape.per_node)]


def ring(rnd, per_node, least):
    count = rnd.randrange(least, 9)
    ranks, steps, size = count * per_node, rnd.randrange(30, 60), rnd.choice([16, 32]) * MIB
    make = lambda **more: workloads.dp(ranks, steps, buckets=4, size=size, per_node=per_node, **more)
    return Shape(f"ring over {count} nodes of {per_node}", make, ranks, per_node)


def all_to_all(rnd, per_node, least):
    count = rnd.randrange(least, 9)
    ranks, steps = count * per_node, rnd.randrange(30, 50)
    make = lambda **more: workloads.moe(ranks, steps, layers=2, size=2 * MIB, per_node=per_node, **more)
    return Shape(f"all-to-all over {count} nodes of {per_node}", make, ranks, per_node)


def pipeline(rnd, per_node, least):
    stages, steps = rnd.randrange(least, 7), rnd.randrange(30, 50)
    make = lambda **more: workloads.pipeline(stages, per_node, 4, steps, per_node=per_node, **more)
    of = tuple(range(per_node * s, per_node * (s + 1)) for s in range(stages))
    return Shape(f"pipeline of {stages} nodes of {per_node}", make, stages * per_node, per_node, of)


# What is late (a rank, or all ranks of a node or stage), in which job, ranks of a node, fewest nodes, and what of the
# network is slow as well.
PLANS = (
    ("rank", ring, (1, 2, 4), 4, None),
    ("rank", all_to_all, (1, 2), 4, None),
    ("node", ring, (2, 4), 4, None),
    ("node", all_to_all, (2,), 4, None),
    ("stage", pipeline, (2, 3), 4, None),
    ("rank", pipeline, (3, 4), 4, None),
    ("rank", ring, (1, 2, 4), 6, "link"),
    ("rank", all_to_all, (1, 2), 6, "link"),
    ("rank", pipeline, (3, 4), 5, "link"),
    ("rank", all_to_all, (1, 2), 4, "adapter"),
)


class Draw:
    """One job with late ranks."""

    def __init__(self, seed, number):
        rnd = random.Random(f"senders/{seed}/{number}")
        late, shape, per_node, least, slow = PLANS[number % len(PLANS)]
        self.shape = shape = shape(rnd, rnd.choice(per_node), least)
        self.sigma, self.seed = math.exp(rnd.uniform(math.log(0.005), math.log(0.03))), rnd.randrange(1, 1 << 30)
        if late == "rank":
            self.late = [rnd.randrange(shape.ranks)]
        else:
            self.late = list(rnd.choice(shape.stages or nodes(shape)))
        by, sends = rnd.uniform(0.15, 0.3), rnd.uniform(1.2, 1.8)
        self.faults = {
            "factor": workloads.ON(self.late, 1 + by),
            "slow_sender": {rank: sends for rank in self.late},
        }
        who = f"rank {self.late[0]} is" if late == "rank" else f"ranks {self.late} of a {late} are"
        says = f"{who} late by {by:.0%}; sends take {sends:.2f} times as long"
        self.slow, times = set(), rnd.uniform(1.5, 3)
        if slow == "link":
            here, all_nodes = self.late[0] // shape.per_node, nodes(shape)
            follows = [(one, (one + 1) % len(all_nodes)) for one in range(len(all_nodes) - bool(shape.stages))]
            one, other = rnd.choice([ends for ends in follows if here not in ends])
            self.faults["slow_nodes"] = {frozenset((one, other)): times}
            self.slow = {*all_nodes[one], *all_nodes[other]}
            says += f"; transfers between nodes {one} and {other} take {times:.2f} times as long"
        elif slow == "adapter":
            self.faults["slow_rank"] = {self.late[0]: times}
            self.slow = set(self.late)
            says += f"; transfers of its adapter take {times:.2f} times as long"
        self.name = f"sender_{seed}_{number}"
        self.planted = f"{shape.name}, {self.sigma:.1%} noise: {says}"

    def check(self, tool, where, judge):
        job = self.shape.make(seed=self.seed, sigma=self.sigma, proxies=True, **self.faults)
        said = Said(tool, made(where, job, clocks=Clocks(job, seed=self.seed)))
        judge.said.append(said.network[-200:])
        late = set().union(*(ranks for ranks, _ in said.found()))
        judge.that(late == set(self.late), f"names {sorted(late) or 'nobody'}, planted {self.late}")
        parts = [(kind, sorted(ranks)) for kind, ranks, _ in said.parts_of_network()]
        if self.slow:
            judge.that(parts and all(set(ranks) <= self.slow for _, ranks in parts), f"slow parts {parts[:3]}")
        else:
            judge.that(not parts, f"calls parts of the network slow: {parts[:3]}")


def cases(seed, count):
    """Returns drawn cases: kind, name, planted truth and function."""
    draws = [Draw(seed, number) for number in range(count)]
    return [("senders", draw.name, draw.planted, draw.check) for draw in draws]
