"""A job on GPU streams, simulated: the truth that the report is held against.

Each rank has a program of computations and NCCL calls. A collective ends on all ranks at (latest begin + transfer), a
message at (later begin of its two sides + transfer). All times are nanoseconds.
"""

import collections
import random

US, MS, S = 1_000, 1_000_000, 1_000_000_000
KIB, MIB = 1 << 10, 1 << 20
EPOCH = 1_795_000_000 * S
NVLINK, NIC = 300.0, 45.0  # bytes per ns: bus bandwidth inside a node; one GPU's adapter between nodes


class Op:
    """A call of one rank: a collective, or a group of sends and receives."""

    def __init__(self, rank, comm, func, nbytes, stream, messages=None):
        self.rank, self.comm, self.func, self.bytes, self.stream = rank, comm, func, nbytes, stream
        self.messages = messages  # of a group: (whether it is sent, peer, bytes, its number between these two)
        self.start = self.stop = self.latest = self.seq = self.whole = self.called = None
        self.missing, self.transfers, self.lone = 0, [], False


class Job:
    """Ranks on nodes, their communicators, and the network. `per_node` ranks are on a node, in order."""

    def __init__(self, ranks, per_node=8, seed=1, jitter=0.02, nvlink=NVLINK, nic=NIC):
        self.ranks, self.per_node, self.seed, self.random = ranks, per_node, seed, random.Random(seed)
        self.jitter, self.nvlink, self.nic = jitter, nvlink, nic
        self.comms = {}  # name -> ranks
        self.slow_nodes = {}  # frozenset of two nodes -> factor on the transfer time between them
        self.slow_rank = {}  # rank -> factor on what its adapter sends or receives
        self.slow_sender = {}  # rank -> factor on what it sends: over sockets, late ranks send more slowly
        self.proxies = False
        self.repeatable = False  # each thing that happens by chance has its own random numbers (`chance`)
        self.chances = {}
        self.ops = [[] for _ in range(ranks)]
        self.steps = [[] for _ in range(ranks)]  # begin of each step, per rank (of its first operation)
        self.computed = [[] for _ in range(ranks)]  # (begin, end) of computations
        self.arrived, self.sides, self.everyone = {}, {}, {}  # operations and messages that wait for others
        self.died = {}  # rank -> number of operations after which its process is gone

    def node(self, rank):
        return rank // self.per_node

    def comm(self, name, members):
        self.comms[name] = list(members)
        return name

    def chance(self, *of):
        """The random numbers of one thing. In a `repeatable` job no other thing draws from them, so that a second run
        of the job with another fault has the same ones, whatever order things happen in."""
        if not self.repeatable:
            return self.random
        if of not in self.chances:
            self.chances[of] = random.Random("/".join(str(part) for part in (self.seed, *of)))
        return self.chances[of]

    def noise(self, sigma, *of):
        return self.chance(*of).lognormvariate(0, sigma) if sigma else 1.0

    # transfers ---------------------------------------------------------------------------------------------------

    def worst(self, members):
        """Factor of the slowest hop of a ring over these ranks."""
        nodes = sorted({self.node(r) for r in members})
        factor = max([1.0] + [self.slow_rank.get(r, 1.0) for r in members] if len(nodes) > 1 else [1.0])
        for a, b in zip(nodes, nodes[1:] + nodes[:1]):
            if a != b:
                here = max(self.slow_sender.get(r, 1.0) for r in members if self.node(r) == a)
                factor = max(factor, here * self.slow_nodes.get(frozenset((a, b)), 1.0))
        return factor

    def hop(self, a, b):
        """Factor of what rank `a` sends to rank `b` of another node."""
        link = self.slow_nodes.get(frozenset((self.node(a), self.node(b))), 1.0)
        return max(link, self.slow_rank.get(a, 1.0), self.slow_rank.get(b, 1.0)) * self.slow_sender.get(a, 1.0)

    def collective_ns(self, comm, func, nbytes):
        members = self.comms[comm]
        n = len(members)
        if n == 1:
            return 3 * US
        factor = {"AllReduce": 2 * (n - 1) / n, "AllGather": (n - 1) / n, "ReduceScatter": (n - 1) / n}.get(func, 1.0)
        nodes = {self.node(r) for r in members}
        rate = self.nvlink if len(nodes) == 1 else min(self.nvlink, self.nic * n / len(nodes)) / self.worst(members)
        return (12 * US if len(nodes) == 1 else 28 * US) + nbytes * factor / rate * self.noise(self.jitter, comm)

    def message_ns(self, comm, src, dst, nbytes, share):
        a, b = self.comms[comm][src], self.comms[comm][dst]
        if self.node(a) == self.node(b):
            return 8 * US + nbytes / (self.nvlink / 2) * self.noise(self.jitter, comm, src, dst)
        slow = self.hop(a, b)
        return 20 * US + nbytes * share * slow / self.nic * self.noise(self.jitter, comm, src, dst)

    # who waits for whom -------------------------------------------------------------------------------------------

    def meet(self, op):
        """An operation's kernel begins. Returns the operations that can end now, with their ends: all members of a
        collective whose last member it is, or the groups whose last message has its other side."""
        r = op.rank
        if op.messages is None:
            key = (op.comm, op.seq)
            group = self.arrived.setdefault(key, [])
            group.append(op)
            if len(group) < len(self.comms[op.comm]):
                return []
            del self.arrived[key]
            latest = max(o.start for o in group)
            took = self.collective_ns(op.comm, op.func, op.bytes)
            for o in group:
                o.latest, o.whole = latest, group
            return [(o, latest + took + abs(self.chance("end", o.rank, o.stream).gauss(0, 1.5 * US))) for o in group]
        me, share = self.comms[op.comm].index(r), max(1, sum(1 for m in op.messages if m[0]))
        if len({m[1] for m in op.messages}) == len(self.comms[op.comm]):  # an all-to-all
            op.whole = self.everyone.setdefault((op.comm, op.seq), [])
            op.whole.append(op)
        op.latest, longest = op.start, op.start + 6 * US
        partners = []
        for send, peer, nbytes, k in op.messages:
            if peer == me:
                continue
            key = (op.comm, me, peer, k) if send else (op.comm, peer, me, k)
            other = self.sides.pop(key, None)
            if other is None:
                self.sides[key] = op
                op.missing += 1
            else:
                partners.append((key, nbytes, send, other, share))
        op.stop, over = longest, []
        for key, nbytes, send, other, share in partners:
            both = max(op.start, other.start)
            stop = both + self.message_ns(op.comm, key[1], key[2], nbytes, share)
            for o in (op, other):
                o.latest = max(o.latest, both)
                o.stop = max(o.stop, stop)
            sender = op if send else other
            if self.node(self.comms[op.comm][key[1]]) != self.node(self.comms[op.comm][key[2]]):
                sender.transfers.append((key[2], nbytes, both, stop))
            if op.lone and other.lone:
                op.whole = other.whole = [op, other]
            other.missing -= 1
            if other.missing == 0:
                over.append((other, other.stop))
        if op.missing == 0:
            over.append((op, op.stop))
        return over

    # the run -----------------------------------------------------------------------------------------------------

    def run(self, program, steps):
        """`program(rank, step)` returns instructions: ("c", ns) computes; ("k", comm, func, bytes[, stream]) is a
        collective; ("x", comm, [(send?, peer, bytes)...][, stream]) a group of sends and receives. On stream 0 the
        computation waits for it; on others ("j", stream) does. ("s",) begins a step. With ("e", stream) the next
        call on that stream waits for the stream alone."""
        self.now = [0.0] * self.ranks
        queue = [collections.defaultdict(collections.deque) for _ in range(self.ranks)]  # calls not over, by stream
        tail = [collections.defaultdict(float) for _ in range(self.ranks)]
        blocked = [None] * self.ranks
        early = [set() for _ in range(self.ranks)]
        seq, number = collections.Counter(), collections.Counter()

        def instructions(rank):
            for step in range(steps):
                yield ("s", step)
                yield from program(rank, step)

        progs = [instructions(r) for r in range(self.ranks)]
        work = collections.deque(range(self.ranks))
        mark = [None] * self.ranks

        def begin(op):
            """The call's kernel begins; others may now be able to end."""
            r = op.rank
            op.start = max(op.ready, tail[r][op.stream]) + 4 * US * self.noise(0.3, "launch", r, op.stream)
            for o, stop in self.meet(op):
                end(o, stop)

        def end(op, stop):
            r, s = op.rank, op.stream
            op.stop = stop
            tail[r][s] = stop
            q = queue[r][s]
            q.popleft()
            if q:
                todo.append(q[0])
            elif blocked[r] == s:
                blocked[r] = None
                self.now[r] = max(self.now[r], stop)
                work.append(r)

        todo = collections.deque()
        while work or todo:
            while todo:
                begin(todo.popleft())
            if not work:
                break
            r = work.popleft()
            while blocked[r] is None:
                item = next(progs[r], None)
                if item is None:
                    break
                what = item[0]
                if what == "c":
                    if item[1] > 0:
                        self.computed[r].append((self.now[r], self.now[r] + item[1]))
                    self.now[r] += item[1]
                elif what == "s":
                    mark[r] = item[1]
                elif what == "e":
                    early[r].add(item[1])
                elif what == "j":
                    if queue[r][item[1]]:
                        blocked[r] = item[1]
                    else:
                        self.now[r] = max(self.now[r], tail[r][item[1]])
                else:
                    if what == "k":
                        _, comm, func, nbytes = item[:4]
                        stream = item[4] if len(item) > 4 else 0
                        op = Op(r, comm, func, nbytes, stream)
                        op.seq = seq[r, comm, func]
                        seq[r, comm, func] += 1
                        op.seq = (func, op.seq)
                    else:
                        _, comm, messages = item[:3]
                        stream = item[3] if len(item) > 3 else 0
                        numbered = []
                        for send, peer, nbytes in messages:
                            key = (r, comm, send, peer)
                            numbered.append((send, peer, nbytes, number[key]))
                            number[key] += 1
                        op = Op(r, comm, "Group", sum(m[2] for m in messages), stream, numbered)
                        op.lone = len(messages) == 1
                        op.seq = seq[r, comm, "x"]
                        seq[r, comm, "x"] += 1
                    op.step = mark[r]
                    op.ready = 0.0 if stream in early[r] else self.now[r]
                    early[r].discard(stream)
                    if len(self.steps[r]) == op.step:
                        self.steps[r].append(op)
                    self.ops[r].append(op)
                    queue[r][stream].append(op)
                    if len(queue[r][stream]) == 1:
                        todo.append(op)
                    if stream == 0:
                        blocked[r] = 0
                    if todo:
                        break
            if blocked[r] is None and todo:
                work.append(r)
        return self
