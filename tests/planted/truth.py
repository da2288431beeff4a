"""The truth about a simulated job, by the report's own definitions (docs/report.md)."""

import math


class Truth:
    """Sums a step behind the first `warm_up` steps."""

    def __init__(self, job, warm_up=0):
        n = job.ranks
        lists = [[op for op in ops if op.stop is not None] for ops in job.ops]
        begins = [[s.start for s in steps if s.start is not None] for steps in job.steps]
        self.count = min(len(b) for b in begins) - warm_up
        last = [max(op.stop for op in ops) for ops in lists]
        self.length = sum((b[-1] - b[warm_up]) / (len(b) - 1 - warm_up) for b in begins) / n
        self.cost, self.wait, self.last = [0.0] * n, [0.0] * n, [0] * n
        waiting = transferring = 0.0
        seen = set()
        for r, ops in enumerate(lists):
            spans = []
            for op in ops:
                if op.step < warm_up or op.latest is None:
                    continue
                w = min(op.latest, op.stop)
                self.wait[r] += max(0.0, w - op.start)
                spans.append((op.start, w, op.stop))
                if op.whole is not None and id(op.whole) not in seen:
                    seen.add(id(op.whole))
                    late = max(op.whole, key=lambda o: o.start)
                    self.cost[late.rank] += sum(late.start - o.start for o in op.whole)
                    self.last[late.rank] += 1
            a, b = union([(x, y) for x, y, _ in spans]), union([(x, z) for x, _, z in spans])
            waiting += a
            transferring += b - a
        k = n * self.count
        self.waiting, self.transferring = waiting / k, transferring / k
        self.last_step = [l - b[-1] for l, b in zip(last, begins)]


def union(spans):
    total, end = 0.0, -math.inf
    for a, b in sorted(spans):
        if b > end:
            total += b - max(a, end)
            end = b
    return total


def mean_step(job, warm_up=0, without=()):
    """Returns the mean length of a step behind the warm-up, nanoseconds, of the steps that are not `without`."""
    begins = [[op.start for op in steps if op.start is not None] for steps in job.steps]
    lengths = [of[s + 1] - of[s] for of in begins for s in range(warm_up, len(of) - 1) if s not in without]
    return sum(lengths) / len(lengths)
