"""The goals, and how far each is reached: every one a figure of one run against another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.contender import FLOOR, FLOOR_FULL, PEERS, RONDEL, RONDEL_FULL, Contender
from benchmarks.measurement import Measurement
from benchmarks.process import Absent
from benchmarks.results import Results, Series
from benchmarks.words import number, ratio, size
from benchmarks.workload import BY_ID, Workload

FLAT = 1.3
"""What still counts as flat, on a machine that is never quiet."""

NOTHING = 1.1
"""What still counts as no cost."""


@dataclass(frozen=True, slots=True)
class Reached:
    """One goal, in words, and whether it is met; None if it was not measured."""

    what: str
    figures: str
    reached: str
    goal: str
    met: bool | None


def at_most(what: str, figures: str, value: float, most: float, of: str = "") -> Reached:
    """A ratio that should be small."""
    return Reached(what, figures, ratio(value) + of, f"at most {most:g} ×", value <= most)


class Goals:
    """The goals over what was measured; peers that were not are taken from an earlier run."""

    def __init__(self, results: Results, earlier: Results) -> None:
        self._results = results
        self._earlier = earlier

    def all(self) -> Iterator[Reached]:
        """Every goal of which something was measured, in the order of the workloads."""
        parts: list[tuple[str, Callable[[], Iterator[Reached]]]] = [
            ("W1", self._loop),
            ("W2", self._history),
            ("W3", self._durable),
            ("W4", self._fan_out),
            ("W5", self._sessions),
            ("W6", self._events),
        ]
        for name, part in parts:
            if name in self._results.series:
                yield from part()
        yield from self._start()
        yield from self._graphs()
        yield from self._models()

    # Workloads

    def _loop(self) -> Iterator[Reached]:
        for rounds in self._sizes("W1"):
            yield from self._beside_peer("W1", rounds, f"W1 loop, {rounds:,} rounds", 0.2)
        yield from self._flat("W1", "W1 flat")

    def _history(self) -> Iterator[Reached]:
        common = [rounds for rounds in self._sizes("W2") if rounds in self._sizes("W1")]
        for rounds in common:
            mine, plain = self._figure("W2", RONDEL, rounds), self._figure("W1", RONDEL, rounds)
            if mine is not None and plain:
                figures = f"{number(mine)} µs, W1 {number(plain)} µs"
                what = f"W2 history, {rounds:,} rounds"
                yield at_most(what, figures, mine / plain, FLAT, " of W1")
        yield from self._flat("W2", "W2 flat")

    def _durable(self) -> Iterator[Reached]:
        for rounds in self._sizes("W3"):
            for title, mine, floor, most in (
                ("normal", RONDEL, FLOOR, 2.0),
                ("full", RONDEL_FULL, FLOOR_FULL, 1.5),
            ):
                own, bare = self._figure("W3", mine, rounds), self._figure("W3", floor, rounds)
                if own is not None and bare:
                    figures = f"{number(own)} µs, floor {number(bare)} µs"
                    what = f"W3 durable {title}, {rounds:,} rounds"
                    yield at_most(what, figures, own / bare, most)
        yield from self._bytes()
        shared = self._results.probes.get("shared_commits")
        if shared:
            gain = shared["hundred"] / shared["one"]
            figures = f"{shared['hundred']:,.0f} steps/s, one {shared['one']:,.0f}"
            yield Reached("W3 100 sessions", figures, ratio(gain), "at least 10 ×", gain >= 10)

    def _bytes(self) -> Iterator[Reached]:
        series = self._results.series["W3"]
        for rounds in self._sizes("W3"):
            own, bare = series.disk(RONDEL, rounds), series.disk(FLOOR, rounds)
            if own and bare:
                figures = f"{size(own)}, floor {size(bare)}"
                yield at_most(f"W3 on disk, {rounds:,} rounds", figures, own / bare, 2.0)

    def _fan_out(self) -> Iterator[Reached]:
        for times in self._sizes("W4"):
            yield from self._beside_peer("W4", times, f"W4 fan-out, {times:,} times", 0.1)

    def _sessions(self) -> Iterator[Reached]:
        for count in self._sizes("W5"):
            own, bare = self._figure("W5", RONDEL, count), self._figure("W5", FLOOR, count)
            if own is not None and bare:
                figures = f"{own:.2f} s, asyncio {bare:.2f} s"
                yield at_most(f"W5 {count:,} sessions", figures, own / bare, 2.0)
        waiting = self._results.probes.get("waiting")
        if waiting:
            count = int(waiting["sessions"])
            each, seconds = waiting["bytes each"], waiting["seconds to answer"]
            what = f"W5 {count:,} waiting"
            yield Reached(f"{what}, memory", "", size(each), "under 1 kB", each < 1_000)
            pace = seconds / count * 10_000
            met = pace < 10
            yield Reached(f"{what}, answered", "", f"{pace:.1f} s for 10,000", "seconds", met)

    def _events(self) -> Iterator[Reached]:
        for rounds in self._sizes("W6"):
            own, bare = self._figure("W6", RONDEL, rounds), self._figure("W6", FLOOR, rounds)
            if own is not None and bare:
                what, floor = f"W6 events, {rounds:,} rounds", f"floor {bare:,.0f}/s"
                met = own > 100_000
                yield Reached(what, floor, f"{own:,.0f}/s", "over 100,000/s", met)
        slow = self._results.probes.get("slow_consumer")
        if slow:
            figures = f"{number(slow['watched'])} µs, alone {number(slow['alone'])} µs"
            cost = slow["watched"] / slow["alone"]
            what = "W6 slow consumer"
            yield Reached(what, figures, ratio(cost), "nothing", cost <= NOTHING)

    def _start(self) -> Iterator[Reached]:
        start = self._results.probes.get("start")
        if start:
            base = start["import pydantic"]
            for what, most in (("import rondel", 1.5), ("rondel --help", 3.0)):
                figures = f"{start[what] * 1e3:.0f} ms, import pydantic {base * 1e3:.0f} ms"
                yield at_most(what, figures, start[what] / base, most)

    def _graphs(self) -> Iterator[Reached]:
        compiled = self._results.probes.get("compiling")
        if compiled:
            seconds = compiled["compile"]
            figures = f"with loading {compiled['load, check and compile']:.1f} s"
            what = "compile 100,000 nodes"
            yield Reached(what, figures, f"{seconds:.2f} s", "under 2 s", seconds < 2)
        checked = self._results.probes.get("check")
        if checked:
            seconds = checked["seconds"]
            what = "rondel check, 1,000 nodes"
            yield Reached(what, "", f"{seconds:.2f} s", "under 0.5 s", seconds < 0.5)
        written = self._results.probes.get("yaml_loop")
        if written:
            figures = f"{number(written['yaml'])} µs, Python {number(written['python'])} µs"
            yield at_most("loop in YAML", figures, written["yaml"] / written["python"], 2.0)

    def _models(self) -> Iterator[Reached]:
        taken = self._results.probes.get("bridge")
        if taken:
            for how, words in (("streaming", "400 chunks"), ("whole", "not streaming")):
                own, bare, between = (
                    taken[f"{who}, {how}"] for who in ("bridge", "client", "library")
                )
                figures = f"{own:.2f} ms, openai {bare:.2f} ms, pydantic-ai {between:.2f} ms"
                yield at_most(f"model call, {words}", figures, own / bare, 1.2)

    # Figures

    def _sizes(self, name: str) -> list[int]:
        series = self._results.series.get(name)
        return sorted(series.cells.get(RONDEL.name, {})) if series else []

    def _figure(self, name: str, contender: Contender, size: int) -> float | None:
        figure = self._results.series[name].figure(contender, size, BY_ID[name])
        return None if isinstance(figure, Absent) else figure

    def _flat(self, name: str, what: str) -> Iterator[Reached]:
        sizes = self._sizes(name)
        if len(sizes) > 1:
            first, last = (self._figure(name, RONDEL, size) for size in (sizes[0], sizes[-1]))
            if first and last:
                figures = f"{sizes[0]:,} rounds to {sizes[-1]:,}"
                yield at_most(what, figures, last / first, FLAT)

    def _beside_peer(self, name: str, size: int, what: str, most: float) -> Iterator[Reached]:
        own = self._results.series[name].figure(RONDEL, size, BY_ID[name])
        if isinstance(own, Absent):
            yield Reached(what, "", own.word, f"at most {most:g} ×", False)
            return
        peer = fastest(self._results, self._earlier, BY_ID[name], size)
        if peer is None:
            yield Reached(what, f"{number(own)} µs", "", f"at most {most:g} × the best peer", None)
            return
        title, figure = peer
        figures = f"{number(own)} µs, {title} {number(figure)} µs"
        yield at_most(what, figures, own / figure, most)


def fastest(
    now: Results, earlier: Results, workload: Workload, size: int
) -> tuple[str, float] | None:
    """The fastest peer at a size or below, as measured now or else earlier.

    An earlier figure is scaled by what the floor took then and takes now.
    """
    series = now.series[workload.id]
    found = _fastest(series, workload, size)
    if found is not None or workload.id not in earlier.series:
        return found
    before = earlier.series[workload.id]
    found = _fastest(before, workload, size)
    pace = _floor_pace(series, workload), _floor_pace(before, workload)
    if found is None or pace[0] is None or pace[1] is None:
        return found
    return found[0], found[1] * pace[0] / pace[1]


def _fastest(series: Series, workload: Workload, size: int) -> tuple[str, float] | None:
    sizes = [less for less in sorted(workload.sizes, reverse=True) if less <= size]
    for less in sizes:
        figures = [(series.figure(peer, less, workload), peer.title) for peer in PEERS]
        known = [(value, title) for value, title in figures if not isinstance(value, Absent)]
        if known:
            value, title = min(known)
            return title, value
    return None


def _floor_pace(series: Series, workload: Workload) -> float | None:
    common = workload.sizes[-1]
    floor = series.best(FLOOR, common, workload.clock)
    return floor.per_step(workload.clock) if isinstance(floor, Measurement) else None
