"""The traces of serving requests, on all ranks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import lcm

from hocket.base.errors import Infeasible
from hocket.chakra.trace import TraceSet
from hocket.workload.accelerators import Accelerator
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.serving.batches import ServingStep
from hocket.workload.llm.serving.plan import Pool, ServingPlan
from hocket.workload.llm.serving.pool import Messages, ServingPool
from hocket.workload.llm.serving.requests import Request

__all__ = ["Served", "serving_traces"]


@dataclass(frozen=True)
class Served:
    """Traces, and what made them: steps of each group of replicas that step together, of the pool and of the one that
    does prompts only; bytes that a rank's weights take and that are left for keys and values (None: the accelerator's
    memory is not known)."""

    traces: TraceSet
    steps: Sequence[Sequence[ServingStep]]
    prefill_steps: Sequence[Sequence[ServingStep]]
    weights: int
    room: int | None


def serving_traces(card: ModelCard, plan: ServingPlan, accelerator: Accelerator, requests: Sequence[Request]) -> Served:
    """Serving `requests`, from the first arrival to the last token; the ranks that do prompts only come first.

    Raises Infeasible for a plan by which this model or a request cannot be served.
    """
    plan.check(card)
    if not requests:
        raise Infeasible("plan: there are no requests to serve")
    pool, prefill = plan.pool, plan.prefill
    room, weights = plan.room(card, pool, accelerator), plan.weights(card, pool)
    arrivals = [(request.arrival_ps, request) for request in requests]
    if prefill is None:
        alone = ServingPool(card, plan, pool, accelerator)
        steps = alone.schedule(arrivals, room)
        return Served(TraceSet(tuple(alone.traces(steps)), alone.groups), steps, (), weights, room)
    first = ServingPool(card, plan, prefill, accelerator)
    second = ServingPool(card, plan, pool, accelerator, first)
    before = first.schedule(arrivals, plan.room(card, prefill, accelerator), outputs=False)
    steps = second.schedule(list(_ready(before)), room, prompts=False)
    sent, received = _transfers(card, plan, before, first.replicas(before), second.replicas(steps))
    traces = (*first.traces(before, sent=sent), *second.traces(steps, received=received))
    return Served(TraceSet(traces, {**first.groups, **second.groups}), steps, before, weights, room)


def _ready(steps: Sequence[Sequence[ServingStep]]) -> Iterator[tuple[int, Request]]:
    """Requests whose prompts are done and who want more than the token that comes of these, and when that is."""
    for step in chain.from_iterable(steps):
        for item in chain.from_iterable(step.batches):
            if item.ends and item.request.output > 1:
                yield step.end_ps, item.request


def _transfers(
    card: ModelCard,
    plan: ServingPlan,
    steps: Sequence[Sequence[ServingStep]],
    makers: Mapping[int, range],
    needers: Mapping[int, range],
) -> tuple[Messages, Messages]:
    """What ranks send and receive of keys and values, from those who made to those who need them."""
    sent: dict[int, dict[int, list[tuple[int, int]]]] = {}
    received: dict[int, dict[int, list[tuple[int, int]]]] = {}
    for _, request in _ready(steps):
        number = request.number
        size = plan.key_values(card, Pool(), request.prompt)
        for source, target, share in _parts(card, makers[number], needers[number]):
            num_bytes = -(-size * share[0] // share[1])
            sent.setdefault(source, {}).setdefault(number, []).append((target, num_bytes))
            received.setdefault(target, {}).setdefault(number, []).append((source, num_bytes))
    return sent, received


def _parts(card: ModelCard, makers: range, needers: range) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Source, target and which part of all keys and values goes there, as a fraction. Latents are whole on every rank,
    and so is a head where there are more ranks than heads: one of those who have it sends it."""
    heads = 1 if card.latent else card.key_value_heads
    made, needed = min(len(makers), heads), min(len(needers), heads)
    all_parts = lcm(made, needed)
    copies = len(makers) // made
    for place, target in enumerate(needers):
        needs = place * needed // len(needers)
        for has in range(made):
            low = max(has * all_parts // made, needs * all_parts // needed)
            high = min((has + 1) * all_parts // made, (needs + 1) * all_parts // needed)
            if low < high:
                yield makers[has * copies + place % copies], target, (high - low, all_parts)
