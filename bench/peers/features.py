"""What each peer can do: facts of its source, its documentation, or runs of it; where they say nothing, a `?`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hocket.base.version import __version__

__all__ = ["FEATURES", "TOOLS", "PeerTool", "feature_rows", "tool_rows"]


@dataclass(frozen=True)
class PeerTool:
    """A tool as it was looked at: which version, of which day, and where its facts are from. `can` has an entry a
    feature."""

    name: str
    version: str
    date: str
    licence: str
    source: str
    can: Sequence[str]


#: What a user would ask of a tool, in the order of `PeerTool.can`.
FEATURES = (
    "takes",
    "topologies",
    "network model",
    "collectives",
    "finds algorithms",
    "lower bound",
    "checks programs",
    "a job that is stuck",
)
TOOLS = (
    PeerTool(
        "ASTRA-sim",
        "518bd51",
        "2026-03-26",
        "MIT",
        "source read, analytical programs built and run",
        (
            "Chakra traces",
            "products of rings, switches and full meshes (analytical)",
            "without contention; with, in one dimension; ns-3; htsim",
            "all_reduce, all_gather, reduce_scatter, all_to_all; broadcast in a fixed time",
            "no",
            "no",
            "no",
            "exit code 0, some ranks missing",
        ),
    ),
    PeerTool(
        "TACOS",
        "v1.3.0",
        "2025-06-13",
        "MIT",
        "source read, built and run",
        (
            "constants in C++",
            "any graph of at most one link a pair",
            "a chunk per link at a time, latency + serialization",
            "all_gather",
            "yes, without a seed",
            "no",
            "no",
            "outside its subject",
        ),
    ),
    PeerTool(
        "NCCL's model",
        "2.30.7",
        "2026-06-11",
        "Apache-2.0",
        "source read, its graph search and tuner compiled and run",
        (
            "one call",
            "the nodes that it finds, or a topology file",
            "latency and bandwidth per channel",
            "all_reduce, all_gather, reduce_scatter, broadcast, reduce",
            "chooses among its own",
            "no",
            "no",
            "outside its subject",
        ),
    ),
    PeerTool(
        "Chakra tools",
        "1.0.0 (21585d8)",
        "2026-05-20",
        "MIT",
        "source read, converter run",
        (
            "PyTorch's traces, ASTRA-sim 1.0's text",
            "none",
            "none",
            "those of NCCL's kernels; of gloo none",
            "outside its subject",
            "outside its subject",
            "outside its subject",
            "outside its subject",
        ),
    ),
    PeerTool(
        "ns-3",
        "3.37",
        "Debian 12",
        "GPL-2.0",
        "Debian's package, linked and run",
        (
            "C++ programs",
            "any graph",
            "packets; TCP, UDP; point-to-point links without PFC or credits",
            "none of its own",
            "outside its subject",
            "outside its subject",
            "outside its subject",
            "?",
        ),
    ),
    PeerTool(
        "htsim",
        "csg-htsim, master",
        "seen 2026-11",
        "BSD-2-Clause",
        "README and source read, built and run",
        (
            "a connection matrix",
            "data centre topologies (a file of tiers)",
            "packets; NDP, EQDS, Swift, HPCC, RoCE, DCQCN, TCP",
            "none of its own",
            "outside its subject",
            "outside its subject",
            "outside its subject",
            "?",
        ),
    ),
    PeerTool(
        "SimGrid",
        "4.1",
        "2026-08-07",
        "LGPL-2.1",
        "documentation read; Debian's package (3.32) run",
        (
            "MPI programs, their traces, its API",
            "any graph (a platform file)",
            "flows that share links max-min fairly; packets by ns-3",
            "MPI's (SMPI)",
            "outside its subject",
            "outside its subject",
            "outside its subject",
            "?",
        ),
    ),
    PeerTool(
        "MSCCL-XML-Verifier",
        "22944ea",
        "2025-08-21",
        "no licence file",
        "README and source read, built and run",
        (
            "MSCCL XML",
            "none",
            "none",
            "all_gather, all_to_all, all_to_allv out of place; no reductions",
            "outside its subject",
            "outside its subject",
            "by running threads on random data",
            "times out",
        ),
    ),
    PeerTool(
        "Hocket",
        __version__,
        "this checkout",
        "Apache-2.0",
        "tested here",
        (
            "Chakra traces, PyTorch's, NCCL's and RCCL's, MSCCL XML, ASTRA-sim's files",
            "any graph, NCCL's topology files, presets",
            "from the bound to packets; ns-3 as a witness; ASTRA-sim's rules",
            "all of NCCL's, groups, uneven blocks",
            "yes, the same of the same seed",
            "yes",
            "proves them, reductions too",
            "exit code 5 and the chain of waits",
        ),
    ),
)


def tool_rows() -> Iterator[tuple[str, ...]]:
    """Each tool, and of which version its facts are."""
    yield "tool", "version", "of", "licence", "known from"
    for tool in TOOLS:
        yield tool.name, tool.version, tool.date, tool.licence, tool.source


def feature_rows() -> Iterator[tuple[str, ...]]:
    """A row a tool: what it can do."""
    yield "tool", *FEATURES
    for tool in TOOLS:
        yield tool.name, *tool.can
