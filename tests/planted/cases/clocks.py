"""Clocks of hosts that are apart and drift."""

from cases import case, made
from recording import Clocks
from said import Said
from truth import Truth
from workloads import ON, dp


def clocks(name, planted, apart, ppm, make=lambda: dp(16, 300, per_node=4, factor=ON([5], 1.10))):
    @case(name, planted)
    def check(tool, where, judge):
        job = make()
        said, truth = Said(tool, made(where, job, clocks=Clocks(job, apart=apart, ppm=ppm))), Truth(job)
        judge.only(said, [5])
        judge.figures(said, truth)
        judge.costs(said, truth, [5])
        judge.near("mean wait of rank 0, us", said.by_rank("wait_us")[0], truth.wait[0] / 1e3, 0.05)


clocks("clocks_good", "rank 5 is 10 % slow; 4 nodes, clocks 0.5 ms apart", 0.0005, 0)
clocks("clocks_apart", "rank 5 is 10 % slow; 4 nodes, clocks up to 5 s apart", 5, 0)
clocks("clocks_drift", "rank 5 is 10 % slow; 4 nodes, clocks up to 5 s apart, 30 ppm", 5, 30)
