"""What NCCL makes of buffers that the user registered, or put into symmetric windows."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from hocket.api.nccl.request import NcclChoiceRequest
from hocket.base.enums import StrEnum
from hocket.base.errors import RequestError
from hocket.base.units import format_bytes
from hocket.nccl import Choices, NcclModel
from hocket.nccl.registered import registered_choices
from hocket.nccl.symmetric import SymmetricCall, symmetric_calls

__all__ = ["BufferKind", "CtaPolicy", "of_buffers", "symmetric_lines", "symmetric_row"]


class BufferKind(StrEnum):
    """What the user has made of a call's buffers."""

    PLAIN = "plain"
    REGISTERED = "registered"
    SYMMETRIC = "symmetric"


class CtaPolicy(StrEnum):
    """NCCL_CTA_POLICY 0, 1 and 2."""

    DEFAULT = "default"
    EFFICIENCY = "efficiency"
    ZERO = "zero"


def of_buffers(
    request: NcclChoiceRequest, model: NcclModel, found: Sequence[Choices]
) -> tuple[list[Choices], list[list[SymmetricCall]] | None]:
    """The choices as the buffers make them; what runs in symmetric windows, where there are. Raises RequestError for
    what does not go together, or the release has not."""
    buffers, policy = BufferKind(request.buffers), CtaPolicy(request.policy)
    if policy is CtaPolicy.EFFICIENCY and buffers is not BufferKind.REGISTERED:
        raise RequestError("--cta-policy efficiency changes nothing without --buffers registered")
    if policy is CtaPolicy.ZERO and buffers is not BufferKind.SYMMETRIC:
        raise RequestError("--cta-policy zero changes nothing without --buffers symmetric")
    if policy is CtaPolicy.ZERO and model.release.code < 2800:
        raise RequestError(f"--cta-policy zero: NCCL {model.release.name} has none; from 2.28 on")
    if buffers is BufferKind.PLAIN:
        return [*found], None
    if request.operations > 1:
        raise RequestError("--pipe-ops: groups are modelled of plain buffers")
    if buffers is BufferKind.REGISTERED:
        return [registered_choices(model, each, policy is CtaPolicy.EFFICIENCY) for each in found], None
    zero = policy is CtaPolicy.ZERO
    return [*found], [symmetric_calls(model, each.collective, each.bytes.tolist(), zero=zero) for each in found]


def symmetric_lines(calls: Sequence[SymmetricCall]) -> Iterator[str]:
    """A line for sizes that run alike."""
    for kernel, grouped in groupby(calls, key=lambda call: call.kernel):
        run = list(grouped)
        span = f"{format_bytes(run[0].bytes)} .. {format_bytes(run[-1].bytes)}"
        head = f"  symmetric   {span:<20} {kernel or 'as with plain buffers':<26}"
        if run[0].blocks:
            head += f" {run[0].time_us:>9.2f} .. {run[-1].time_us:.2f} us, blocks {run[0].blocks}..{run[-1].blocks}"
        yield head.rstrip()


def symmetric_row(call: SymmetricCall) -> tuple[str, str, str]:
    """Kernel, us and blocks; empty where there are none."""
    return call.kernel, f"{call.time_us:.2f}" if call.blocks else "", str(call.blocks or "")
