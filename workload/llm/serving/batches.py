"""Continuous batching: which requests each step of each replica works on.

The clock that decides who has arrived and who is done counts computation alone: communication, which only a network
prices, makes every step later, not other.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hocket.base.errors import Infeasible
from hocket.base.units import format_bytes
from hocket.workload.llm.serving.plan import Pool, ServingPlan
from hocket.workload.llm.serving.requests import Request

__all__ = ["Batch", "Item", "ServingStep", "batches"]


@dataclass(frozen=True)
class Item:
    """What a step does for a request: `tokens` new ones after `before`; `emitted` of the output come of it."""

    request: Request
    tokens: int
    before: int
    emitted: int
    prefill: bool
    begins: bool = False
    ends: bool = False


Batch = tuple[Item, ...]


@dataclass(frozen=True)
class ServingStep:
    """One step of replicas that step together, a batch for each; before it they had nothing to do for `idle_ps`."""

    batches: tuple[Batch, ...]
    idle_ps: int
    end_ps: int


@dataclass
class _Running:
    request: Request
    held: int = 0  # tokens whose keys and values are there
    emitted: int = 0
    steps: int = 0  # of decoding

    @property
    def in_prompt(self) -> bool:
        return self.held < self.request.prompt


@dataclass
class _Replica:
    waiting: deque[tuple[int, Request]]
    running: list[_Running] = field(default_factory=list)
    used: int = 0


class _Scheduler:
    def __init__(
        self, plan: ServingPlan, size_of: Callable[[int], int], room: int | None, prompts: bool, outputs: bool
    ):
        self._plan, self._size_of, self._room = plan, size_of, room
        self._prompts, self._outputs = prompts, outputs

    def batch(self, replica: _Replica, now: int) -> Batch:
        self._admit(replica, now)
        if self._plan.chunked:
            decoding = [self._decoded(one) for one in replica.running if not one.in_prompt]
            left = self._plan.max_tokens - sum(item.tokens for item in decoding)
            return (*decoding, *self._prompts_of(replica, left, whole=False))
        return self._prompts_of(replica, self._plan.max_tokens, whole=True) or tuple(
            map(self._decoded, replica.running)
        )

    def finish(self, replica: _Replica, batch: Batch) -> None:
        done = {item.request.number: item for item in batch}
        for one in replica.running:
            if item := done.get(one.request.number):
                one.held = item.before + item.tokens if item.prefill else one.held + item.emitted
                one.emitted += item.emitted
                one.steps += not item.prefill
                if item.ends:
                    replica.used -= self._size(one.request)
        replica.running = [
            one for one in replica.running if not (one.request.number in done and done[one.request.number].ends)
        ]

    def _admit(self, replica: _Replica, now: int) -> None:
        """The first that arrived, as long as there is a place and room for all of its tokens: none is preempted."""
        while replica.waiting and replica.waiting[0][0] <= now and len(replica.running) < self._plan.max_batch:
            size = self._size(replica.waiting[0][1])
            if self._room is not None and replica.used + size > self._room:
                break
            request = replica.waiting.popleft()[1]
            held = 0 if self._prompts else request.prompt
            replica.running.append(_Running(request, held, 0 if self._prompts else 1))
            replica.used += size

    def _size(self, request: Request) -> int:
        return self._size_of(request.prompt + (request.output if self._outputs else 0))

    def _prompts_of(self, replica: _Replica, left: int, whole: bool) -> Batch:
        items: list[Item] = []
        for one in replica.running:
            tokens = one.request.prompt - one.held
            if not one.in_prompt or left <= 0 or (whole and items and tokens > left):
                continue
            tokens = tokens if whole else min(tokens, left)
            left -= tokens
            complete = one.held + tokens == one.request.prompt
            ends = complete and (not self._outputs or one.request.output == 1)
            items.append(Item(one.request, tokens, one.held, int(complete), True, one.held == 0, ends))
        return tuple(items)

    def _decoded(self, one: _Running) -> Item:
        """A step of decoding: a token, or with speculation a draft of them and one more, of which some are right."""
        emitted, tokens = 1, 1
        if speculation := self._plan.speculation:
            mean = speculation.accepted + 1
            emitted, tokens = int((one.steps + 1) * mean) - int(one.steps * mean), speculation.tokens + 1
        emitted = min(emitted, one.request.output - one.emitted)
        begins = not self._prompts and one.steps == 0
        ends = one.emitted + emitted == one.request.output
        return Item(one.request, tokens, one.held, emitted, False, begins, ends)


def batches(
    plan: ServingPlan,
    pool: Pool,
    arrivals: Sequence[tuple[int, Request]],
    size_of: Callable[[int], int],
    room: int | None,
    time_ps: Callable[[tuple[Batch, ...]], int],
    prompts: bool = True,
    outputs: bool = True,
) -> list[list[ServingStep]]:
    """The steps of each group of replicas that step together.

    Requests go round the replicas in the order of `arrivals` (picoseconds, request). `size_of`: bytes of a rank's keys
    and values by tokens, `room` for them; `time_ps`: computation of a step. `prompts`, `outputs`: what this pool does.
    Raises Infeasible for a request that never fits.
    """
    for _, request in arrivals:
        needed = size_of(request.prompt + (request.output if outputs else 0))
        if room is not None and needed > room:
            raise Infeasible(
                f"plan: the keys and values of request {request.number}, {request.prompt} and {request.output} tokens,"
                f" take {format_bytes(needed)} on a rank, and {format_bytes(room)} are left beside the weights: choose"
                " more tp, or a narrower format of keys and values"
            )
    order = sorted(arrivals, key=lambda arrival: (arrival[0], arrival[1].number))
    replicas = [_Replica(deque(order[first :: pool.dp])) for first in range(pool.dp)]
    scheduler = _Scheduler(plan, size_of, room, prompts, outputs)
    return [
        _steps(scheduler, replicas[first : first + pool.together], time_ps)
        for first in range(0, pool.dp, pool.together)
    ]


def _steps(
    scheduler: _Scheduler, replicas: Sequence[_Replica], time_ps: Callable[[tuple[Batch, ...]], int]
) -> list[ServingStep]:
    steps: list[ServingStep] = []
    now = idle = 0
    while any(replica.waiting or replica.running for replica in replicas):
        found = tuple(scheduler.batch(replica, now) for replica in replicas)
        if not any(found):
            later = min(replica.waiting[0][0] for replica in replicas if replica.waiting)
            now, idle = later, idle + later - now
            continue
        now += time_ps(found)
        steps.append(ServingStep(found, idle, now))
        idle = 0
        for replica, batch in zip(replicas, found, strict=True):
            scheduler.finish(replica, batch)
    return steps
