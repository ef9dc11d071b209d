"""Where the arguments of a `c10d::*` operation stand that are recorded: decided once an operation, for both hooks."""

from dataclasses import dataclass

import torch

from hocket.chakra.c10d import OPERATIONS
from hocket.plugin.torch import interfaces
from hocket.plugin.torch.interfaces import FunctionSchema
from hocket.recording.operations import LOCAL, PEER_TO_PEER

__all__ = [
    "ABSENT",
    "Detail",
    "Signature",
    "sending_operations",
    "signatures",
    "unknown_operations",
    "waiting_operations",
]

ABSENT = -1

# Arguments that only some operations have: what they are, and under which name they stand in the stream.
_DETAILS = {
    "root_rank": ("rank", "root"),
    "src": ("rank", "peer"),
    "dst": ("rank", "peer"),
    "input_split_sizes": ("splits", "in_splits"),
    "output_split_sizes": ("splits", "out_splits"),
    "tag": ("number", "tag"),
    "reduce_op": ("reduction", "reduce"),
}


@dataclass(frozen=True)
class Detail:
    """An argument that only some operations have.

    `what` is "rank" (counted within the group), "splits" (a list of sizes, empty when all are the same), "number" or
    "reduction"; `key` its name in the stream.
    """

    what: str
    key: str
    position: int


@dataclass(frozen=True)
class Signature:
    """An operation's arguments by position, ABSENT where it has no such argument.

    `input` and `output` hold a tensor, a list of them or a list of lists; `in_parts` see Operation. Without an argument
    that says so (`is_async`, which may be left out for `async_default`) a call is asynchronous when it `returns_work`.
    A call is `numbered` within its group unless it is a message, and `addressed` if `wait_tensor` may follow, which is
    told a tensor, not an operation: where the outputs lie identifies the call.
    """

    op: str
    group: int
    input: int
    output: int
    in_parts: bool
    is_async: int
    async_default: bool
    returns_work: bool
    numbered: bool
    addressed: bool
    any_source: bool
    details: tuple[Detail, ...]


def signatures() -> list[Signature]:
    """Those of all operations of OPERATIONS that the installed PyTorch has, with the arguments named there."""
    there = {op: getattr(torch.ops.c10d, op).default for op in OPERATIONS if hasattr(torch.ops.c10d, op)}
    schemas = {op: interfaces.schema_of(operation) for op, operation in there.items()}
    return [_signature(op, schema) for op, schema in schemas.items() if _is_as_known(op, schema)]


def unknown_operations() -> list[str]:
    """Operations of `c10d` that the installed PyTorch has and that cannot be recorded, such as "name" or
    "name.overload"."""
    prefix = "c10d::"
    all_names = interfaces.ALL_OPERATIONS.ask() or list
    names = (name.removeprefix(prefix) for name in all_names() if name.startswith(prefix))
    return sorted(set(names) - {signature.op for signature in signatures()} - set(LOCAL))


def waiting_operations() -> list[str]:
    """Operations of `_c10d_functional` that wait for functional collectives."""
    return [op for op in ("wait_tensor", "wait_tensors") if hasattr(interfaces.functional_operations(), op)]


def sending_operations() -> list[str]:
    """Operations of `_c10d_functional` that send, and return an empty tensor to wait for."""
    return [op for op in ("isend",) if hasattr(interfaces.functional_operations(), op)]


def _is_as_known(op: str, schema: FunctionSchema) -> bool:
    needed = {"process_group", OPERATIONS[op].input, OPERATIONS[op].output} - {None}
    return needed <= {argument.name for argument in schema.arguments}


def _signature(op: str, schema: FunctionSchema) -> Signature:
    operation = OPERATIONS[op]
    positions = {argument.name: index for index, argument in enumerate(schema.arguments)}
    is_async = positions.get("async_op", ABSENT)
    default = bool(schema.returns) if is_async == ABSENT else schema.arguments[is_async].default_value
    details = [Detail(*_DETAILS[name], index) for name, index in positions.items() if name in _DETAILS]
    return Signature(
        op=op,
        group=positions["process_group"],
        input=ABSENT if operation.input is None else positions[operation.input],
        output=ABSENT if operation.output is None else positions[operation.output],
        in_parts=operation.in_parts,
        is_async=is_async,
        async_default=bool(default),
        returns_work=bool(schema.returns),
        numbered=operation.kind not in PEER_TO_PEER,
        addressed=operation.output is not None,
        any_source=op == "recv_any_source_",
        details=tuple(details),
    )
