"""Plans of a generated job that differ from its own in one point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import structs

from hocket.api.generate.llm import GeneratedJob, generated
from hocket.api.generate.request import LlmGeneration
from hocket.base.errors import HocketError
from hocket.chakra import Trace, TraceSet
from hocket.chakra.roles import TracesByRole, kinds_of_traces

__all__ = ["plans_beside", "request_that_made"]

#: Columns that tell whether two traces say the same of what is done and how long that takes.
_TOLD = ("type", "duration_ns", "comm_type", "comm_bytes", "comm_src", "comm_dst")

#: What makes no sense of a plan in which this dimension has one rank.
_ALONE: dict[str, dict[str, object]] = {
    "tp": {"sequence_parallel": False},
    "pp": {"schedule": "1f1b", "chunks": 1},
}


def request_that_made(traces: TraceSet) -> LlmGeneration | str | None:
    """The request for just these traces, which their metadata hold; why other plans cannot be compared with them where
    they are no longer what that makes; None where nobody says that they were made."""
    texts = {trace.metadata.get("request") for trace, _ in kinds_of_traces(traces)}
    told = next((text for text in texts if isinstance(text, str)), None)
    if told is None:
        return None
    if len(texts) > 1:
        return "the ranks' traces were made by several requests, or some by none"
    try:
        request = LlmGeneration.from_json(told)
        made = generated(request)
    except HocketError as error:
        return f"this version makes no traces of the request that made them: {error}"
    return request if _alike(made, traces) else "these traces are no longer those that their request made"


def _alike(made: GeneratedJob, traces: TraceSet) -> bool:
    """Whether every rank does the same as when it was made."""
    if made.traces.num_ranks != traces.num_ranks:
        return False
    pairs: Iterable[tuple[Trace, Trace]] = zip(made.traces.traces, traces.traces, strict=True)
    if isinstance(made.traces.traces, TracesByRole) and isinstance(traces.traces, TracesByRole):
        if not np.array_equal(made.traces.traces.roles.of, traces.traces.roles.of):
            return False
        pairs = zip(made.traces.traces.programs, traces.traces.programs, strict=True)
    return all(
        np.array_equal(getattr(first, column), getattr(second, column)) for first, second in pairs for column in _TOLD
    )


def plans_beside(request: LlmGeneration) -> Iterator[tuple[str, LlmGeneration]]:
    """The same model and batch on as many ranks by a plan that differs in one point, and what that is."""
    changes: list[tuple[str, dict[str, object]]] = [
        (f"micro-batches of {2 * request.micro_batch}", {"micro_batch": 2 * request.micro_batch}),
    ]
    if request.micro_batch > 1:
        less = request.micro_batch // _least_factor(request.micro_batch)
        changes.append((f"micro-batches of {less}", {"micro_batch": less}))
    if request.tp > 1 and not request.sequence_parallel:
        changes.append(("sequence parallelism", {"sequence_parallel": True}))
    if request.pp > 1 and request.schedule == "1f1b":
        changes.append(("an interleaved pipeline of 2 chunks", {"schedule": "interleaved", "chunks": 2}))
        changes.append(("a zero-bubble pipeline (ZB-H1)", {"schedule": "zb-h1"}))
    for dimension in ("tp", "pp"):
        size = getattr(request, dimension)
        if size > 1 and request.dp is not None:
            factor = _least_factor(size)
            fewer: dict[str, object] = {dimension: size // factor, "dp": factor * request.dp}
            alone = _ALONE[dimension] if factor == size else {}
            changes.append((", ".join(f"{name} {value}" for name, value in fewer.items()), fewer | alone))
    if request.recompute != "full":
        changes.append(("recomputation of whole layers", {"recompute": "full"}))
    else:
        changes.append(("recomputation of attention alone", {"recompute": "selective"}))
    for name, change in changes:
        yield name, structs.replace(request, **change)


def _least_factor(number: int) -> int:
    """The smallest prime factor of a number beyond 1."""
    return next((factor for factor in range(2, int(number**0.5) + 1) if number % factor == 0), number)
