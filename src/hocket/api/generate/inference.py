"""Makes traces of serving requests with a large language model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

from hocket.api.generate.cards import find_card
from hocket.api.generate.request import InferenceGeneration
from hocket.api.generate.target import checked, pricing, ranks_there
from hocket.api.progress import Progress
from hocket.api.trace.written import WrittenTraces, write_job
from hocket.base.errors import RequestError
from hocket.base.units import format_bytes, format_time
from hocket.workload.accelerators import Precision, parse_efficiency
from hocket.workload.llm import ModelCard
from hocket.workload.llm.serving import (
    Pool,
    Request,
    Served,
    ServingPlan,
    Speculation,
    random_requests,
    read_requests,
    serving_traces,
)

__all__ = ["perform"]

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def perform(request: InferenceGeneration, progress: Progress) -> WrittenTraces:
    card, plan, priced, asked = find_card(request.model), _plan(request), pricing(request), _requests(request)
    for assumed in card.assumed:
        progress.note(f"{card.name}: {assumed}")
    if request.topology is not None:
        checked(plan.num_ranks, ranks_there(request.topology), request.topology)
    served = serving_traces(card, plan, priced.accelerator, asked)
    before = [*_described(card, plan, asked, served), f"  computation: {priced.said(plan.precision)}"]
    return write_job(request, served.traces, request.written, request.profile, progress, before)


def _plan(request: InferenceGeneration) -> ServingPlan:
    prefill = None
    if request.prefill_tp is not None:
        prefill = Pool(request.prefill_tp, request.prefill_dp, request.prefill_ep)
    elif (request.prefill_dp, request.prefill_ep) != (1, 1):
        raise RequestError("--prefill-tp is missing: how many ranks has a replica that does prompts only?")
    speculation = None
    if request.draft is not None:
        speculation = Speculation(find_card(request.draft), request.draft_tokens, _number(request.accepted, "accepted"))
    return ServingPlan(
        pool=Pool(request.tp, request.dp, request.ep),
        prefill=prefill,
        max_batch=request.max_batch,
        max_tokens=request.max_tokens,
        chunked=request.chunked,
        speculation=speculation,
        precision=Precision(request.precision),
        key_value_bytes=request.key_value_bytes,
        memory_part=parse_efficiency(request.memory_part),
    )


def _requests(request: InferenceGeneration) -> tuple[Request, ...]:
    if request.request_list is not None:
        return read_requests(request.request_list)
    rate = None if request.rate is None else float(_number(request.rate, "rate"))
    spread = float(_number(request.spread, "spread"))
    if spread > 1:
        raise RequestError(f"--spread {request.spread} is none of 0 to 1")
    return random_requests(request.requests, request.prompt, request.output_tokens, rate, spread, request.seed)


def _number(text: str, option: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise RequestError(f"--{option} '{text}' is no number such as 2.5")
    return Fraction(text)


def _described(card: ModelCard, plan: ServingPlan, asked: tuple[Request, ...], served: Served) -> Iterator[str]:
    prompts, outputs = sum(one.prompt for one in asked), sum(one.output for one in asked)
    yield f"{card.name}: {len(asked)} requests, {prompts} tokens of prompts, {outputs} to generate"
    pool = plan.pool
    for name, one, steps in (("prompts", plan.prefill, served.prefill_steps), ("requests", pool, served.steps)):
        if one:
            count, last = sum(map(len, steps)), max((step.end_ps for step in chain.from_iterable(steps)), default=0)
            yield (
                f"  {name}: {one.num_ranks} ranks = tp {one.tp} x dp {one.dp}{f'; ep {one.ep}' if one.ep > 1 else ''},"
                f" {count} steps, {format_time(last)} without communication"
            )
    largest = max(one.prompt + one.output for one in asked)
    kept = plan.key_values(card, pool, largest)
    room = "" if served.room is None else f"; {format_bytes(served.room)} are left, for {served.room // kept} such"
    yield (
        f"  memory of a rank: {format_bytes(served.weights)} weights, {format_bytes(kept)} keys and values of the"
        f" largest request ({largest} tokens){room}"
    )
