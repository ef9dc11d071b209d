"""`hocket bench peers`: what every peer can do, and its speed and results beside Hocket's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.bench.request import PeersBench
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.files import write_json
from hocket.base.text_table import text_table
from hocket.bench.cpu import cpu_model
from hocket.bench.peers.features import FEATURES, TOOLS, PeerTool
from hocket.bench.peers.figures import UNITS, PeerFigure, PeerProblem, PeerPrograms, recorded_figures
from hocket.bench.peers.overview_page import FIGURE_HEADS, figure_row, with_tables_of_peers, write_page
from hocket.bench.peers.schedulers import scheduler_problems
from hocket.bench.peers.simulators import simulator_problems

__all__ = ["PeersOverview", "compare_peers", "figures_of"]


@dataclass(eq=False, repr=False)
class PeersOverview(Result):
    """The figures, of which ours were measured on a core of `cpu` on `day`."""

    request: PeersBench
    figures: Sequence[PeerFigure]
    cpu: str
    day: str

    def headline(self) -> str:
        states = [figure.state for figure in self.figures]
        counts = ", ".join(f"{states.count(state)} {text}" for state, text in _STATES.items())
        return f"{len(TOOLS) - 1} peers, {len(self.figures)} figures: {counts}; ours on one core of {self.cpu}"

    def summary(self) -> str:
        features = [line for tool in TOOLS for line in (*_feature_lines(tool), "")]
        table = text_table(FIGURE_HEADS, map(figure_row, self.figures), align="<<<>>><")
        return "\n".join([*features, *table, "", self.headline()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        texts = ("peer", "what", "kind", "quantity", "state", "machine", "date", "source")
        numbers = ("theirs", "ours", "ratio")
        rows = {name: np.array([getattr(figure, name) for figure in self.figures]) for name in texts}
        rows |= {name: np.array([getattr(figure, name) for figure in self.figures], float) for name in numbers}
        return {"figures": rows}

    def details(self) -> Mapping[str, Any]:
        tools = [asdict(tool) | {"can": dict(zip(FEATURES, tool.can, strict=True))} for tool in TOOLS]
        return {"cpu": self.cpu, "day": self.day, "tools": tools}


_STATES = {"measured": "with the peer measured beside", "recorded": "recorded", "none": "that cannot be compared"}


def _feature_lines(tool: PeerTool) -> Iterator[str]:
    yield f"{tool.name} {tool.version} ({tool.date}, {tool.licence}): {tool.source}"
    yield from (f"  {name:<20} {can}" for name, can in zip(FEATURES, tool.can, strict=True))


def compare_peers(request: PeersBench, progress: Progress) -> PeersOverview:
    """Measures ours, and the peers that are here, one problem after the other. Raises HocketError for a program that
    cannot be run or says something else, FormatError for a page without the markers."""
    if request.page is not None:
        with_tables_of_peers(Path(request.page), ())  # a page without markers is said before anything is run
    programs = PeerPrograms(
        None if request.astra_sim is None else Path(request.astra_sim),
        None if request.tacos is None else Path(request.tacos),
        request.timeout,
    )
    problems = [*scheduler_problems(), *simulator_problems()]
    order = {tool.name: number for number, tool in enumerate(TOOLS)}
    figures: list[PeerFigure] = []
    for number, problem in enumerate(sorted(problems, key=lambda each: order[each.peer])):
        progress.count(number, len(problems), "problems")
        progress.status(f"{problem.peer}: {problem.what}")
        figures += figures_of(problem, programs)
    result = PeersOverview(request, figures, cpu_model(), datetime.now(UTC).date().isoformat())
    if request.json is not None:
        write_json(request.json, result.as_json())
    if request.page is not None:
        write_page(Path(request.page), result.figures, result.cpu, result.day)
    return result


def figures_of(problem: PeerProblem, programs: PeerPrograms) -> Iterator[PeerFigure]:
    """A figure a quantity: measured where the peer is here, else recorded, else why there is none."""
    ours = problem.ours()
    theirs = problem.theirs(programs) if problem.theirs else {}
    recorded = recorded_figures()
    for quantity, own in ours.items():
        kind, text = UNITS[quantity]
        figure = PeerFigure(problem.peer, problem.what, kind, text, "none", None, own)
        known = recorded.get((problem.name, quantity))
        if quantity in theirs:
            yield _replaced(figure, "measured", theirs[quantity], "this machine", "this run", problem.ran)
        elif known is not None:
            yield _replaced(figure, "recorded", known.value, known.machine, known.date, known.source)
    for quantity, why in problem.lacks.items():
        kind, text = UNITS[quantity]
        yield PeerFigure(problem.peer, problem.what, kind, text, "none", None, None, source=why)


def _replaced(figure: PeerFigure, state: str, theirs: float, machine: str, date: str, source: str) -> PeerFigure:
    return PeerFigure(
        figure.peer, figure.what, figure.kind, figure.quantity, state, theirs, figure.ours, machine, date, source
    )
