"""ExecutionTraceObserver's JSON, schemas 1.0.1 to 1.1.1-chakra.1.0.0: operations with arguments, no times.

Its parents (ctrl_deps) are not used: of gloo's asynchronous operations they are wrong.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hocket.base.collectives import kind_called
from hocket.base.errors import FormatError
from hocket.chakra.c10d import OPERATIONS
from hocket.chakra.importers.dtypes import common_dtype, dtype_name, element_bytes
from hocket.chakra.importers.files import MALFORMED, head_of
from hocket.chakra.importers.json_array import JsonArray
from hocket.chakra.importers.pytorch.c10d import Described, Tensors, describe, describe_span
from hocket.chakra.importers.pytorch.host import MONITORED_BARRIER, HostEvent, ProcessGroup, What

__all__ = [
    "ExecutionTrace",
    "HostNode",
    "HostRest",
    "backends_in",
    "check_schema",
    "groups_in",
    "host_events",
    "is_execution_trace",
    "named_groups",
    "read_execution_trace",
    "span_event",
]

_Id = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_SCHEMA = re.compile(r"1\.0\.1|1\.(0\.[23]|1\.[01])-chakra\.(0\.0\.4|1\.0\.0)")
_FLAT = "1.0.1"  # PyTorch 2.0 and 2.1: what later are inputs, outputs and attributes are members of the node
# Of one tensor, or of the tensors of a list: GenericList[Tensor(float),Tensor(float)].
_TENSOR_TYPE = re.compile(r"Tensor\(([^()]*)\)")
_MOST = 2**60
_BACKEND = "backend "  # before its number, where a record names that in place of the group


class _Values(msgspec.Struct):
    values: msgspec.Raw = msgspec.Raw(b"[]")
    types: list[str] = []


class _Attribute(msgspec.Struct):
    name: str
    value: Any = None


class HostNode(msgspec.Struct):
    """A node, as far as it is used."""

    id: _Id
    name: str
    inputs: _Values
    outputs: _Values
    attrs: list[_Attribute] = []


class _FlatNode(msgspec.Struct):
    """A node of schema 1.0.1."""

    id: _Id
    name: str
    inputs: msgspec.Raw
    outputs: msgspec.Raw
    input_types: list[str] = []
    output_types: list[str] = []
    rf_id: Any = 0
    tid: Any = 0

    def nested(self) -> HostNode:
        """The node as later schemas have it."""
        told = [_Attribute("rf_id", self.rf_id), _Attribute("tid", self.tid)]
        inputs, outputs = _Values(self.inputs, self.input_types), _Values(self.outputs, self.output_types)
        return HostNode(self.id, self.name, inputs, outputs, told)


class HostRest(msgspec.Struct):
    """What is around the nodes."""

    schema: str
    pid: int = -1


class _Group(msgspec.Struct):
    pg_name: str
    pg_desc: str = ""
    backend_id: int = -1
    ranks: list[Annotated[int, msgspec.Meta(ge=0, le=2**24)]] = []
    group_size: Annotated[int, msgspec.Meta(ge=0, le=2**24)] = 0


@dataclass(frozen=True)
class ExecutionTrace:
    """One rank's host trace: its communication in the order of issue, and its process groups."""

    pid: int
    events: tuple[HostEvent, ...]
    groups: tuple[ProcessGroup, ...]
    is_cut: bool


def read_execution_trace(path: Path) -> ExecutionTrace:
    """Reads a file, plain or gzip. Raises FormatError, naming it, for other content and unknown schemas."""
    told = re.match(rb'\s*\{\s*"schema"\s*:\s*"([^"]{1,60})"', head_of(path))
    schema = told[1].decode(errors="replace") if told else ""
    if told:
        check_schema(path, schema)
    item: type[HostNode | _FlatNode] = _FlatNode if schema == _FLAT else HostNode
    array: JsonArray[HostNode | _FlatNode, HostRest] = JsonArray(path, "nodes", item, HostRest)
    events: list[HostEvent] = []
    groups: dict[str, ProcessGroup] = {}
    backends: dict[str, str] = {}
    received: list[int] = []
    for nodes in array.blocks():
        for each in nodes:
            node = each.nested() if isinstance(each, _FlatNode) else each
            try:
                groups |= {group.name: group for group in groups_in(node)}
                backends |= backends_in(node)
                events += host_events(node)
                received += [_event(What.SPAN, node).function] if node.name == "gloo:recv" else []
            except MALFORMED as error:
                raise FormatError(f"{path}: node {node.id} '{node.name}': {error}") from error
    rest = array.rest
    check_schema(path, rest.schema)
    events.sort(key=lambda event: event.order)
    events = _with_members(named_groups(events, backends), sorted(received))
    return ExecutionTrace(rest.pid, tuple(events), tuple(groups.values()), array.is_cut)


def is_execution_trace(head: bytes) -> bool:
    """Whether a file that begins like this is an execution trace, linked or not."""
    return bool(re.match(rb'\s*\{\s*"schema"\s*:\s*"1\.', head))


def check_schema(path: Path, schema: str) -> None:
    """Raises FormatError, naming the file, for a schema that cannot be read."""
    if not _SCHEMA.fullmatch(schema):
        raise FormatError(f"{path}: schema '{schema}'; execution traces 1.0.1 to 1.1.1-chakra.1.0.0 can be read")


def groups_in(node: HostNode) -> Iterator[ProcessGroup]:
    """The process groups that a node tells of."""
    for group in _groups(node):
        yield ProcessGroup(group.pg_name, group.pg_desc, group.group_size, tuple(group.ranks))


def backends_in(node: HostNode) -> dict[str, str]:
    """The names of the groups that a node tells of, by what records of schema 1.0.2 call their backends."""
    return {f"{_BACKEND}{group.backend_id}": group.pg_name for group in _groups(node) if group.backend_id >= 0}


def named_groups(events: Sequence[HostEvent], backends: Mapping[str, str]) -> list[HostEvent]:
    """The events with the names of groups in place of backends; none where the backend is of no group listed."""
    return [
        replace(event, group=backends.get(event.group or "")) if (event.group or "").startswith(_BACKEND) else event
        for event in events
    ]


def _with_members(events: Sequence[HostEvent], received: Sequence[int]) -> list[HostEvent]:
    """The events with the number of ranks of monitored barriers, whose first rank receives a message of each other:
    those of gloo's, by their record function ids, that are `received` before the next call."""
    functions = sorted(event.function for event in events if event.function)
    found = list(events)
    for at, event in enumerate(events):
        if event.name == MONITORED_BARRIER and event.described is not None and event.function:
            following = bisect_right(functions, event.function)
            end = functions[following] if following < len(functions) else _MOST
            messages = bisect_left(received, end) - bisect_left(received, event.function)
            if messages > 1:
                found[at] = replace(event, described=replace(event.described, members=messages + 1))
    return found


def _groups(node: HostNode) -> list[_Group]:
    if node.name != "## process_group:init ##":
        return []
    values = msgspec.json.decode(node.inputs.values, type=list[str])
    return msgspec.json.decode(values[0], type=list[_Group]) if values else []


def host_events(node: HostNode) -> Iterator[HostEvent]:
    """What a node tells of communication. Raises msgspec's errors for arguments that are no JSON."""
    namespace, _, operation = node.name.rpartition("::")
    if namespace == "c10d" and operation in OPERATIONS:
        arguments, written = _Arguments(node.inputs), _Arguments(node.outputs)
        described = describe(OPERATIONS[operation], arguments)
        output = OPERATIONS[operation].output
        tensors = arguments.ids(OPERATIONS[operation].positions[output]) if output else frozenset()
        yield _event(What.CALL, node, described=described, tensors=tensors | written.ids(0))
    elif namespace == "_c10d_functional":
        inputs = _Arguments(node.inputs)
        if operation == "wait_tensor":
            yield _event(What.WAIT_TENSOR, node, tensors=inputs.ids(0))
        elif inputs.values and isinstance(inputs.values[-1], str):
            yield _event(What.FUNCTIONAL, node, group=inputs.values[-1])
    elif node.name == "record_param_comms":
        yield from _recorded(node)


def span_event(node: HostNode) -> HostEvent:
    """The event of a backend's span, such as gloo:all_reduce, whose inputs are its tensors."""
    inputs = _Arguments(node.inputs)
    tensors = [inputs.tensors(position) for position in range(len(inputs.values))]
    return _event(What.SPAN, node, described=describe_span(node.name, tensors))


def _recorded(node: HostNode) -> Iterator[HostEvent]:
    """An operation of NCCL: [tensors], number (or [number, is P2P]), [group, description], rank, name, splits, ...;
    a wait has no tensors."""
    arguments = _Arguments(node.inputs)
    values = arguments.values
    attributes = {attribute.name: attribute.value for attribute in node.attrs}
    at = next((index for index, value in enumerate(values) if isinstance(value, str) and index >= 3), None)
    if at is None or at + 1 >= len(values):
        return
    sequence, group, name = values[at - 3], values[at - 2], values[at]
    if isinstance(sequence, list):
        sequence = sequence[0] if sequence else None
    sequence = sequence if type(sequence) is int else None
    if name == "wait":
        yield _event(What.WAIT, node, sequence=sequence)
        return
    kind = kind_called(name)
    if kind is None:
        return
    splits = arguments.integers(at + 1)
    dtype = str(attributes.get("dtype", ""))
    size = element_bytes(dtype)
    elements = attributes.get("out_msg_nelems" if kind in ("scatter", "recv") else "in_msg_nelems")
    tensors = arguments.tensors(0) if at >= 4 else None
    num_bytes = elements * size if type(elements) is int and size and 0 <= elements < _MOST else -1
    if num_bytes < 0 and tensors is not None:
        num_bytes = tensors.num_bytes
    is_async = attributes.get("is_asynchronized_op")
    described = Described(
        kind,
        0 if kind == "barrier" else num_bytes,
        kind == "scatter",
        dtype_name(dtype) or (tensors.dtype if tensors else ""),
        in_splits=splits if len(set(splits)) > 1 else (),
        is_async=is_async if isinstance(is_async, bool) else None,
        members=arguments.integer(at + 5) or 0,
    )
    named = group[0] if isinstance(group, list) and group and isinstance(group[0], str) else None
    if type(group) is int and group:
        named = f"{_BACKEND}{group}"
    yield _event(What.RECORD, node, described=described, group=named, sequence=sequence)


def _event(what: What, node: HostNode, **more: Any) -> HostEvent:
    attributes = {attribute.name: attribute.value for attribute in node.attrs}
    function, thread = (attributes.get(name, 0) for name in ("rf_id", "tid"))
    return HostEvent(
        what,
        node.name,
        node.id,
        function if type(function) is int else 0,
        thread if type(thread) is int else 0,
        node.id,  # no times: the order stands for them
        node.id,
        **more,
    )


class _Arguments:
    """Values of a node; a tensor is [tensor id, storage id, offset, elements, bytes of an element, device]."""

    def __init__(self, recorded: _Values) -> None:
        self.values = msgspec.json.decode(recorded.values, type=list[Any])
        self._types = recorded.types

    def tensors(self, position: int) -> Tensors | None:
        value = self._at(position)
        if not isinstance(value, list):
            return None
        found = list(_tensors(value))
        sizes = [max(elements, 0) * max(size, 0) for _, elements, size in found]
        types = _TENSOR_TYPE.findall(self._types[position]) if position < len(self._types) else []
        return Tensors(
            len(found),
            sum(max(elements, 0) for _, elements, _ in found),
            min(sum(sizes), _MOST),
            common_dtype(map(dtype_name, types)),
        )

    def ids(self, position: int) -> frozenset[int]:
        """Storages of tensors."""
        return frozenset(storage for storage, _, _ in _tensors(self._at(position)))

    def integer(self, position: int) -> int | None:
        value = self._at(position)
        return value if type(value) is int and -(2**31) <= value < 2**31 else None

    def boolean(self, position: int) -> bool | None:
        value = self._at(position)
        return value if isinstance(value, bool) else None

    def integers(self, position: int) -> tuple[int, ...]:
        value = self._at(position)
        return (
            tuple(value) if isinstance(value, list) and all(type(item) is int and item >= 0 for item in value) else ()
        )

    def _at(self, position: int) -> Any:
        return self.values[position] if position < len(self.values) else None


def _tensors(value: Any) -> Iterator[tuple[int, int, int]]:
    """Storage, elements and bytes of an element of the tensors in a value, through all lists."""
    if not isinstance(value, list):
        return
    if len(value) == 6 and isinstance(value[5], str) and all(type(item) is int for item in value[:5]):
        yield value[1], value[3], value[4]
        return
    for item in value:
        yield from _tensors(item)
