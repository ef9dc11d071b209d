"""Neighbouring ops of a thread block that one op can do: sums of several sources, sums that are sent, puts to several
ranks. Their threads need not meet between them."""

from msgspec import structs

from hocket.translator.mscclpp.limits import MAX_OP_CHANNELS, MAX_OP_OPERANDS
from hocket.translator.mscclpp.plan import Op, OpName

__all__ = ["fused"]

_PUTS = (OpName.PUT, OpName.PUT_PACKETS)
_SUMS = (OpName.REDUCE, OpName.REDUCE_PACKETS)
#: What adds up and sends, by what adds up and what sends.
_SENT = {
    (OpName.REDUCE, OpName.PUT): OpName.REDUCE_SEND,
    (OpName.REDUCE_SEND, OpName.PUT): OpName.REDUCE_SEND,
    (OpName.REDUCE_PACKETS, OpName.PUT_PACKETS): OpName.REDUCE_SEND_PACKETS,
    (OpName.REDUCE_SEND_PACKETS, OpName.PUT_PACKETS): OpName.REDUCE_SEND_PACKETS,
}


def fused(first: Op, second: Op) -> Op | None:
    """One op that does both, in order; None: there is none. Of ops of one thread block, over memory channels."""
    if "port" in (first.channel_type, second.channel_type) or first.tbg_info != second.tbg_info:
        return None
    if len({operand.size for op in (first, second) for operand in (*op.sources, *op.destinations)}) > 1:
        return None
    if first.name is second.name and first.name in _PUTS:
        return _several_puts(first, second)
    if first.name is second.name and first.name in _SUMS:
        return _sum_of_several(first, second)
    if (first.name, second.name) in _SENT and second.sources == first.destinations[:1]:
        targets = (*first.destinations, *second.destinations)
        if len(targets) <= 1 + MAX_OP_CHANNELS:
            name = _SENT[first.name, second.name]
            return structs.replace(first, name=name, destinations=targets, channel_type="memory")
    return None


def _several_puts(first: Op, second: Op) -> Op | None:
    sources, targets = (*first.sources, *second.sources), (*first.destinations, *second.destinations)
    if len({source.type for source in sources}) > 1 or len(targets) > MAX_OP_CHANNELS:
        return None
    return structs.replace(first, sources=sources, destinations=targets)


def _sum_of_several(first: Op, second: Op) -> Op | None:
    """The second adds to what the first has added up, and to nothing that this was made of."""
    own, *more = second.sources
    if (own,) != first.destinations or first.destinations != second.destinations or own in more:
        return None
    sources = (*first.sources, *more)
    return structs.replace(first, sources=sources) if len(sources) <= MAX_OP_OPERANDS else None
