"""What a call of PyTorch's becomes in NCCL: which functions, to whom, of how many bytes."""

from collections.abc import Iterator

from hocket.base.collectives import BARRIER
from hocket.nccl.programs.request import KINDS
from hocket.recording.calls import CallShape, GroupKey

__all__ = ["Place", "expected_of"]

#: A function of NCCL, and where: of collectives the process group, of messages the other end's world rank.
Place = tuple[str, GroupKey | int]

_FUNCTIONS: dict[str, str] = {kind: name for name, kind in KINDS.items()} | {BARRIER: "AllReduce"}


def expected_of(shape: CallShape, rank: int, peer: int) -> Iterator[tuple[Place, int | None]]:
    """The functions that NCCL's communicators count for a call of this shape on a rank, each with its bytes, None where
    they are not known; `peer` is the message's other end.

    What has no collective of NCCL's is messages there: all_to_all, gather and scatter, ncclAlltoAll and ncclGather too.
    """
    ranks = shape.group.ranks
    if shape.kind in ("send", "recv"):
        yield (shape.kind.capitalize(), peer), shape.num_bytes
    elif function := _FUNCTIONS.get(shape.kind):
        sizes = {"reduce_scatter": shape.output_bytes, "broadcast": max(shape.input_bytes, shape.output_bytes)}
        yield (function, shape.group.key), None if shape.kind == "barrier" else sizes.get(shape.kind, shape.input_bytes)
    elif shape.kind == "all_to_all":
        rows = sum(shape.in_splits)
        for index, other in enumerate(ranks):
            even = shape.input_bytes // len(ranks)
            sent = shape.input_bytes * shape.in_splits[index] // rows if rows else even
            if sent:
                yield ("Send", other), sent
            yield ("Recv", other), None if rows else shape.output_bytes // len(ranks)
    elif shape.root is not None:
        is_root = rank == shape.root
        ends = [other for other in ranks if other != rank] if is_root else [shape.root]
        way = "Recv" if is_root == (shape.kind == "gather") else "Send"
        whole = shape.num_bytes if shape.kind == "gather" else shape.num_bytes // len(ranks)
        for other in ends:
            yield (way, other), whole
