"""A report of a job, as a reader and a program get it."""

import json
import os
import re
import subprocess
import sys
import tempfile


class Said:
    """The report of a directory: its text (as at 80 columns) and its JSON."""

    def __init__(self, tool, inputs, *options, json_too=True):
        inputs = [inputs] if isinstance(inputs, str) else inputs
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            extra = ["--json", file.name] if json_too else []
            run = subprocess.run(
                [tool, "report", *inputs, *options, *extra],
                capture_output=True,
                text=True,
                env={**os.environ, "COLUMNS": "80"},
            )
            self.exit, self.text, self.errors = run.returncode, run.stdout, run.stderr
            # beside the line of a case that is wrong
            sys.stderr.write(self.errors)
            body = open(file.name).read() if json_too else ""
        self.json = json.loads(body) if body else None
        flat = lambda part: " ".join(part.split("┌")[0].split())
        cut = re.split(
            r"\n(Which rank is late\?|What does communication cost.*\?|Is the network as fast as it should be\?)\n",
            "\n" + self.text,
        )
        self.first = flat(cut[0])
        answers = {cut[i]: flat(cut[i + 1]) for i in range(1, len(cut) - 1, 2)}
        of = lambda start: next((a for q, a in answers.items() if q.startswith(start)), "")
        self.late, self.cost, self.network = of("Which rank"), of("What does"), of("Is the network")

    def part(self, name):
        return ((self.json or {}).get(name) or {}).get("known")

    def ranks(self):
        """Ranks of the job by place in the JSON's lists."""
        return [int(m[1]) if (m := re.fullmatch(r"rank (\d+)", g)) else None for g in self.json["gpus"]]

    def named(self):
        """Ranks that the first answer calls late: [(rank, share of all own delays or None)]."""
        if not self.late or re.match(r"(No rank|Not known|Nobody|Ranks are late in turn)", self.late):
            return []
        sentences = re.split(r"(?<=[a-z%]\.) ", self.late)
        found = [(int(r), None) for r in re.findall(r"[Rr]ank (\d+)", sentences[0].split(":")[0])]
        for r, share in re.findall(r"Next is rank (\d+), with ([\d.]+) %", self.late):
            found.append((int(r), float(share) / 100))
        return found

    def by_rank(self, field):
        rows = self.part("late")["ranks"]
        return {r: row[field] for r, row in zip(self.ranks(), rows)}

    def found(self):
        """The groups of ranks that stand out, largest gain first: [(ranks, gain in microseconds)]."""
        places = self.ranks()
        return [({places[gpu] for gpu in it["gpus"]}, it["gain_us"]) for it in self.part("stragglers")["found"]]

    def events(self):
        """Pauses: [(rank, step behind the warm-up, microseconds)]."""
        places = self.ranks()
        return [(places[it["gpu"]], it["step"], it["excess_us"]) for it in self.part("stragglers")["events"]]

    def parts_of_network(self):
        """Slow parts of the network: [(kind, ranks, gain in microseconds)]."""
        places = self.ranks()
        slow = (self.part("pairs") or {"slow": []})["slow"]
        return [(it["kind"], {places[gpu] for gpu in it["gpus"]}, it["gain_us"]) for it in slow]

    @staticmethod
    def gains(answer):
        """What an answer says of a step: [(microseconds less, at most so far off by rounding)]."""
        found, units = [], {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
        for texts in re.findall(r"would take ([\d.,]+) (ns|us|ms|s) instead of ([\d.,]+) (ns|us|ms|s)", answer):
            without, usual = (
                (float(n.replace(",", "")) * units[u], 0.5 * units[u] / 10 ** len(n.partition(".")[2]))
                for n, u in (texts[:2], texts[2:])
            )
            found.append((usual[0] - without[0], usual[1] + without[1]))
        return found

    def slow_pairs(self):
        pairs, ranks = self.part("pairs"), self.ranks()
        of = lambda place, rank: ranks[place] if place is not None else rank
        return sorted(
            (of(p["from"], p["rank"]), of(p["to"], p["peer"])) for p in (pairs or {"rows": []})["rows"] if p["slow"]
        )
