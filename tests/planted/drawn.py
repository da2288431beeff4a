"""Jobs and faults by random draws, and what the report must say of them.

Each job is simulated a second time without its fault and with the same random numbers. The difference of the mean
steps is what the fault truly costs, which the report has to say without the second run.
"""

import collections
import math
import random

import workloads
from cases import made
from recording import Clocks
from said import Said
from simulation import MIB, MS, S
from truth import mean_step

# A kind of job: its name, `make(**more)`, numbers of ranks, of ranks of a node and of steps, computation of a rank and
# step, number of computations in it, ranks of each stage, and whether its network can be slow in parts.
Shape = collections.namedtuple("Shape", "name make ranks per_node steps own draws stages parts")

# What is planted: its name, words, keywords of the job, ranks that are named, and by how much own time is longer.
Fault = collections.namedtuple("Fault", "name says options ranks excess", defaults=({}, (), 0.0))


def ddp(rnd):
    ranks, per_node, steps = rnd.choice([8, 16, 24]), rnd.choice([4, 8]), rnd.randrange(50, 110)
    buckets, compute, size = rnd.randrange(3, 7), rnd.uniform(2, 6) * MS, rnd.choice([16, 32, 64]) * MIB
    make = lambda **more: workloads.dp(
        ranks, steps, buckets=buckets, compute=compute, size=size, per_node=per_node, **more
    )
    return Shape("DDP", make, ranks, per_node, steps, buckets * compute, buckets, (), ranks // per_node >= 3)


def fsdp(rnd):
    ranks, per_node, steps = rnd.choice([8, 16]), rnd.choice([4, 8]), rnd.randrange(40, 70)
    layers, compute, size = rnd.randrange(4, 9), rnd.uniform(1, 2) * MS, rnd.choice([48, 96]) * MIB
    make = lambda **more: workloads.fsdp(
        ranks, steps, layers=layers, compute=compute, size=size, per_node=per_node, **more
    )
    return Shape("FSDP", make, ranks, per_node, steps, (3 * layers + 1) * compute, 2 * layers, (), False)


def gpipe(rnd):
    stages, replicas, micro, steps = (
        rnd.randrange(2, 5),
        rnd.randrange(3, 6),
        rnd.randrange(4, 9),
        rnd.randrange(40, 70),
    )
    compute = rnd.uniform(2, 4) * MS
    make = lambda **more: workloads.pipeline(stages, replicas, micro, steps, compute=compute, per_node=replicas, **more)
    of = tuple(tuple(range(replicas * s, replicas * (s + 1))) for s in range(stages))
    return Shape("GPipe", make, stages * replicas, replicas, steps, (3 * micro + 1) * compute, 2 * micro, of, False)


def one_f_one_b(rnd):
    tp, pp, dp, micro, steps = 2, rnd.randrange(2, 5), rnd.randrange(2, 4), rnd.randrange(4, 7), rnd.randrange(40, 60)
    compute = rnd.uniform(1, 2) * MS
    make = lambda **more: workloads.three_d(tp, pp, dp, micro, 2, steps, compute=compute, per_node=tp * dp, **more)
    of = tuple(tuple(range(tp * dp * p, tp * dp * (p + 1))) for p in range(pp))
    return Shape("1F1B", make, tp * pp * dp, tp * dp, steps, (6 * micro + 1) * compute, 4 * micro, of, False)


def moe(rnd):
    per_node, steps, layers, compute = (
        rnd.choice([2, 4]),
        rnd.randrange(40, 70),
        rnd.randrange(1, 4),
        rnd.uniform(1, 3) * MS,
    )
    make = lambda **more: workloads.moe(8, steps, layers=layers, compute=compute, per_node=per_node, **more)
    return Shape("MoE", make, 8, per_node, steps, 2 * layers * compute, 2 * layers, (), False)


def loop(rnd):
    ranks, steps, compute = rnd.choice([8, 16]), rnd.randrange(105, 130), rnd.uniform(3, 6) * MS
    make = lambda **more: workloads.loop(ranks, steps, compute=compute, **more)
    return Shape("loop", make, ranks, 8, steps, 4 * compute, 4, (), False)


def one_gpu(rnd):
    ranks, steps, kind = rnd.randrange(6, 13), rnd.randrange(30, 50), rnd.choice(["ring", "all-to-all"])
    if kind == "ring":
        make = lambda **more: workloads.dp(ranks, steps, per_node=1, size=32 * MIB, **more)
    else:
        make = lambda **more: workloads.moe(ranks, steps, per_node=1, size=2 * MIB, layers=2, **more)
    own, draws = (6 * 5 * MS, 6) if kind == "ring" else (4 * 2 * MS, 4)
    return Shape(f"one GPU a node, {kind}", make, ranks, 1, steps, own, draws, (), True)


SHAPES = (ddp, fsdp, gpipe, one_f_one_b, moe, loop, one_gpu)


def evaluated(shape):
    """Returns the steps behind which a training loop evaluates or writes. Neither is in a step: what a slow rank costs
    there is not what it costs a step."""
    return range(49, shape.steps, 50) if shape.name == "loop" else ()


def faults(shape, rnd, sigma):
    """Returns the faults that such a job may have, one of each kind."""
    by = math.exp(rnd.uniform(math.log(0.03), math.log(1.0)))
    more = max(by, 0.1)  # of several ranks
    rank, other = rnd.sample(range(shape.ranks), 2)
    slow = lambda ranks, by: {"factor": workloads.ON(ranks, 1 + by)}
    yield Fault("none", "no fault")
    yield Fault("rank", f"rank {rank} computes {by:.0%} longer", slow([rank], by), (rank,), by)
    yield Fault(
        "two", f"ranks {rank} and {other} compute {more:.0%} longer", slow([rank, other], more), (rank, other), more
    )
    every = rnd.randrange(5, 16)
    begin = rnd.choice([begin for begin in range(5) if all((step - begin) % every for step in evaluated(shape))])
    yield Fault(
        "sometimes",
        f"rank {rank} takes twice as long in every {every}th step",
        {"factor": lambda r, s: 2.0 if r == rank and s % every == begin else 1.0},
        (rank,),
        1 / every,
    )
    since = rnd.randrange(shape.steps * 3 // 10, shape.steps * 7 // 10)
    yield Fault(
        "since",
        f"rank {rank} computes {more:.0%} longer from step {since} of {shape.steps} on",
        {"factor": lambda r, s: 1 + more if r == rank and s >= since else 1.0},
        (rank,),
        more,
    )
    at, pause = rnd.randrange(10, shape.steps - 5), rnd.uniform(0.5, 5) * S
    yield Fault(
        "once",
        f"rank {rank} pauses once for {pause / S:.2f} s, in step {at}",
        {"pause": lambda r, s, i: pause if (r, s, i) == (rank, at, 1) else 0.0},
        (rank,),
        pause / shape.own,
    )
    nodes = [range(n, min(n + shape.per_node, shape.ranks)) for n in range(0, shape.ranks, shape.per_node)]
    if shape.per_node > 1 and len(nodes) > 2 and not shape.stages:
        node = rnd.randrange(len(nodes))
        yield Fault(
            "node",
            f"all ranks of node {node} compute {more:.0%} longer",
            slow(nodes[node], more),
            tuple(nodes[node]),
            more,
        )
    if len(shape.stages) > 2:
        stage = rnd.randrange(len(shape.stages))
        ranks = shape.stages[stage]
        yield Fault("stage", f"all ranks of stage {stage} compute {more:.0%} longer", slow(ranks, more), ranks, more)
    if shape.parts:
        times, one = rnd.uniform(1.3, 3), rnd.randrange(len(nodes))
        two = (one + 1) % len(nodes)
        yield Fault(
            "link",
            f"transfers between nodes {one} and {two} take {times:.2f} times as long",
            {"slow_nodes": {frozenset((one, two)): times}},
            (*nodes[one], *nodes[two]),
        )
        yield Fault(
            "adapter",
            f"transfers of rank {rank}'s adapter take {times:.2f} times as long",
            {"slow_rank": {rank: times}},
            (rank,),
        )


class Draw:
    """One job with one fault."""

    def __init__(self, seed, number, shapes=SHAPES, kinds=None):
        rnd = random.Random(f"{seed}/{number}")
        self.shape = shapes[number % len(shapes)](rnd)
        self.sigma = math.exp(rnd.uniform(math.log(0.005), math.log(0.05)))
        self.clocks = {"apart": rnd.choice([0.0005, 0.005, 1.0]), "ppm": rnd.choice([0, 0, 10])}
        possible = [it for it in faults(self.shape, rnd, self.sigma) if kinds is None or it.name in kinds]
        self.fault = rnd.choice(possible)
        self.seed = rnd.randrange(1, 1 << 30)
        self.name = f"drawn_{seed}_{number}"
        self.planted = (
            f"{self.shape.name}, {self.shape.ranks} ranks, {self.shape.per_node} a node, {self.shape.steps} steps, "
            f"{self.sigma:.1%} noise, clocks {self.clocks['apart'] * 1e3:g} ms and {self.clocks['ppm']} ppm apart: "
            f"{self.fault.says}"
        )

    def job(self, with_fault=True):
        """Simulates the job; with or without the fault, each thing draws the same random numbers."""
        more = {"seed": self.seed, "sigma": self.sigma, "repeatable": True, "proxies": self.shape.parts}
        return self.shape.make(**more, **(self.fault.options if with_fault else {}))

    def error(self):
        """Standard error of a rank's own time a step, as all steps together tell it, nanoseconds."""
        return self.shape.own * self.sigma / math.sqrt(self.shape.draws * self.shape.steps)

    def must_be_known(self, step):
        """Whether the planted ranks must be named. The report names a rank whose own time is longer by 1 % of a step
        and by five deviations. Both the excess and the deviations are estimates by medians, which are off by a quarter
        more than means, and of few ranks: half as much again and twice as many deviations are certain."""
        excess = self.fault.excess * self.shape.own
        return excess > 0.015 * step and excess > 10 * self.error()

    def check(self, tool, where, judge):
        """Judges who is named and by how much a step would be shorter."""
        job = self.job()
        said = Said(tool, made(where, job, clocks=Clocks(job, seed=self.seed, **self.clocks)))
        judge.said.append(said.late[:160])
        if not judge.that(said.part("stragglers"), "nothing is concluded: " + (said.errors + said.first)[:150]):
            return
        warm_up = (said.part("steps") or {"warm_up": 0})["warm_up"]
        other = evaluated(self.shape)
        step = mean_step(job, warm_up, other)
        cost = step - mean_step(self.job(False), warm_up, other) if self.fault.name != "none" else 0.0
        judge.said.append(f"true cost {cost / 1e6:.3f} ms of {step / 1e6:.2f} ms")
        self.who(said, judge, step)
        if self.fault.name not in ("none", "once"):
            self.gain(said, judge, step, cost)

    def who(self, said, judge, step):
        fault = self.fault
        found, planted = set().union(*(ranks for ranks, _ in said.found())), set(fault.ranks)
        is_network = fault.name in ("link", "adapter")
        slow = said.parts_of_network()
        if not is_network:
            judge.that(
                not slow, f"calls parts of the network slow: {[(kind, sorted(ranks)) for kind, ranks, _ in slow][:3]}"
            )
        # of a training loop, rank 0 writes a checkpoint while the others wait
        writes = {0} if self.shape.name == "loop" else set()
        paused = {rank for rank, _, _ in said.events()} - writes
        if fault.name == "none" or is_network:
            judge.that(not found, f"names {sorted(found)} though no rank differs")
        if fault.name == "once":
            judge.that(not found, f"calls {sorted(found)} slow for one pause")
            judge.that(paused == planted, f"pauses of {sorted(paused) or 'nobody'}, planted {sorted(planted)}")
            longest = max((us for rank, _, us in said.events() if rank in planted), default=0.0)
            judge.near("pause us", longest, fault.excess * self.shape.own / 1e3, 0.02)
        elif fault.name != "sometimes":
            judge.that(not paused, f"pauses of {sorted(paused)} that were not planted")
        if is_network:
            judge.that(
                slow and all(ranks <= planted for _, ranks, _ in slow),
                f"slow parts {[(kind, sorted(ranks)) for kind, ranks, _ in slow][:3]}, planted {sorted(planted)}",
            )
        elif fault.name not in ("none", "once") and (found or self.must_be_known(step)):
            # pauses of one rank that are few belong to it, too
            if fault.name == "sometimes" and not found:
                found = paused
            judge.that(found == planted, f"names {sorted(found) or 'nobody'}, planted {sorted(planted)}")

    def gain(self, said, judge, step, cost):
        """The gain is right to within 5 % of the true cost, or as far as it can be known: the report puts the peers'
        time in place of the rank's, the truth that of the same rank without the fault. By chance alone these differ by
        the standard error of a rank's own time, of which a step takes over no more than all; three times that is
        exceeded once in 370. 0.2 % of a step stands for the order of operations that the re-enactment keeps."""
        is_network = self.fault.name in ("link", "adapter")
        if is_network:
            gains = [gain for _, _, gain in said.parts_of_network()]
            answer = said.network
        else:
            together = said.part("stragglers")["together_us"]
            gains = [gain for _, gain in said.found()] if together is None else [together]
            answer = said.late
        if not gains:
            return  # who is named has been judged
        if not judge.that(None not in gains, "the gain is not known"):
            return
        chance = 0.0 if is_network else 3 * self.error()
        judge.near("gain us a step", sum(gains), cost / 1e3, 0.05, max(0.002 * step, chance) / 1e3)
        written = said.gains(answer)
        if judge.that(len(written) == 1, f"{len(written)} gains in the answer"):
            us, rounding = written[0]
            judge.that(
                abs(us - max(gains)) <= rounding or abs(us - sum(gains)) <= rounding,
                f"the answer says {us:.4g} us a step, the fields {sum(gains):.4g}",
            )


def cases(seed, count):
    """Returns drawn cases: kind, name, planted truth and function."""
    draws = [Draw(seed, number) for number in range(count)]
    return [("drawn", draw.name, draw.planted, draw.check) for draw in draws]
