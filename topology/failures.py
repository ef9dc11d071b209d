"""What is left of a topology when nodes and links fail, or links degrade."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, TopologyError
from hocket.topology.model import Topology
from hocket.topology.naming import node_name, spans
from hocket.topology.part_names import NODE_NAME, fabric_links, node_called

__all__ = ["degrade", "share", "without"]

_Mask = NDArray[np.bool_]
_IN_MACHINE = r"[0-9]{1,9}\.[0-9]{1,9}"
_FORMS = {
    "npu": r"[0-9]{1,9}",
    "switch": NODE_NAME,
    "link": rf"{NODE_NAME}->?{NODE_NAME}",
    "gpu": _IN_MACHINE,
    "nic": _IN_MACHINE,
}


def without(topology: Topology, failures: Iterable[str]) -> Topology:
    """The topology after failures such as `npu:7,9`, `switch:16`, `link:3-4` (both directions) and `link:3->4`, by node
    ids as in the whole topology, or by what people call them: `gpu:1.3`, `nic:0.2` (machine, place in it),
    `switch:spine1`, `link:leaf0-spine1` (`hocket.topology.part_names`).

    What is left is numbered anew, in the same order; a note says which rank was which. Dimensions survive as long as
    all ranks do. Raises FormatError for what is no failure, TopologyError when a node or link is not there, fewer than
    two ranks are left, or the rest falls apart: with the ranks on both sides.
    """
    failures = list(failures)
    gone = np.zeros(topology.num_nodes, np.bool_)
    cut = np.zeros(topology.num_links, np.bool_)
    for failure in failures:
        nodes, links = _chosen(topology, failure, failure)
        gone |= nodes
        cut |= links
    kept = ~(cut | gone[topology.src] | gone[topology.dst])
    old = np.flatnonzero(~gone)
    new = np.cumsum(~gone) - 1
    ranks = old[old < topology.num_ranks]
    if len(ranks) < 2:
        left = f"only {node_name(int(ranks[0]), topology.num_ranks)} is left" if len(ranks) else "no rank is left"
        raise TopologyError(f"{topology.name} without {', '.join(failures)}: {left}; it takes two")
    all_ranks = len(ranks) == topology.num_ranks
    rest = replace(
        topology,
        name=f"{topology.name} without {', '.join(failures)}",
        num_ranks=len(ranks),
        num_nodes=len(old),
        src=new[topology.src[kept]].astype(np.int32),
        dst=new[topology.dst[kept]].astype(np.int32),
        latency_ps=topology.latency_ps[kept],
        bandwidth=topology.bandwidth[kept],
        link_class=topology.link_class[kept],
        machine=topology.machine[ranks],
        dimensions=topology.dimensions if all_ranks else (),
        notes=topology.notes if all_ranks else (*topology.notes, _renumbered(ranks)),
        cluster=(),  # a library would find other paths in what is left
        in_network=tuple(int(new[switch]) for switch in topology.in_network if not gone[switch]),
    )
    for way, graph in (("get to", rest), ("be reached from", rest.reversed())):
        reached = _reached(graph, 0)[: rest.num_ranks]
        if not reached.all():
            sides = spans(ranks[reached]), spans(ranks[~reached])
            raise TopologyError(f"{rest.name} falls apart: ranks {sides[0]} cannot {way} ranks {sides[1]}")
    return rest


def degrade(topology: Topology, degradations: Iterable[str]) -> Topology:
    """The topology with less bandwidth: `link:3-4=0.5` leaves half of it, `npu:7=0.25` and `switch:16=0.25` do so to
    all links of a node, `nvlink=0.5` to those of a class. Where several name a link, it suffers from all of them.

    Raises FormatError for what is no degradation or has a factor outside (0, 1], TopologyError when a node or link is
    not there or less than 1 B/s is left.
    """
    return _scaled(
        topology, list(degradations), "degraded", "the part of the bandwidth that is left", lambda part: part
    )


def share(topology: Topology, loads: Iterable[str]) -> Topology:
    """The topology with the bandwidth that others leave: `link:3-4=0.3` takes 0.3 of it, `nvlink=0.2` that of all links
    of a class, `npu:7=0.1` of all links of a node. Raises as `degrade`."""
    return _scaled(topology, list(loads), "with load", "the part of the bandwidth that is taken", lambda part: 1 - part)


def _scaled(
    topology: Topology, changes: list[str], word: str, expected: str, left: Callable[[Fraction], Fraction]
) -> Topology:
    bandwidth = topology.bandwidth.copy()
    for change in changes:
        what, _, text = change.partition("=")
        if not re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,9}", text) or not 0 < left(Fraction(text)) <= 1:
            raise FormatError(f"'{change}': expected {expected}, as in link:3-4=0.5")
        if what in topology.classes:
            links = topology.link_class == topology.classes.index(what)
        else:
            nodes, links = _chosen(topology, what, change)
            links |= nodes[topology.src] | nodes[topology.dst]
        bandwidth[links] = [int(value * left(Fraction(text))) for value in bandwidth[links].tolist()]
    if (lost := np.flatnonzero(bandwidth < 1)).size:
        raise TopologyError(f"{', '.join(changes)}: nothing is left of {topology.link_name(int(lost[0]))}")
    return replace(topology, name=f"{topology.name} {word} {', '.join(changes)}", bandwidth=bandwidth)


def _chosen(topology: Topology, text: str, whole_text: str) -> tuple[_Mask, _Mask]:
    """The nodes and the links that the text names; `whole_text`: what was asked for, for errors."""
    nodes, links = np.zeros(topology.num_nodes, np.bool_), np.zeros(topology.num_links, np.bool_)
    what, _, names = text.partition(":")
    form = _FORMS.get(what, "")
    for name in names.split(","):
        if not form or not re.fullmatch(form, name.strip()):
            raise FormatError(
                f"'{whole_text}': expected npu:7,9 or switch:16 or link:3-4 or, one way only, link:3->4; or by name "
                "gpu:1.3, nic:0.2 (machine, place in it), switch:spine1, link:leaf0-spine1"
            )
        called = [f"{what}{name.strip()}"] if what in ("gpu", "nic") else re.findall(NODE_NAME, name)
        ids = [node_called(topology, node, text) for node in called]
        for node in ids:
            if node >= topology.num_nodes:
                raise TopologyError(f"'{text}': {topology.name} has no node {node}, only 0 to {topology.num_nodes - 1}")
        if what == "link":
            links |= _between(topology, text, ids[0], ids[1], both=">" not in name)
            continue
        if what == "nic" and ids[0] < topology.num_ranks:  # the GPU's own port: only that fails
            links |= fabric_links(topology) & ((topology.src == ids[0]) | (topology.dst == ids[0]))
            continue
        if what in ("npu", "switch") and (what == "npu") != (ids[0] < topology.num_ranks):
            raise TopologyError(f"'{text}': node {ids[0]} of {topology.name} is {_kind(topology, ids[0])}")
        nodes[ids[0]] = True
    return nodes, links


def _between(topology: Topology, text: str, src: int, dst: int, *, both: bool) -> _Mask:
    links: _Mask = (topology.src == src) & (topology.dst == dst)
    if both:
        links |= (topology.src == dst) & (topology.dst == src)
    if not links.any():
        names = [node_name(node, topology.num_ranks) for node in (src, dst)]
        linked = np.unique(topology.dst[topology.src == src])
        raise TopologyError(
            f"'{text}': there is no link from {names[0]} to {names[1]}; {names[0]} has links to nodes {spans(linked)}"
        )
    return links


def _kind(topology: Topology, node: int) -> str:
    if node < topology.num_ranks:
        switches = range(topology.num_ranks, topology.num_nodes)
        return f"an NPU; the switches are nodes {spans(switches)}" if switches else "an NPU, and it has no switches"
    return f"a switch; the NPUs are nodes {spans(range(topology.num_ranks))}"


def _renumbered(ranks: NDArray[np.int64]) -> str:
    """Which rank was which: runs of ranks that moved alike."""
    starts = np.flatnonzero(np.diff(ranks, prepend=-1) > 1)
    ends = np.append(starts, len(ranks))[1:] - 1
    moves = []
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        now, was = (f"{a}" if a == b else f"{a}-{b}" for a, b in ((first, last), (ranks[first], ranks[last])))
        moves.append(f"rank{'s' * (last > first)} {now} {'were' if last > first else 'was'} {was}")
    return f"numbered anew: {', '.join(moves)}" if moves else "the first ranks keep their numbers"


def _reached(topology: Topology, start: int) -> _Mask:
    reached = np.zeros(topology.num_nodes, np.bool_)
    reached[start] = True
    while (new := reached[topology.src] & ~reached[topology.dst]).any():
        reached[topology.dst[new]] = True
    return reached
