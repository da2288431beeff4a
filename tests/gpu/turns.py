"""Programs that take turns: each is started once, stays, and measures when it is asked, so that what else happens on the
machine hits all settings alike."""

import json
import os
import select
import subprocess
import time


class Program:
    """A program that says `ready`, and answers each line with one line."""

    def __init__(self, name, command, environment, log):
        self.name = name
        with open(log, "w") as file:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": file}
            self._process = subprocess.Popen(command, env={**os.environ, **environment}, **pipes)
        self._log, self._heard = log, b""

    def answer(self, seconds=120):
        """Its next line; a program that says nothing for so long has failed."""
        output = self._process.stdout.fileno()
        while b"\n" not in self._heard:
            if not select.select([output], [], [], seconds)[0]:
                raise RuntimeError(f"{self.name} does not answer: {self.said()}")
            heard = os.read(output, 1 << 16)
            if not heard:
                raise RuntimeError(f"{self.name} has ended: {self.said()}")
            self._heard += heard
        line, self._heard = self._heard.split(b"\n", 1)
        return line.decode()

    def ask(self, line):
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        return self.answer()

    def end(self):
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def kill(self):
        self._process.kill()

    def said(self):
        with open(self._log) as file:
            return file.read()[-2000:]


def take_turns(programs, rounds, turn):
    """`turn` with each program in each round, which begins with another program each time. The answers of each program,
    round by round. All programs have ended then."""
    answers = {program: [] for program in programs}
    try:
        for program in programs:
            while program.answer().strip() != "ready":
                pass
        for start in range(rounds):
            for place in range(len(programs)):
                program = programs[(start + place) % len(programs)]
                answers[program].append(turn(program))
    except BaseException:
        [program.kill() for program in programs]
        raise
    for program in programs:
        program.end()
    return answers


def steady(ask, number, seconds, settled):
    """What `ask(number)` measures in some `seconds`, once it has run for `settled` seconds. It gives a list of how many
    us each took of so many; how many that should be is found out here."""
    end = time.monotonic() + settled
    while True:
        measured = ask(number)
        each = sum(measured) / len(measured) / 1e6
        if time.monotonic() >= end:
            return ask(max(3, round(seconds / each)))
        number = max(1, round(0.2 * settled / each))


def timed(directory):
    """How many operations the summaries of a directory say are GPU-timed: operations, timed, timed by events."""
    totals = [0, 0, 0]
    for name in os.listdir(directory):
        if name.startswith("summary."):
            with open(f"{directory}/{name}") as file:
                rows = json.load(file)["operations"]
            for place, field in enumerate(("count", "gpu_timed", "event_timed")):
                totals[place] += sum(row.get(field, 0) for row in rows)
    return totals
