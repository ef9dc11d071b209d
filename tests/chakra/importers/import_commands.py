"""`hocket trace` as a user runs it, for the tests of the importers."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from subprocess import CompletedProcess

import in_process

from hocket.bench.feeder_rules import check_astra_sim, check_mlcommons
from hocket.chakra import CollectiveType, NodeType, Trace, TraceSet, read_traces, write_traces
from hocket.chakra.astra_sim import adapt, violations
from hocket.chakra.losses import LOSSES
from hocket.chakra.validate import TraceFinding, TraceSeverity, validate


def hocket(*arguments: object) -> CompletedProcess[str]:
    return in_process.hocket("trace", *arguments)


def imported(folder: Path, *arguments: object, losses: bool = False) -> tuple[TraceSet, str]:
    """The traces that an import writes, which are valid for both profiles, but for communication that is lost where
    `losses`, and what it printed."""
    done = hocket("import", *arguments, "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    check_mlcommons(folder / "out")
    traces = read_traces(folder / "out")
    errors = errors_in(validate(traces))
    assert {error.field for error in errors} <= ({LOSSES} if losses else set()), [*map(str, errors)]
    adapted, _ = adapt(traces)
    adapted_errors = errors_in([*validate(adapted), *violations(adapted)])
    assert [error for error in adapted_errors if error.field != LOSSES] == []
    write_traces(folder / "astra", adapted, profile="astra-sim")
    check_astra_sim(folder / "astra")
    return traces, done.stdout


def errors_in(findings: Iterable[TraceFinding]) -> list[TraceFinding]:
    """What makes traces useless; warnings are of what no file tells."""
    return [finding for finding in findings if finding.severity is TraceSeverity.ERROR]


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
