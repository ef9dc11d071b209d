"""The ranks of one pool: their schedule, groups and traces."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hocket.chakra.trace import Trace
from hocket.workload.accelerators import Accelerator
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.ranks import GroupKind
from hocket.workload.llm.serving.batches import Batch, ServingStep, batches
from hocket.workload.llm.serving.plan import Pool, ServingPlan
from hocket.workload.llm.serving.program import Transfer, replica_program
from hocket.workload.llm.serving.requests import Request
from hocket.workload.llm.serving.work import StepWork, draft_shapes, shape_of

__all__ = ["Messages", "ServingPool"]

#: By world rank and number of the request: the other rank and the bytes of each message.
Messages = Mapping[int, Mapping[int, Transfer]]


class ServingPool:
    """Ranks are numbered replica by replica, after those of the pool `after`; `groups` are called `tp.0`, `ep.0`."""

    def __init__(
        self,
        card: ModelCard,
        plan: ServingPlan,
        pool: Pool,
        accelerator: Accelerator,
        after: "ServingPool | None" = None,
    ) -> None:
        self._card, self._plan, self._pool = card, plan, pool
        self._work = StepWork(card, plan, pool, accelerator)
        self._draft: tuple[StepWork, int] | None = None
        if plan.speculation:
            draft = StepWork(plan.speculation.draft, plan, Pool(pool.tp), accelerator)
            self._draft = draft, plan.speculation.tokens
        self._ranks = range(pool.num_ranks)
        if after:
            self._ranks = range(after._ranks.stop, after._ranks.stop + pool.num_ranks)
        self._said = {
            "world_size": plan.num_ranks,
            "model": card.name,
            "accelerator": accelerator.spec,
            "precision": str(plan.precision),
        }
        self.groups: dict[str, tuple[int, ...]] = {}
        self._names: dict[int, dict[str, str]] = {rank: {} for rank in self._ranks}
        for kind, size in ((GroupKind.TENSOR, pool.tp), (GroupKind.EXPERT, pool.ep)):
            before = sum(name.startswith(f"{kind}.") for name in after.groups) if after else 0
            self._add_groups(kind, size, before)

    def schedule(
        self,
        arrivals: Sequence[tuple[int, Request]],
        room: int | None,
        prompts: bool = True,
        outputs: bool = True,
    ) -> list[list[ServingStep]]:
        """The steps of each group of replicas that step together."""

        def size_of(tokens: int) -> int:
            return self._plan.key_values(self._card, self._pool, tokens)

        return batches(self._plan, self._pool, arrivals, size_of, room, self._time_ps, prompts, outputs)

    def replicas(self, steps: Sequence[Sequence[ServingStep]]) -> dict[int, range]:
        """The ranks that have each request, by its number."""
        found: dict[int, range] = {}
        for group, of_group in enumerate(steps):
            for step in of_group:
                for place, batch in enumerate(step.batches):
                    for item in batch:
                        first = (group * self._pool.together + place) * self._pool.tp
                        found[item.request.number] = self._ranks[first : first + self._pool.tp]
        return found

    def traces(
        self, steps: Sequence[Sequence[ServingStep]], sent: Messages | None = None, received: Messages | None = None
    ) -> Iterator[Trace]:
        """Those of its ranks, in their order; ranks of a replica share theirs but for messages."""
        sent, received = sent or {}, received or {}
        for replica in range(self._pool.dp):
            group, place = divmod(replica, self._pool.together)
            programs: dict[int | None, Trace] = {}
            for rank in self._ranks[replica * self._pool.tp : (replica + 1) * self._pool.tp]:
                out, back = sent.get(rank, {}), received.get(rank, {})
                key = rank if out or back else None
                if key not in programs:
                    programs[key] = replica_program(steps[group], place, self._work, self._draft, self._said, out, back)
                yield self._on_rank(programs[key], rank)

    def _on_rank(self, program: Trace, rank: int) -> Trace:
        names = self._names[rank]
        peers = np.array([rank, *range(self._plan.num_ranks), -1])  # the last is what an absent peer, -1, refers to
        return replace(
            program,
            strings=tuple(names.get(text, text) for text in program.strings),
            comm_src=peers[program.comm_src],
            comm_dst=peers[program.comm_dst],
        )

    def _add_groups(self, kind: GroupKind, size: int, first: int) -> None:
        for number in range(len(self._ranks) // size if size > 1 else 0):
            name = f"{kind}.{first + number}"
            self.groups[name] = tuple(self._ranks[number * size : (number + 1) * size])
            for rank in self.groups[name]:
                self._names[rank][kind.value] = name

    def _time_ps(self, together: tuple[Batch, ...]) -> int:
        """Computation of the slowest of the replicas that step together."""
        shapes = [shape_of(batch) for batch in together]
        return max(self._work.step_ps(shapes, place) + self._draft_ps(batch) for place, batch in enumerate(together))

    def _draft_ps(self, batch: Batch) -> int:
        if not self._draft:
            return 0
        work, guesses = self._draft
        return sum(work.step_ps([shape], 0) for shape in draft_shapes(batch, guesses))
