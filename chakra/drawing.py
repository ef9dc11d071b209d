"""The dependency graph of a trace for graph tools: GraphML (Gephi, yEd, networkx) and DOT (Graphviz)."""

from collections.abc import Iterator
from pathlib import Path

from hocket.base.errors import TraceError
from hocket.base.files import atomic_write
from hocket.base.text import clipped, markup, printable
from hocket.chakra.trace import NodeType, Trace

__all__ = ["FORMATS", "MOST_NODES", "write_graph"]

MOST_NODES = 5000
_COLORS = {
    NodeType.COMP: "lightblue",
    NodeType.COMM_COLL: "orange",
    NodeType.COMM_SEND: "gold",
    NodeType.COMM_RECV: "khaki",
}
_KEYS = (("name", "string"), ("type", "string"), ("start_us", "long"), ("duration_ns", "long"), ("comm_size", "long"))


def write_graph(trace: Trace, path: Path | str, most_nodes: int = MOST_NODES) -> None:
    """Writes the nodes of a trace and an edge from each to those that depend on it, of kind data or ctrl; the suffix of
    `path`, one of FORMATS, says how. Raises TraceError for another suffix, and for more nodes than a tool can draw."""
    if len(trace) > most_nodes:
        raise TraceError(
            f"{len(trace)} nodes are too many for a drawing of at most {most_nodes}: take a part with `hocket trace "
            "slice`, or allow more with --limit"
        )
    if (lines := FORMATS.get(Path(path).suffix)) is None:
        raise TraceError(f"{path}: no such format of a graph; its name ends in one of {', '.join(FORMATS)}")
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in lines(trace))


def _edges(trace: Trace) -> Iterator[tuple[int, int, str]]:
    for row in range(len(trace)):
        for kind in ("data", "ctrl"):
            offset, deps = getattr(trace, f"{kind}_offset"), getattr(trace, f"{kind}_deps")
            for node_id in deps[offset[row] : offset[row + 1]].tolist():
                yield node_id, int(trace.id[row]), kind


def _graphml(trace: Trace) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for name, kind in _KEYS:
        yield f'  <key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>'
    yield '  <key id="kind" for="edge" attr.name="kind" attr.type="string"/>'
    yield '  <graph edgedefault="directed">'
    for row, node_id in enumerate(trace.id.tolist()):
        values = (
            markup(printable(clipped(trace.text(trace.name, row)))),
            NodeType(trace.type[row]).name,
            trace.start_us[row],
            trace.duration_ns[row],
            trace.comm_bytes[row],
        )
        data = "".join(f'<data key="{key}">{value}</data>' for (key, _), value in zip(_KEYS, values, strict=True))
        yield f'    <node id="{node_id}">{data}</node>'
    for source, target, kind in _edges(trace):
        yield f'    <edge source="{source}" target="{target}"><data key="kind">{kind}</data></edge>'
    yield "  </graph>"
    yield "</graphml>"


def _dot(trace: Trace) -> Iterator[str]:
    yield "digraph trace {"
    yield '  node [shape=box, style=filled, fillcolor=white, fontname="sans-serif"];'
    for row, node_id in enumerate(trace.id.tolist()):
        kind = NodeType(trace.type[row])
        name = printable(clipped(trace.text(trace.name, row))).replace("\\", "\\\\").replace('"', '\\"')
        yield f'  {node_id} [label="{node_id} {name}\\n{kind.name}", fillcolor={_COLORS.get(kind, "white")}];'
    for source, target, edge in _edges(trace):
        yield f"  {source} -> {target}{' [style=dashed]' if edge == 'ctrl' else ''};"
    yield "}"


FORMATS = {".graphml": _graphml, ".dot": _dot}
