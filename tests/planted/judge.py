"""A judge of one case: what is wrong with the answers."""


class Judge:
    """Collects what is wrong with an answer."""

    def __init__(self):
        self.wrong, self.said = [], []

    def that(self, holds, otherwise):
        if not holds:
            self.wrong.append(otherwise)
        return holds

    def near(self, what, got, want, part=0.05, plus=0.0):
        if got is None:
            return self.that(False, f"{what} unknown, planted {want:.4g}")
        return self.that(abs(got - want) <= part * abs(want) + plus, f"{what} {got:.4g}, planted {want:.4g}")

    def nobody(self, said):
        self.said.append(said.late[:110])
        self.that(not said.named(), f"names rank {', '.join(str(r) for r, _ in said.named())} though none differs")

    def only(self, said, ranks, others=0.2):
        """These ranks are named, and no other with more than this share of all own delays."""
        named = said.named()
        self.said.append(said.late[:110])
        main = [r for r, share in named if share is None or share > others]
        self.that(sorted(main) == sorted(ranks), f"names {main or 'nobody'}, planted {sorted(ranks)}")

    def figures(self, said, truth, steps=True):
        if steps:
            found = said.part("steps")
            if not self.that(found, "no steps found: " + str(((said.json or {}).get("steps") or {}).get("absent"))):
                return
            whole = found["count"] + found["warm_up"]
            if not self.that(abs(whole - truth.count) <= 1, f"{whole} steps, planted {truth.count}"):
                return
            self.near("mean step us", found["mean_us"], truth.length / 1e3, 0.02)
        budget = said.part("budget")
        if budget and budget["steps"]:
            per = 1e3 * len(budget["gpus"]) * budget["steps"]
            length = truth.length / 1e3
            self.near(
                "waiting us a step", budget["whole"]["waiting_ns"] / per, truth.waiting / 1e3, 0.05, 0.003 * length
            )
            self.near(
                "transferring us a step",
                budget["whole"]["transferring_ns"] / per,
                truth.transferring / 1e3,
                0.05,
                0.003 * length,
            )

    def costs(self, said, truth, ranks, own=0.8):
        late = said.part("late")
        if not self.that(late and late["steps"], "no waits by step"):
            return
        cost, mine = said.by_rank("cost_us"), said.by_rank("own_us")
        for r in ranks:
            self.near(
                f"others' wait for rank {r}, us a step",
                cost[r] / late["steps"],
                truth.cost[r] / 1e3 / truth.count,
                0.15,
            )
            self.that(
                mine[r] >= own * cost[r],
                f"{100 * mine[r] / max(cost[r], 1e-9):.0f} % of rank {r}'s delays are called its own, planted 100 %",
            )
