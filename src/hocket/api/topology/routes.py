"""Prints the routing tables of a topology, checked."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import Routing as EngineRouting
from hocket.api.progress import Progress
from hocket.api.reading import load_topology
from hocket.api.result import Result
from hocket.api.topology.files import notes_of
from hocket.api.topology.request import TopologyRoutes
from hocket.base.errors import ExitCode, RequestError
from hocket.base.files import atomic_write, require_place, together, write_json
from hocket.base.text import cell, printable_lines
from hocket.base.units import format_bandwidth
from hocket.topology import FabricRouting, Topology, node_name, read_routing, routing_of
from hocket.topology.naming import spans
from hocket.topology.routing_tables import (
    RoutingTables,
    alike_links,
    links_to_ranks,
    one_path_notes,
    routing_tables,
)

__all__ = ["CheckedRoutes", "routes"]

_MOST_LINES = 200
_UNEVEN = 1.01
_SAME = 1e-9  # parts that differ by less are of one share that did not divide


def routes(request: TopologyRoutes, progress: Progress) -> CheckedRoutes:
    """Finds the tables and checks them. Raises TopologyError for a routing that is none for the topology."""
    for output in (request.csv, request.json):
        if output is not None:
            require_place(output)
    asked = None if request.routing is None else read_routing(request.routing, "--routing").name
    topology = load_topology(request.topology, request.failures)
    if topology.num_ranks < 2:
        raise RequestError(f"{topology.name}: one rank has no routes to others")
    routing = routing_of(topology, asked)
    result = CheckedRoutes(request, topology, routing, routing_tables(topology, routing))
    result.write()
    return result


@dataclass(eq=False, repr=False)
class CheckedRoutes(Result):
    """How a topology routes: `found` has the tables and the loads of links."""

    request: TopologyRoutes
    topology: Topology
    routing: FabricRouting
    found: RoutingTables
    _written: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        found = self.found
        if found.arrived < found.pairs:
            self.warnings = [f"failed: {found.pairs - found.arrived} of {found.pairs} pairs do not arrive"]
        if found.looping:
            where = f"the tables of {self.routing.name} lead around"
            self.warnings = [*self.warnings, f"failed: {where} on the way to rank {spans(found.looping)}"]
        if self.request.balanced:
            self.warnings = [*self.warnings, *self._uneven()]
        self.exit_code = ExitCode.CHECK_FAILED if self.warnings else ExitCode.DONE

    def _uneven(self) -> Iterator[str]:
        """What to say of links that carry more of the all-to-all than those like them."""
        topology, load = self.topology, self.found.all_to_all / self.topology.bandwidth
        alike = alike_links(topology)
        for kind in range(int(alike.max()) + 1):
            links = np.flatnonzero(alike == kind)
            mean, most = load[links].mean(), int(links[load[links].argmax()])
            if load[most] > _UNEVEN * mean:
                name = topology.link_name(most)
                yield f"failed: not balanced: {name} carries {load[most] / mean:.3g} times the mean of links like it"
                yield from self._why_not(links, most)

    def _why_not(self, alike: NDArray[np.int64], link: int) -> Iterator[str]:
        """Why single ways down cannot load these links evenly, where that is so."""
        topology, far = self.topology, links_to_ranks(self.topology)
        node = topology.dst[link]
        if self.routing.policy.engine != EngineRouting.MODULO or far[topology.src[link]] <= far[node]:
            return
        into = alike[topology.dst[alike] == node]
        behind = len(np.unique(self.found.destination[np.isin(self.found.link, into)]))
        if behind % len(into):
            down = f"the {len(into)} links down to {node_name(int(node), topology.num_ranks)}"
            why = f"a rank has one way down, and {behind} are behind it"
            yield f"failed: {self.routing.name} cannot balance {down}: {why}; take spray"

    def headline(self) -> str:
        found = self.found
        loops = f"{len(found.looping)} with loops" if found.looping else "no loops"
        return f"{self.routing.name}: {found.arrived} of {found.pairs} pairs arrive, {loops}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        found, topology = self.found, self.topology
        return {
            "tables": {
                **{"node": found.node, "destination": found.destination, "link": found.link},
                **{"next": topology.dst[found.link], "part": found.part},
            },
            "links": {
                **{"link": np.arange(topology.num_links), "src": topology.src, "dst": topology.dst},
                **{"all_to_all": found.all_to_all, "shift": found.shift},
            },
        }

    def write(self) -> None:
        """The files that the request asks for."""
        with together():
            if self.request.csv is not None:
                columns = self.columns()["tables"]
                with atomic_write(self.request.csv) as file:
                    writer = csv.writer(file, lineterminator="\n")
                    writer.writerow(columns)
                    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
                    writer.writerows([cell(value) for value in row] for row in rows)
                self._written.append(f"wrote {self.request.csv}")
            if self.request.json is not None:
                write_json(self.request.json, self._content())
                self._written.append(f"wrote {self.request.json}")

    def _content(self) -> dict[str, Any]:
        found = self.found
        tables = {
            name: {key: column.tolist() for key, column in table.items()} for name, table in self.columns().items()
        }
        counts = {"pairs": found.pairs, "arrived": found.arrived, "looping": found.looping}
        most = {"most_paths": found.most_paths, "most_links": found.most_links}
        balance: dict[str, Any] = {name: self._balance(load) for name, load in self._loads()}
        balance["shifts"] = self._shifts()
        named = {"topology": self.topology.name, "fingerprint": self.topology.fingerprint, "routing": self.routing.name}
        return {**named, **counts, **most, "balance": balance, **tables, "request": self.request.to_plain()}

    def _loads(self) -> list[tuple[str, NDArray[np.float64]]]:
        return [("all_to_all", self.found.all_to_all), ("shift", self.found.shift)]

    def _balance(self, load: NDArray[np.float64]) -> dict[str, Any]:
        """`bandwidth`: what each rank can send (bytes/s) until the busiest link is full; of each class how many links
        there are, how many idle, and how busy they then are, from 0 to 1."""
        topology = self.topology
        busy = load / topology.bandwidth
        kinds = {}
        for number, name in enumerate(topology.classes):
            of_class = busy[topology.link_class == number] / busy.max()
            idle = int(np.count_nonzero(of_class == 0))
            spread = {"least": of_class.min(), "mean": of_class.mean(), "most": of_class.max()}
            kinds[name] = {"links": len(of_class), "idle": idle, **{key: float(at) for key, at in spread.items()}}
        return {"bandwidth": float(1 / busy.max()), "classes": kinds}

    def _lines(self) -> Iterator[str]:
        found, topology = self.found, self.topology
        yield f"{'topology':<12} {topology.name}"
        yield f"{'routing':<12} {self.routing.name}: {self.routing.policy.summary}"
        asked = self.request.routing is not None
        yield from notes_of((*topology.notes, *(one_path_notes(topology) if asked else ())))
        loops = f"loops on the way to rank {spans(found.looping)}" if found.looping else "no loops"
        yield f"{'pairs':<12} {found.pairs}, {'all' if found.arrived == found.pairs else found.arrived} arrive, {loops}"
        paths = f"up to {found.most_paths} per pair" if found.most_paths > 1 else "one per pair"
        yield f"{'paths':<12} {paths}, up to {found.most_links} links long"
        further = topology.num_ranks // 2
        for name, load in self._loads():
            balance = self._balance(load)
            to = "to all others" if name == "all_to_all" else f"to rank + {further}"
            spread = ", if spread evenly over its paths" if self.routing.policy.chooses else ""
            bandwidth = format_bandwidth(round(balance["bandwidth"]))
            yield f"{name:<12} {bandwidth} per rank {to} fill the busiest link{spread}"
            for kind, at in balance["classes"].items():
                used = f"{at['least']:.1%} to {at['most']:.1%} busy, mean {at['mean']:.1%}"
                label = f"dimension {kind}" if kind.isdecimal() else kind
                yield f"  {label:<10} {at['links']} links, {at['idle']} idle, {used}"
        yield from self._shift_lines()
        lines = list(self._tables())
        yield from lines[:_MOST_LINES]
        if len(lines) > _MOST_LINES:
            yield f"and {len(lines) - _MOST_LINES} lines more: --csv FILE has all"
        yield from self._written

    def _shift_lines(self) -> Iterator[str]:
        """What each rank can send in the worst and the best of all shifts."""
        if (shifts := self._shifts()) is None:
            return
        worst, best = (format_bandwidth(round(shifts[name])) for name in ("least", "most"))
        if worst == best:
            yield f"{'shifts':<12} {worst} per rank in each of the {shifts['shifts']}"
        else:
            by = f"to rank + {shifts['worst']}"
            yield f"{'shifts':<12} {worst} per rank in the worst of the {shifts['shifts']} ({by}), {best} in the best"

    def _shifts(self) -> dict[str, Any] | None:
        """Of all shifts: how many, the bandwidth (bytes/s) of a rank in the worst and the best, which is worst."""
        busy = self.found.shifts
        if not len(busy):
            return None
        bandwidths = {"least": float(1 / busy.max()), "most": float(1 / busy.min())}
        return {"shifts": len(busy), "worst": int(busy.argmax()) + 1, **bandwidths}

    def _tables(self) -> Iterator[str]:
        """Of each node where there is a choice of links: destinations that it sends on alike, a line."""
        topology, found = self.topology, self.found
        degree = np.bincount(topology.src, minlength=topology.num_nodes)
        rows = zip(
            found.node.tolist(), found.destination.tolist(), found.link.tolist(), found.part.tolist(), strict=True
        )
        for node, of_node in groupby(rows, key=lambda row: row[0]):
            if degree[node] == 1:
                continue
            alike: dict[tuple[str, ...], list[int]] = {}
            for destination, entry in groupby(of_node, key=lambda row: row[1]):
                links = [(link, part) for _, _, link, part in entry]
                alike.setdefault(tuple(self._next(links)), []).append(destination)
            for over, destinations in alike.items():
                yield f"{node_name(node, topology.num_ranks)} to {spans(destinations)}: over {', '.join(over)}"

    def _next(self, links: list[tuple[int, float]]) -> Iterator[str]:
        """The nodes that come next, with what part of the traffic each link takes unless all take the same."""
        parts = [part for _, part in links]
        even = max(parts) - min(parts) < _SAME
        for link, part in links:
            node = node_name(int(self.topology.dst[link]), self.topology.num_ranks)
            yield f"{node} (link {link}{'' if even else f', {part:.1%}'})"
