"""A class on one server: forty students, each acting every five to ten seconds, and how long they wait.

Half of them follow a lecture, so the same link is opened by all of them within ten seconds; the other half type texts
of their own, each with a mark that no other student's text holds. Every message that a student receives is searched for
the marks of others. The table gives, by kind of act, the seconds until the page is complete (p50, p95, p99) and
the megabytes of its messages.

    python -m core bench classroom
    python benchmarks/classroom.py --minutes 30     does memory grow? With --leave 60: is it given back?
    python benchmarks/classroom.py --acts 10000     again after so many acts without a pause: does the server age?
    python benchmarks/classroom.py --capacity       the number of students at which p95 passes 1.5 s
    python benchmarks/classroom.py --cold           the models load while the class begins
    python benchmarks/classroom.py --tabs 2         two of the class in Chromium, in a table of their own

The students are threads of this process: the server's own share of the processors is printed, so that one sees what the
measuring costs. Locust would bring its reports and several load generators, but no client for a protocol of protobuf
messages over one long WebSocket: the client below and its timing would be the same, inside gevent, and one process is
far from busy with a class. So it is not used.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from _app import App, app, chromium
from _harness import goal
from _visitor import Tab, Visitor, megabytes, sentence

PACE = (5.0, 10.0)
"""Seconds that a student reads between two acts."""
LECTURE = 10.0
"""Seconds for which the lecture stays with one link."""
MARK = re.compile(rb"(?i)zq(\d{4})zq")
WAIT, MIDDLE, WIRE = 1.5, 0.4, 1.0
"""Goals: seconds of p95 and p50, and megabytes of a first answer."""
MEMORY, GROWTH, LEFT = 2_500.0, 1.05, 1.1
"""Goals: megabytes at most, those at the end over those after ``SETTLED`` minutes, and over those at the start."""
SETTLED = 5.0

Act = Callable[[Visitor | Tab, str, int], None]
"""Does one thing with a text's first words and a number that tells it from all others."""


def masked(who: Visitor | Tab, mark: str, n: int) -> None:
    """A text of one's own is typed over the sample."""
    if n % 2:
        who.open("encoder", text=f"The {mark}{sentence(n, 6)} is a [MASK].")
    else:
        who.open("encoder")
        who.type(f"A {mark}{sentence(n, 7)} was the [MASK].")


READ: tuple[tuple[str, dict[str, str]], ...] = (
    ("glossary", {}),
    ("catalogue", {}),
    ("catalogue", {"tab": "questions"}),
    ("catalogue", {"tab": "models"}),
    ("glossary", {"tab": "corrections"}),
    ("catalogue", {"tab": "table", "pins": "bert,gpt-2,t5"}),
    ("home", {}),
)
SYSTEMS = ("bert", "roberta", "albert", "electra", "xlm-r")

KINDS: dict[str, Act] = {
    "masked token": masked,
    "one head": lambda who, mark, n: who.open("attention", tab="heads", text=mark + sentence(n, 12), layer=n % 6 + 1),
    "all heads": lambda who, mark, n: who.open("attention", tab="all", text=mark + sentence(n, 20)),
    "generation": lambda who, mark, n: who.open("generation", text=f"One {mark}{sentence(n, 5)}", length=24),
    "translation": lambda who, mark, n: who.open("encoder-decoder", text=f"The {mark}{sentence(n, 5)} is old."),
    "objectives": lambda who, mark, n: who.open("objectives", text=mark + sentence(n, 12), seed=n % 50),
    "tree": lambda who, mark, n: who.open("encoder", tab="tree", system=SYSTEMS[n % len(SYSTEMS)]),
    "reading": lambda who, mark, n: who.open(READ[n % len(READ)][0], **READ[n % len(READ)][1]),
}


@dataclass
class Tally:
    """What a class met: seconds and bytes of each act by kind, errors, and texts that reached the wrong student."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    size: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    errors: list[str] = field(default_factory=list)
    strays: set[tuple[int, int]] = field(default_factory=set)
    echoes: set[int] = field(default_factory=set)
    """Students who received their own text: without them, no stray would mean nothing."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Minutes since the class began, and the server's megabytes then."""

    @property
    def all(self) -> list[float]:
        """The seconds of all acts."""
        return [second for many in self.seconds.values() for second in many]

    def p95(self) -> float:
        """Seconds that 95% of all acts take at most."""
        return percentile(self.all, 95)

    def table(self) -> str:
        """One row for each kind, and one for all."""
        rows = [f"{'kind':<14}{'acts':>6}{'p50':>9}{'p95':>9}{'p99':>9}{'wire, p50':>12}{'at most':>10}"]
        for kind, seconds in (*self.seconds.items(), ("all", self.all)):
            sizes = self.size.get(kind) or [size for many in self.size.values() for size in many]
            if seconds:
                times = "".join(f"{percentile(seconds, share):>7.2f} s" for share in (50, 95, 99))
                wire = f"{statistics.median(sizes) / 1e6:>9.2f} MB{max(sizes) / 1e6:>7.2f} MB"
                rows.append(f"{kind:<14}{len(seconds):>6}{times}{wire}")
        return "\n".join(rows)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` percent do not exceed; not a number where there is none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)] if ordered else float("nan")


class Student:
    """One of the class, in a session of their own."""

    def __init__(self, server: App, number: int, tally: Tally, follows: bool, lecture: int = 0) -> None:
        self._number, self._tally, self._follows, self._lecture = number, tally, follows, lecture
        self._visit: Callable[[], Visitor | Tab] = lambda: Visitor(server, self._search)
        self._visitor: Visitor | Tab | None = None
        self._dice = random.Random(number)

    def act(self, n: int, lecture: int) -> None:
        """Open the ``lecture``'s link, or do something with the ``n``-th text; what goes wrong is written down."""
        kind = list(KINDS)[(lecture if self._follows else n) % len(KINDS)]
        mark = "" if self._follows else f"zq{self._number:04}zq "
        visitor = self._visitor = self._visitor or self._visit()
        before, begun = visitor.received, time.perf_counter()
        try:
            KINDS[kind](visitor, mark, lecture if self._follows else 1_000 * self._number + n)
        except Exception as error:  # an act that fails is a result
            self._tally.errors.append(f"{kind}: {type(error).__name__}: {error}")
            self.leave()
            return
        self._tally.seconds[kind].append(time.perf_counter() - begun)
        self._tally.size[kind].append(visitor.received - before)

    def attend(self, begun: float, end: float) -> None:
        """Act again and again, with pauses, until ``end`` on the clock of ``time.monotonic``."""
        time.sleep(self._dice.uniform(0, PACE[1]))
        n = self._dice.randrange(len(KINDS))
        while time.monotonic() < end:
            self.act(n, self._lecture + int((time.monotonic() - begun) / LECTURE))
            n += 1
            time.sleep(self._dice.uniform(*PACE))
        self.leave()

    def attend_in_chromium(self, server: App, begun: float, end: float) -> None:
        """As :meth:`attend`, in a browser of one's own."""
        with chromium() as browser:
            if browser is not None:
                self._visit = lambda: Tab(server, browser, self._search)
                self.attend(begun, end)

    def leave(self) -> None:
        """Close the tab."""
        if self._visitor is not None:
            self._visitor.close()
            self._visitor = None

    def _search(self, message: bytes) -> None:
        for mark in map(int, MARK.findall(message)):
            if mark == self._number:
                self._tally.echoes.add(mark)
            else:
                self._tally.strays.add((self._number, mark))


def threads(server: App) -> int:
    """How many threads the server has; -1 where the system does not say."""
    try:
        return len(list(Path(f"/proc/{server.pid}/task").iterdir()))
    except OSError:
        return -1


def warm(server: App) -> None:
    """One visitor opens each link of the class once, so that all models are loaded."""
    tally = Tally()
    student = Student(server, 9999, tally, follows=False)
    for n in range(2 * len(KINDS)):
        student.act(n, 0)
    student.leave()
    assert not tally.errors, tally.errors


def attended(server: App, students: int, minutes: float, tabs: int = 0, first: int = 0) -> Tally:
    """A class of so many, for so long, of whom ``tabs`` sit before a Chromium; its tables are printed.

    The students are numbered from ``first``: their texts, and the lecture's, are those of no other number.

    Returns:
        What those without a browser met: how long Chromium takes to draw hangs on the machine that it shares.
    """
    tally, in_chromium, begun = Tally(), Tally(), time.monotonic()
    load, own = time.process_time(), server.processor_seconds()
    end = begun + 60 * minutes
    at_work = []
    for number in range(students):
        student = Student(
            server, first + number, in_chromium if number < tabs else tally, follows=number % 2 == 0, lecture=first
        )
        act, arguments = (student.attend, ()) if number >= tabs else (student.attend_in_chromium, (server,))
        at_work.append(threading.Thread(target=act, args=(*arguments, begun, end), daemon=True))
    for thread in at_work:
        thread.start()
    for thread in at_work:
        while thread.is_alive():
            thread.join(0.5)
            tally.memory.append(((time.monotonic() - begun) / 60, megabytes(server)))
    # A model may translate a mark into another number: what counts is a number of the class.
    for one in (tally, in_chromium):
        one.strays = {(to, mark) for to, mark in one.strays if first <= mark < first + students}
    spent = time.monotonic() - begun
    print(
        f"\n{students} students for {minutes:g} minutes: {len(tally.all)} acts, {len(tally.all) / spent:.1f} a second"
    )
    print(tally.table())
    if tabs:
        print(f"{tabs} of them in Chromium, each act a page load: {len(in_chromium.all)} acts\n{in_chromium.table()}")
    tally.errors += in_chromium.errors
    tally.strays |= in_chromium.strays
    tally.echoes |= in_chromium.echoes
    print(
        f"errors {len(tally.errors)}, texts of others received {len(tally.strays)} (own by {len(tally.echoes)})\n"
        f"memory {megabytes(server):,.0f} MB, at most {max(many for _, many in tally.memory):,.0f} MB; "
        f"{threads(server)} threads; processors: server "
        f"{(server.processor_seconds() - own) / spent:.2f}, students {(time.process_time() - load) / spent:.2f}",
        flush=True,
    )
    for error in sorted(set(tally.errors))[:5]:
        print(f"  {error[:200]}")
    return tally


def grows(tally: Tally) -> bool:
    """Whether memory stands still after the first minutes: the median of a minute then and of the last one."""
    last = tally.memory[-1][0]
    then, now = (
        statistics.median(many for minute, many in tally.memory if since <= minute <= since + 1)
        for since in (SETTLED, last - 1)
    )
    print(f"memory after {SETTLED:g} minutes {then:,.0f} MB, after {last:.0f} minutes {now:,.0f} MB")
    return goal("memory at the end over that after the first minutes", now / then, GROWTH, "times")


def hurry(server: App, acts: int, at_once: int = 8) -> bool:
    """So many acts of eight students without a pause; whether the last tenths cost the server what the first ones did.

    Seconds on the clock hang on what else the machine does; compared is what the server had the processors for.
    """
    tally = Tally()
    crowd = [Student(server, number, tally, follows=False) for number in range(5000, 5000 + at_once)]
    cost, begun = [], time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        for tenth in range(10):
            numbers, before = iter(range(tenth * acts // 10, (tenth + 1) * acts // 10)), server.processor_seconds()
            lock = threading.Lock()

            def work(student: Student, numbers: Iterator[int] = numbers, lock: threading.Lock = lock) -> None:
                while True:
                    with lock:
                        n = next(numbers, None)
                    if n is None:
                        return
                    student.act(n, 0)

            list(pool.map(work, crowd))
            cost.append((server.processor_seconds() - before) / (acts / 10) * 1e3)
            print(
                f"{(tenth + 1) * acts // 10:>7,} acts  {time.monotonic() - begun:>5.0f} s  "
                f"{cost[-1]:>4.0f} ms of processor each  {megabytes(server):,.0f} MB",
                flush=True,
            )
    for student in crowd:
        student.leave()
    print(f"{len(tally.errors)} errors {sorted(set(tally.errors))[:3]}")
    return goal("the server's time for an act at last over that at first", sum(cost[-3:]) / sum(cost[:3]), 1.2, "times")


def capacity(server: App, minutes: float) -> int:
    """The largest class that waits at most ``WAIT`` seconds in 95 of 100 acts, to within a tenth."""
    good, bad, first = 0, 0, 0
    while not bad or bad - good > max(1, good // 10):
        students = (good + bad) // 2 if bad else 2 * good or 10
        if attended(server, students, minutes, first=first).p95() <= WAIT:
            good = students
        else:
            bad = students
        first += students
    return good


def judged(tally: Tally, students: int) -> bool:
    """The goals of one class, printed."""
    silent = students // 2 - len(tally.echoes)
    sizes = [size for many in tally.size.values() for size in many]
    reached = [
        goal("p50 of an act", percentile(tally.all, 50), MIDDLE, "s"),
        goal("p95 of an act", tally.p95(), WAIT, "s"),
        goal("the largest answer on the wire", max(sizes, default=0) / 1e6, WIRE, "MB"),
        goal("memory", max(many for _, many in tally.memory), MEMORY, "MB"),
        goal("errors", len(tally.errors), 0, "acts"),
        goal("texts that reached another student", len(tally.strays), 0, "texts"),
        goal("students who never received their own text", silent, 0, "students"),
    ]
    return all(reached)


def main(arguments: Sequence[str] | None = None) -> bool:
    """Run what the command line asks for; whether the goals are reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--acts", type=int, default=0, help="measure again after so many acts without a pause")
    parser.add_argument("--capacity", action="store_true", help="find the largest class that need not wait")
    parser.add_argument("--cold", action="store_true", help="let the models load while the class begins")
    parser.add_argument("--tabs", type=int, default=0, help="how many of the class use Chromium")
    parser.add_argument("--leave", type=float, default=0, help="minutes to wait after all left, then memory again")
    chosen = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with app() as server:
        server.wait()
        print(f"memory at the start {megabytes(server):,.0f} MB")
        if not chosen.cold:
            warm(server)
        start = megabytes(server)
        print(f"memory as the class begins {start:,.0f} MB", flush=True)
        if chosen.capacity:
            print(f"p95 stays within {WAIT} s up to {capacity(server, chosen.minutes)} students")
            return True
        first = attended(server, chosen.students, chosen.minutes, chosen.tabs)
        good = judged(first, chosen.students)
        if chosen.minutes > SETTLED + 1:
            good &= grows(first)
        if chosen.leave:
            time.sleep(60 * chosen.leave)
            good &= goal(
                f"memory {chosen.leave:g} minutes after all left over that at the start",
                megabytes(server) / start,
                LEFT,
                "times",
            )
        if chosen.acts:
            good &= hurry(server, chosen.acts)
            aged = attended(server, chosen.students, chosen.minutes, chosen.tabs, first=1000)
            good &= goal(f"p95 after {chosen.acts:,} acts over that at first", aged.p95() / first.p95(), 1.2, "times")
            good &= judged(aged, chosen.students)
    return good


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
