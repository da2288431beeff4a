"""Slow links and adapters."""

from cases import case, made
from said import Said
from simulation import MIB
from workloads import dp, one_gpu_nodes


def slow_link(name, planted, make, pairs, exactly=True):
    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said = Said(tool, made(where, job))
        judge.said.append(said.network[-150:])
        slow = said.slow_pairs()
        found = {p for p in pairs if p in slow}
        judge.that(len(found) == len(pairs), f"{len(found)} of {len(pairs)} slow pairs found")
        judge.that(
            not (set(slow) - set(pairs)),
            f"{len(set(slow) - set(pairs))} good pairs called slow: {sorted(set(slow) - set(pairs))[:4]}",
        )
        judge.that(
            any(f"rank {a} to rank {b}" in said.network for a, b in pairs) or "node" in said.network,
            "the answer names none of them",
        )


BOTH = lambda a, b: [(a, b), (b, a)]
slow_link(
    "link_ring",
    "ring over 16 nodes of one GPU: the link of nodes 5 and 6 at half rate",
    lambda: one_gpu_nodes(slow_nodes={frozenset((5, 6)): 2.0}),
    [(5, 6)],
)
slow_link(
    "link_all_to_all",
    "all-to-all over 16 nodes of one GPU: nodes 3 and 9 at half rate to each other",
    lambda: one_gpu_nodes(kind="all-to-all", slow_nodes={frozenset((3, 9)): 2.0}),
    BOTH(3, 9),
)
slow_link(
    "link_pipeline",
    "pipeline over 16 nodes of one GPU: nodes 6 and 7 at half rate to each other",
    lambda: one_gpu_nodes(kind="pipeline", slow_nodes={frozenset((6, 7)): 2.0}),
    BOTH(6, 7),
)
slow_link(
    "link_nodes_of_8",
    "all-reduce over 4 nodes of 8 GPUs: nodes 1 and 2 at half rate to each other",
    lambda: dp(32, 40, sigma=0.01, proxies=True, slow_nodes={frozenset((1, 2)): 2.0}),
    [(8 + i, 16 + i) for i in range(8)],
)
slow_link(
    "nic_all_to_all",
    "all-to-all over 16 nodes of one GPU: rank 5's adapter at half rate",
    lambda: one_gpu_nodes(kind="all-to-all", slow_rank={5: 2.0}),
    [p for r in range(16) if r != 5 for p in BOTH(5, r)],
)
slow_link(
    "nic_nodes_of_8",
    "all-reduce over 4 nodes of 8 GPUs: rank 13's adapter at half rate",
    lambda: dp(32, 40, sigma=0.01, proxies=True, slow_rank={13: 2.0}),
    [(5, 13), (13, 21)],
)


@case("link_rate", "all-reduce over 16 nodes at 45 GB/s of a link of 400 Gbit/s")
def link_rate(tool, where, judge):
    job = one_gpu_nodes()
    said = Said(tool, made(where, job), "--link-gbps", "400")
    judge.said.append(said.network[:120])
    large = [o for o in job.ops[0] if o.func == "AllReduce" and o.bytes == 32 * MIB]
    mean = sum(max(x.stop for x in o.whole) - o.latest for o in large) / len(large)
    want = 32 * MIB * 2 * 15 / 16 / mean
    row = next(r for r in said.part("speed")["rows"] if r["from_bytes"] == 32 * MIB)
    judge.near("busbw GB/s", row["busbw"], want, 0.03)
    judge.near("share of the link", row["utilisation"], want / 50, 0.03)
