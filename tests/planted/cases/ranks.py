"""Slow ranks and nodes in jobs whose ranks all do the same."""

from cases import case, made
from said import Said
from simulation import MS
from truth import Truth
from workloads import ON, dp, fsdp, moe


def slow(name, planted, make, ranks, own=0.8, costs=True, more=None):
    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said, truth = Said(tool, made(where, job)), Truth(job)
        judge.only(said, ranks)
        judge.figures(said, truth)
        if costs:
            judge.costs(said, truth, ranks, own)
        if more:
            more(said, judge)


slow("slow_3", "rank 5 computes 3 % longer", lambda: dp(steps=150, factor=ON([5], 1.03)), [5])
slow("slow_10", "rank 5 computes 10 % longer", lambda: dp(steps=150, factor=ON([5], 1.10)), [5])
slow("slow_50", "rank 5 computes 50 % longer", lambda: dp(steps=150, factor=ON([5], 1.50)), [5])


def slow_bare(name, planted, make, rank):
    """Without steps: the cost as a share of the time of all ranks."""

    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said, truth = Said(tool, made(where, job)), Truth(job)
        judge.only(said, [rank])
        late, mean = said.part("late"), said.part("steps")["mean_us"]
        share = said.by_rank("cost_us")[rank] / late["steps"] / mean / job.ranks
        judge.near(
            "others' wait for it, % of all ranks' time",
            100 * share,
            100 * truth.cost[rank] / truth.count / truth.length / job.ranks,
            0.15,
        )


slow_bare(
    "slow_10_bare",
    "rank 5 computes 10 % longer; large all-reduces alone, two nodes",
    lambda: dp(steps=150, bare=True, factor=ON([5], 1.10)),
    5,
)
slow_bare(
    "slow_50_bare_nodes",
    "16 nodes of one GPU, large all-reduces alone: rank 5 computes 50 % longer",
    lambda: dp(steps=150, per_node=1, sigma=0.01, bare=True, factor=ON([5], 1.5)),
    5,
)
slow_bare(
    "slow_moe_bare",
    "MoE over two nodes without small collectives: rank 5 computes 20 % longer",
    lambda: moe(steps=60, norm=False, factor=ON([5], 1.2)),
    5,
)


def slow_node(name, planted, make):
    """Four ranks of one node are slow: nobody knows that who reads of one of them alone."""

    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said, truth = Said(tool, made(where, job)), Truth(job)
        judge.said.append(said.late[:110])
        ranks, late = range(8, 12), said.part("late")
        told = sum(said.by_rank("cost_us")[r] for r in ranks) / late["steps"]
        judge.near(
            "others' wait for the node's four ranks, us a step",
            told,
            sum(truth.cost[r] for r in ranks) / truth.count / 1e3,
            0.15,
        )
        judge.that(
            "node002" in said.late or "node 2" in said.late or len({r for r, _ in said.named()} & set(ranks)) == 4,
            f"names {[r for r, _ in said.named()]} and not the node",
        )
        judge.figures(said, truth)


slow_node(
    "slow_node_dp",
    "DDP over 4 nodes of 4: all ranks of node 2 compute 20 % longer",
    lambda: dp(16, 150, per_node=4, sigma=0.01, factor=ON(range(8, 12), 1.2)),
)
slow_node(
    "slow_node_fsdp",
    "FSDP over 4 nodes of 4: all ranks of node 2 compute 20 % longer",
    lambda: fsdp(16, 60, per_node=4, sigma=0.01, factor=ON(range(8, 12), 1.2)),
)
slow_bare(
    "slow_fsdp_bare",
    "FSDP over two nodes without the norm: rank 5 computes 10 % longer",
    lambda: fsdp(steps=60, norm=False, factor=ON([5], 1.1)),
    5,
)
slow(
    "slow_20th",
    "rank 5 takes twice as long in every 20th step",
    lambda: dp(steps=200, factor=lambda r, s: 2.0 if r == 5 and s % 20 == 7 else 1.0),
    [5],
)


def has_shift(said, judge):
    shifts = (said.part("steps") or {}).get("shifts") or []
    judge.that(
        any(abs((s.get("step") if isinstance(s, dict) else s[0]) - 75) <= 5 for s in shifts),
        f"no shift at step 75: {shifts}",
    )


slow(
    "slow_half",
    "rank 5 computes 25 % longer from step 75 of 150 on",
    lambda: dp(steps=150, factor=lambda r, s: 1.25 if r == 5 and s >= 75 else 1.0),
    [5],
    more=has_shift,
)
slow("slow_two", "ranks 3 and 11 compute 20 % longer", lambda: dp(steps=150, factor=ON([3, 11], 1.2)), [3, 11], own=0.5)
ALTERNATE = lambda r, s, i: 4 * MS if r == 3 and i % 2 == 0 else 3.5 * MS if r == 11 and i % 2 == 1 else 0.0
slow(
    "slow_turns",
    "in one communicator, rank 3 is 4 ms late in every other operation, rank 11 3.5 ms in those between",
    lambda: dp(steps=150, sigma=0.01, pause=ALTERNATE),
    [3, 11],
)
slow(
    "slow_fsdp",
    "FSDP, 16 ranks: rank 5 computes 10 % longer",
    lambda: fsdp(steps=80, factor=ON([5], 1.1)),
    [5],
    own=0.7,
)
slow(
    "slow_moe",
    "MoE, 16 ranks: rank 5 computes 20 % longer",
    lambda: moe(steps=60, per_node=8, factor=ON([5], 1.2)),
    [5],
)
