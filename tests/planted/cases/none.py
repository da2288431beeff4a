"""No fault: nobody may be named, no pair called slow, and the sums are those of the simulation."""

from cases import case, made
from said import Said
from simulation import MIB
from truth import Truth
from workloads import dp, fsdp, moe, one_gpu_nodes, pipeline, three_d


def no_fault(name, planted, make, speed=False):
    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said = Said(tool, made(where, job))
        judge.nobody(said)
        judge.figures(said, Truth(job))
        judge.that(not said.slow_pairs(), f"calls pairs slow: {said.slow_pairs()[:3]}")
        if speed:
            for nbytes in (16 * MIB, 128 * MIB, 16):  # each size is of one kind of communicator
                ops = {
                    id(o.whole): o for ops in job.ops for o in ops if o.func == "AllReduce" and o.bytes == nbytes
                }.values()
                took = sorted(max(x.stop for x in o.whole) - o.latest for o in ops)
                rows = [
                    r for r in said.part("speed")["rows"] if r["function"] == "AllReduce" and r["from_bytes"] == nbytes
                ]
                told = sorted(r["median_us"] for r in rows if r["median_us"] is not None)
                if told:
                    judge.near(
                        f"median us of the slowest communicator's AllReduce of {nbytes} B",
                        told[-1],
                        took[len(took) // 2] / 1e3,
                        0.15,
                        20,
                    )


for seed in (1, 2, 3):
    no_fault(f"none_dp_{seed}", "no fault; DDP, 16 ranks, 5 % noise", lambda seed=seed: dp(seed=seed, steps=150))
no_fault("none_dp_quiet", "no fault; DDP, 16 ranks, 0.5 % noise", lambda: dp(seed=4, steps=150, sigma=0.005))
no_fault("none_dp_8", "no fault; DDP, 8 ranks of one node, 5 % noise", lambda: dp(ranks=8, seed=5, steps=150))
no_fault("none_fsdp", "no fault; FSDP, 16 ranks", lambda: fsdp(seed=1, steps=80))
no_fault("none_3d", "no fault; TP 4 x PP 2 x DP 4", lambda: three_d(seed=1))
no_fault(
    "none_3d_64", "no fault; TP 4 x PP 4 x DP 4 over 8 nodes", lambda: three_d(4, 4, 4, 8, steps=40, sigma=0.02), True
)
no_fault(
    "none_pairs",
    "no fault; the same with another seed: are pairs called slow?",
    lambda: three_d(4, 4, 4, 8, 2, steps=20, seed=5, sigma=0.02),
)
no_fault("none_pipeline", "no fault; PP 4 x DP 4 (GPipe: the schedule has bubbles)", lambda: pipeline(seed=1, steps=60))
no_fault("none_moe", "no fault; MoE, 16 ranks", lambda: moe(seed=1, per_node=8, steps=60))
no_fault("none_net", "no fault; ring over 16 nodes of one GPU", lambda: one_gpu_nodes(seed=1))
