"""`hocket trace` as a user runs it, for the tests of the importers."""

from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess

import in_process

from hocket.bench.feeder_rules import check_astra_sim, check_mlcommons
from hocket.chakra import CollectiveType, NodeType, Trace, TraceSet, read_traces, write_traces
from hocket.chakra.astra_sim import adapt, violations
from hocket.chakra.validate import validate


def hocket(*arguments: object) -> CompletedProcess[str]:
    return in_process.hocket("trace", *arguments)


def imported(folder: Path, *arguments: object) -> tuple[TraceSet, str]:
    """The traces that an import writes, which are valid for both profiles, and what it printed."""
    done = hocket("import", *arguments, "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    check_mlcommons(folder / "out")
    traces = read_traces(folder / "out")
    assert validate(traces) == []
    adapted, _ = adapt(traces)
    assert [*validate(adapted), *violations(adapted)] == []
    write_traces(folder / "astra", adapted, profile="astra-sim")
    check_astra_sim(folder / "astra")
    return traces, done.stdout


def communication(trace: Trace) -> Counter[tuple[str, int]]:
    """How often each kind and size of communication is in a trace."""
    rows = [row for row in range(len(trace)) if trace.type[row] >= NodeType.COMM_SEND]
    return Counter((kind(trace, row), int(trace.comm_bytes[row])) for row in rows)


def types(trace: Trace) -> Counter[tuple[str, str]]:
    """How often each kind of collective is of each type."""
    rows = [row for row in range(len(trace)) if trace.type[row] == NodeType.COMM_COLL]
    return Counter((kind(trace, row), trace.text(trace.dtype, row)) for row in rows)


def kind(trace: Trace, row: int) -> str:
    if trace.type[row] != NodeType.COMM_COLL:
        return NodeType(trace.type[row]).name.removeprefix("COMM_").lower()
    return CollectiveType(trace.comm_type[row]).name.lower()
