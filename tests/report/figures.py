"""Compares reports with the reference: figures.py PLACE...

PLACE has recordings/, dataset/ by `scorep-nccl table`, and report.json and parquet/ by `scorep-nccl report`. Prints one
line for each PLACE, or what differs."""

import collections
import json
import pathlib
import sys

import reference

EXACT = ["function", "kind", "messages", "bytes", "source", "duration_ns", "fused", "wait_ns", "transfer_ns"]


class Run:
    def __init__(self, place):
        self.report = json.loads((place / "report.json").read_text())
        self.operations = reference.rows(place / "parquet/operations.parquet")
        self.sizes, self.claims = reference.teams(sorted((place / "recordings").iterdir()))
        tables = sorted((place / "dataset").glob("process=*/operations.parquet"))
        self.rows = [reference.rows(table) for table in tables]
        self.calls = []
        for process, rows in enumerate(self.rows):
            for call in reference.calls(rows):
                call.process = process
                self.calls.append(call)
        self.wrong = []
        self.pair()
        self.lists = reference.match(self.calls, self.sizes, self.claims)
        for number, together in enumerate(self.lists):
            for call in together:
                call.number = number

    def differ(self, what, found, expected):
        self.wrong.append(f"{what}: {found} in the report, {expected} in the reference")

    def pair(self):
        """Gives each call its row of the report: of a rank, both are in the order of the host."""
        found, expected = collections.defaultdict(list), collections.defaultdict(list)
        for row in self.operations:
            found[row["communicator"], row["rank"]].append(row)
        for call in self.calls:
            expected[call.comm, call.rank].append(call)
        for rank in found.keys() | expected.keys():
            rows, calls = found[rank], expected[rank]
            if len(rows) != len(calls):
                self.differ(f"calls of {rank}", len(rows), len(calls))
            if len({call.process for call in calls}) > 1:
                # processes that claim one rank are copies here: their calls are alike, on one clock
                rows = sorted(rows, key=lambda row: row["enqueued_ns"])
                calls = sorted(calls, key=lambda call: call.rows[0]["enqueued"])
            for row, call in zip(rows, calls):
                call.row = row
                if row["start_ns"] is not None:
                    call.span = row["start_ns"], row["stop_ns"]

    def check_operations(self):
        occurrences = collections.defaultdict(set)
        for call in self.calls:
            occurrences[call.row["occurrence"]].add(call.number)
        if len(occurrences) != len(self.lists) or any(len(numbers) > 1 for numbers in occurrences.values()):
            self.differ("occurrences", len(occurrences), len(self.lists))
        for together in self.lists:
            compared = reference.transfer(together)
            for call in together:
                expected = {
                    "function": call.function() if call.is_exchange else call.rows[0]["function"],
                    "kind": call.kind(),
                    "messages": len(call.rows) if call.is_exchange else 0,
                    "bytes": call.bytes(),
                    "source": call.source(),
                    "duration_ns": call.duration(),
                    "fused": call.is_fused,
                    "wait_ns": min(compared[0], call.span[1]) - call.span[0] if compared else None,
                    "transfer_ns": compared[1] if compared else None,
                }
                for column in EXACT:
                    if call.row[column] != expected[column]:
                        where = f"{column} of {call.comm} rank {call.rank} order {call.rows[0]['order']}"
                        self.differ(where, call.row[column], expected[column])
                if (call.span is not None) != call.is_timed():
                    self.differ("a begin and end on the GPU", call.span, call.rows[0]["source"])
                self.check_last(together, call)

    def check_last(self, together, call):
        cost = call.row["cost_ns"]
        if cost is None:
            return
        waits = [other.row["wait_ns"] for other in together if other is not call]
        late = call.span[0] - max(other.span[0] for other in together if other is not call)
        if (call.row["wait_ns"], cost, call.row["lateness_ns"]) != (0, sum(waits), late):
            found = call.row["wait_ns"], cost, call.row["lateness_ns"]
            self.differ("wait, cost and lateness of the last rank", found, (0, sum(waits), late))

    def near(self, what, found, expected):
        if (found is None) != (expected is None) or found is not None and abs(found - expected) > 1e-3 * abs(expected):
            self.differ(what, found, expected)

    def check_complete(self):
        rows = [row for of_process in self.rows for row in of_process]
        whole = [together[0].is_whole for together in self.lists]
        expected = {
            "operations": len(rows),
            "untimed": sum(row["source"] not in reference.BY_GPU for row in rows),
            "matched": sum(whole),
            "unmatched": len(whole) - sum(whole),
            "compared": sum(reference.transfer(together) is not None for together in self.lists),
            "unfinished": sum(row["unfinished"] for row in rows),
        }
        for figure, value in expected.items():
            if self.report["complete"][figure] != value:
                self.differ(figure, self.report["complete"][figure], value)

    def check_speed(self):
        rows = self.report["speed"]["known"]["rows"]
        sums = [reference.Speed() for _ in rows]
        for together in self.lists:
            first = min(together, key=lambda call: call.rank)
            moved = max(call.bytes(with_itself=False) for call in together)
            how = [first.rows[0][column] or "" for column in ["algorithm", "protocol"]]
            if first.is_exchange:
                how = [first.row[column] or "" for column in ["algorithm", "protocol"]]
            key = [reference.speed_function(together), first.comm, *how]
            columns = ["function", "comm", "algorithm", "protocol"]
            fits = [
                place
                for place, row in enumerate(rows)
                if [row[column] for column in columns] == key and row["from_bytes"] <= moved <= row["to_bytes"]
            ]
            if len(fits) != 1:
                self.differ(f"rows of speed for {key} with {moved} bytes", len(fits), 1)
                continue
            sums[fits[0]].add(together)
        for row, of_row in zip(rows, sums):
            for figure, value in of_row.row(row["function"], row["nranks"]).items():
                self.near(f"{figure} of {row['function']} {row['comm']} {row['from_bytes']}", row[figure], value)

    def check_late(self):
        compared = [together for together in self.lists if reference.transfer(together)]
        if not compared:
            if "absent" not in self.report["late"]:
                self.differ("waits", "known", "absent")
            return
        waits, kernels = collections.Counter(), set()
        for together in compared:
            for call in together:
                # operations of one kernel wait once
                kernel = call.comm, call.rank, call.rows[0]["kernel"]
                if not call.is_fused or kernel not in kernels:
                    kernels.add(kernel)
                    waits[call.row["gpu"]] += call.row["wait_ns"]
        late = self.report["late"]["known"]
        for gpu, row in zip(self.report["gpus"], late["ranks"]):
            if late["steps"] == 0:
                self.near(f"waits of {gpu}", row["wait_us"], waits[gpu] / 1e3)
            elif not 0 <= row["wait_us"] <= waits[gpu] / 1e3 * 1.001:
                # these are of the steps behind the warm-up alone
                self.differ(f"waits of {gpu} in steps", row["wait_us"], waits[gpu] / 1e3)

    def check_pairs(self):
        """Messages with their receives, and how late senders and receivers came."""
        sends, receives = collections.defaultdict(list), collections.defaultdict(list)
        claims = self.claims
        for call in [call for call in self.calls if call.is_exchange and len(claims[call.comm][call.rank]) == 1]:
            for row in [row for row in call.rows if len(claims[call.comm][row["peer"]]) < 2]:
                if row["function"] == "Send" and row["peer"] != call.rank:
                    sends[call.comm, call.rank, row["peer"]].append((call, row["bytes"]))
                elif row["peer"] != call.rank:
                    receives[call.comm, row["peer"], call.rank].append(call)
        rows = (self.report["pairs"].get("known") or {"rows": []})["rows"]
        found = {(row["comm"], row["rank"], row["peer"]): row for row in rows if row["messages"]}
        matched = {key: list(zip(sends[key], receives[key])) for key in sends.keys() & receives.keys()}
        if found.keys() != {key for key, ends in matched.items() if ends}:
            self.differ("pairs with messages", sorted(found), sorted(matched))
            return
        for key, row in found.items():
            known = [(send, receive) for (send, _), receive in matched[key] if send.row["wait_ns"] is not None]
            spans = [(send.span, receive.span) for send, receive in known]
            for figure, value in {
                "messages": len(matched[key]),
                "message_bytes": sum(bytes for (_, bytes), _ in matched[key]),
                "late_sender_us": sum(max(0, min(a[0], b[1]) - b[0]) for a, b in spans) / 1e3 if spans else None,
                "late_receiver_us": sum(max(0, min(b[0], a[1]) - a[0]) for a, b in spans) / 1e3 if spans else None,
            }.items():
                self.near(f"{figure} of {key}", row[figure], value)

    def check_budget(self):
        for row in (self.report["budget"].get("known") or {"gpus": []})["gpus"]:
            parts = ["waiting_ns", "transferring_ns", "overlapped_ns", "computing_ns", "idle_ns"]
            if sum(row[part] for part in parts) != row["total_ns"]:
                self.differ("a budget", row["total_ns"], sum(row[part] for part in parts))

    def check_breakdown(self):
        """Parts add up; without steps, they are those of a count from one begin or end to the next."""
        budget = self.report["budget"].get("known")
        if budget is None:
            return
        breakdown = budget["breakdown"]
        expected = reference.exposed(self.operations)
        for gpu, times, row in zip(self.report["gpus"], budget["gpus"], breakdown["gpus"], strict=True):
            idle = times["total_ns"] - times["computing_ns"] - times["overlapped_ns"] - sum(row["exposed_ns"])
            if idle != times["idle_ns"]:
                self.differ(f"idle time of {gpu} in the breakdown", idle, times["idle_ns"])
            if not budget["of_steps"]:
                found = {name: ns for name, ns in zip(breakdown["dimensions"], row["exposed_ns"]) if ns}
                if found.keys() != expected[gpu].keys():
                    self.differ(f"dimensions of {gpu}", sorted(found), sorted(expected[gpu]))
                    continue
                for name, ns in found.items():
                    # an even share of a piece is off by a nanosecond at most
                    if abs(ns - expected[gpu][name]) > 2 * len(self.operations):
                        self.differ(f"{name} of {gpu}", ns, float(expected[gpu][name]))


def check(place):
    run = Run(place)
    if not run.wrong:
        run.check_operations()
        run.check_complete()
        run.check_speed()
        run.check_late()
        run.check_pairs()
        run.check_budget()
        run.check_breakdown()
    compared = sum(reference.transfer(together) is not None for together in run.lists) if not run.wrong else 0
    print(f"{place.name}: {len(run.calls)} calls, {len(run.lists)} operations, {compared} compared")
    for line in run.wrong[:20]:
        print("   ", line)
    return not run.wrong


if __name__ == "__main__":
    sys.exit(0 if all([check(pathlib.Path(place)) for place in sys.argv[1:]]) else 1)
