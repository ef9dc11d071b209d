"""Which topology is described, written or checked."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.parts import Failures, ResultJson
from hocket.api.request import Request

__all__ = ["TopologyCheck", "TopologyRoutes", "TopologySave", "TopologyShow"]

_Source = Annotated[
    str,
    argument(
        "A file (ours, ASTRA-sim's network YAML, NCCL's topology XML), a spec such as"
        " mesh:4x4,bandwidth=50GB/s,latency=500ns, or a preset.",
        "TOPOLOGY",
    ),
]
_ROOM = "hocket.api.topology"


class TopologyShow(Request, frozen=True, kw_only=True, tag="topology show"):
    """Print ranks, switches, links, degrees, bandwidths, diameter and the tightest cut; draw nodes and fabric."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket topology show dgx-h100:nodes=2",
        "hocket topology show dgx-h100:nodes=32,fabric=fat_tree,leaf=4 -o cluster.svg",
    )
    performer: ClassVar[str] = f"{_ROOM}.facts:show"

    topology: _Source
    failures: Failures = Failures()
    json: Annotated[str | None, written("Also write the facts here.")] = None
    output: Annotated[str | None, written("Also draw it here: .svg or .html.", "-o")] = None


class TopologySave(Request, frozen=True, kw_only=True, tag="topology save"):
    """Write a topology as YAML of ours, to edit or to keep, or one node as NCCL sees it as its XML."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket topology save dgx-a100:nodes=4 -o two.yaml",
        "hocket topology save dgx-h100 -o machine.xml",
    )
    performer: ClassVar[str] = f"{_ROOM}.files:save"

    topology: _Source
    output: Annotated[str, written("The YAML file to write; of a node also NCCL's topology XML, as .xml.", "-o")]
    failures: Failures = Failures()
    json: ResultJson = None


class TopologyCheck(Request, frozen=True, kw_only=True, tag="topology check"):
    """Check a topology: syntax, keys, units, links, and that every rank reaches every other. Exit code 1: it fails."""

    examples: ClassVar[tuple[str, ...]] = ("hocket topology check cluster.yaml",)
    performer: ClassVar[str] = f"{_ROOM}.files:check"

    topology: _Source
    json: ResultJson = None


class TopologyRoutes(Request, frozen=True, kw_only=True, tag="topology routes"):
    """Print the routing tables, check that all pairs arrive without loops, and say how evenly links are loaded by an
    all-to-all and by a shift (each rank sends to the one half of all ranks further). Exit code 1: it fails."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket topology routes fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns",
        "hocket topology routes rlft:8,bandwidth=50GB/s,latency=500ns --routing d_mod_k --balanced",
        "hocket topology routes dgx-h100:nodes=2 --routing ecmp:seed=3 --csv tables.csv",
    )
    performer: ClassVar[str] = f"{_ROOM}.routes:routes"

    topology: _Source
    routing: Annotated[
        str | None,
        option(
            "Which shortest paths messages take, as in `hocket simulate`; as the topology says by default.",
            known="hocket.topology:ROUTINGS",
        ),
    ] = None
    balanced: Annotated[
        bool,
        option("Fail too where some link carries over 1 % more of the all-to-all than those like it do."),
    ] = False
    failures: Failures = Failures()
    json: Annotated[str | None, written("Also write tables, loads of links and the checks here.")] = None
    csv: Annotated[str | None, written("Also write the tables here: node, destination, link, next node, part.")] = None
