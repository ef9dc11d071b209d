"""Describes a topology, and draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.reading import load_topology
from hocket.api.result import Result
from hocket.api.topology.files import notes_of
from hocket.api.topology.request import TopologyShow
from hocket.base.errors import RequestError
from hocket.base.files import require_place, together, write_json
from hocket.base.text import printable_lines
from hocket.base.units import format_bandwidth, format_time
from hocket.report.topology_picture import as_html, draw_topology
from hocket.topology import Topology
from hocket.topology.facts import Facts, describe

__all__ = ["TopologyFacts", "show"]


def show(request: TopologyShow, progress: Progress) -> TopologyFacts:
    """Measures the topology, and writes what is wanted of it. Raises RequestError for a picture that is none, and
    TopologyError for a topology that is wrong."""
    if request.output is not None:
        if Path(request.output).suffix not in (".svg", ".html"):
            raise RequestError(f"--output {request.output}: a picture is an .svg or an .html")
        require_place(request.output)
    topology = load_topology(request.topology, request.failures)
    result = TopologyFacts(request, topology, describe(topology))
    result.write()
    return result


@dataclass(eq=False, repr=False)
class TopologyFacts(Result):
    """What a topology is like: `facts` has the numbers."""

    request: TopologyShow
    topology: Topology
    facts: Facts
    _written: list[str] = field(default_factory=list)

    def headline(self) -> str:
        facts = self.facts
        return f"{facts.name}: {facts.ranks} ranks, {self.topology.num_links} links, diameter {_diameter(facts)}"

    def summary(self) -> str:
        rows = (f"{key:<20} {value}" for key, value in _rows(self.facts))
        return printable_lines([*rows, *notes_of(self.facts.notes), *self._written])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("link_class", "count", "bandwidth", "latency_ps")
        return {"links": {name: np.array([getattr(kind, name) for kind in self.facts.links]) for name in names}}

    def _repr_svg_(self) -> str:
        """Its picture, which notebooks show."""
        return draw_topology(self.topology)

    def write(self) -> None:
        """The picture and the facts, where the request wants them."""
        request = self.request
        with together():
            if request.output is not None:
                svg = draw_topology(self.topology)
                page = as_html(self.topology, svg) if request.output.endswith(".html") else svg
                write_page(request.output, page, self)
                self._written.append(f"wrote {request.output}")
            if request.json is not None:
                write_json(request.json, {**asdict(self.facts), "request": request.to_plain()})
                self._written.append(f"wrote {request.json}")


def _rows(facts: Facts) -> Iterator[tuple[str, str]]:
    machines = f" in {facts.machines} nodes" if facts.machines > 1 else ""
    computing = f", {facts.in_network} of them compute" if facts.in_network else ""
    yield "topology", facts.name
    yield "ranks", f"{facts.ranks}{machines}"
    yield "switches", f"{facts.switches}{computing}"
    for at, dimension in enumerate(facts.dimensions):
        degree = f", degree {dimension.degree}" * (dimension.degree > 0)
        yield f"dimension {at}", f"{dimension.kind} of {dimension.size}{degree}"
    for kind in facts.links:
        each = f"{format_bandwidth(kind.bandwidth)}, {format_time(kind.latency_ps)}, class {kind.link_class}"
        yield "links", f"{kind.count} x {each}"
    yield "routing", _routing(facts)
    yield "links out of a rank", _span(facts.out_degree, str)
    yield "into a rank", _span(facts.ingress, format_bandwidth)
    yield "out of a rank", _span(facts.egress, format_bandwidth)
    yield "latency diameter", _diameter(facts)
    yield "tightest cut", f"{facts.cut.ranks} ranks send {format_bandwidth(facts.cut.bandwidth)} in all to the rest"
    yield "all-gather at most", f"{format_bandwidth(facts.all_gather_bandwidth)} of output per rank"


def _routing(facts: Facts) -> str:
    if facts.several_paths:
        return f"{facts.routing}; some pairs have several paths"
    ideal = " (a spine is one node for all of its tier, spread ideally; spines=N makes it N)" * facts.single_spines
    return f"every pair has one path{ideal}"


def _diameter(facts: Facts) -> str:
    at_least = "" if facts.diameter_sources == facts.ranks else "at least "
    return at_least + format_time(facts.diameter_ps)


def _span(pair: tuple[int, int], form: Callable[[int], str]) -> str:
    least, most = map(form, pair)
    return least if least == most else f"{least} to {most}"
