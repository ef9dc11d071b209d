"""Lowering: from a schedule to an MSCCL++ plan that is proved before anyone sees it."""

from dataclasses import dataclass, replace

from msgspec import structs

from hocket.base.errors import ScheduleError
from hocket.base.units import format_limit
from hocket.schedule import Kind, Program, Schedule
from hocket.translator.lowering.heads import goes_over_switches
from hocket.translator.lowering.lower import lower
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.msccl.profiles import UNLIMITED
from hocket.translator.mscclpp.emit import emit_gpu
from hocket.translator.mscclpp.join import joined
from hocket.translator.mscclpp.limits import MAX_OPS
from hocket.translator.mscclpp.messages import deliver
from hocket.translator.mscclpp.multicast import multicast_gpus
from hocket.translator.mscclpp.node import RankNodes
from hocket.translator.mscclpp.plan import COLLECTIVE_NAMES, ExecutionPlan, PlanGpu
from hocket.translator.mscclpp.read import from_json
from hocket.translator.mscclpp.sizes import largest_bytes
from hocket.translator.mscclpp.verify import PlanProof, verify_plan
from hocket.translator.mscclpp.write import to_json

__all__ = ["PlanDraft", "TranslatedPlan", "draft_plan", "join_blocks", "lower_to_plan"]

_ONE_SIDED = replace(UNLIMITED, one_sided=True)
_MAX_CHANNELS = 64  # connections of a pair of ranks; each has a thread block at both ends
_SWITCH_BLOCKS = 8  # what it takes of 60 GB/s, NCCL's plan for a thread block, to fill an H100's 450 GB/s
_MAX_STEPS_TIMES_BLOCKS = 1 << 30  # beyond it a proof takes longer than half a minute, and more than 1 GB


@dataclass(frozen=True, slots=True)
class TranslatedPlan:
    """A plan, what was proved of it, and the program of sends and receives whose messages it puts (None: there is
    none, switches add and copy)."""

    plan: ExecutionPlan
    proof: PlanProof
    program: Program | None


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A plan that is not proved yet, which takes most of the time; `root` of a broadcast."""

    plan: ExecutionPlan
    program: Program | None
    root: int

    def joined(self) -> "PlanDraft | None":
        """With one thread block per rank and no semaphores, for small messages; None where it is over a limit, or ranks
        are on several machines."""
        plan = joined(self.plan)
        return None if plan is None else replace(self, plan=plan)

    def proved(self) -> TranslatedPlan:
        """As it is read back from its JSON. Raises ScheduleError or DeadlockError where it is not right."""
        plan = from_json(to_json(self.plan), self.plan.name)
        return TranslatedPlan(plan, verify_plan(plan, root=self.root), self.program)


def lower_to_plan(
    schedule: Schedule, lowering: Lowering | None = None, *, ranks_per_node: int | None = None
) -> TranslatedPlan:
    """The schedule as an MSCCL++ plan, as it is read back from its JSON, with its proof.

    Thread blocks are those of `hocket.translator.lower`; nobody waits for room at a receiver, since every message has a
    place of its own: the one where it belongs, or scratch. `protocol` LL sends packets (small sizes), Simple puts and
    signals. Ranks of one machine of the topology, or of one block of `ranks_per_node`, talk over memory channels,
    others over port channels. Blocks of more than 64 ops are spread over more connections. Where switches of one
    machine add and copy, the plan lets them (NVLS), in as many thread blocks per rank as `channels` says, else 8.

    Raises ScheduleError with the reason when MSCCL++ cannot do the collective, or the plan does not fit, and it or
    DeadlockError when it is not proved.
    """
    return draft_plan(schedule, lowering, ranks_per_node=ranks_per_node).proved()


def draft_plan(
    schedule: Schedule,
    lowering: Lowering | None = None,
    *,
    ranks_per_node: int | None = None,
    lowered: dict[int, Program] | None = None,
) -> PlanDraft:
    """As `lower_to_plan`, with no proof. `lowered`: the schedule's programs by their channels, which drafts of the same
    name for the same kind of call have alike. Raises ScheduleError as that does."""
    asked = lowering or Lowering()
    if (asked.slots, asked.paired) != (None, None) or (asked.instances or 1) > 1:
        raise ScheduleError("MSCCL++ plans have no slots, no shared thread blocks and no instances: leave them open")
    kind, protocol, channels = schedule.collective.kind, asked.wire_protocol, asked.channels or 1
    if kind not in COLLECTIVE_NAMES:
        raise ScheduleError(f"MSCCL++ plans have no {kind}; they have {', '.join(COLLECTIVE_NAMES)}")
    if protocol not in ("Simple", "LL"):
        raise ScheduleError(f"no protocol '{protocol}' in MSCCL++ plans; protocols: Simple, LL")
    if protocol == "LL" and kind is Kind.BROADCAST:
        raise ScheduleError(
            "packets of a broadcast: its root hears from nobody, and would overwrite packets that were not read yet in "
            "the next call but one; use Simple"
        )
    nodes = RankNodes.of(schedule, ranks_per_node)
    if goes_over_switches(schedule):
        return _over_switches(schedule, asked, nodes)
    known = {} if lowered is None else lowered
    while True:
        if channels not in known:
            plain = Lowering(channels=channels, name=asked.name, in_place=asked.in_place)
            known[channels] = lower(schedule, _ONE_SIDED, plain)
        program = known[channels]
        _refuse_endless(program)
        gpus, longest = _gpus(program, nodes, packets=protocol == "LL")
        if longest <= MAX_OPS:
            break
        if -(-channels * longest // MAX_OPS) > _MAX_CHANNELS:
            held = f"{_MAX_CHANNELS} connections of {MAX_OPS} hold {_MAX_CHANNELS * MAX_OPS}"
            raise ScheduleError(
                f"{program.name} does not fit MSCCL++ 0.9: rank {len(gpus) - 1} needs {channels * longest} ops for a "
                f"peer; {held}; use fewer chunks, or an algorithm of fewer messages"
            )
        channels = -(-channels * longest // MAX_OPS)
    plan = ExecutionPlan(
        name=program.name,
        collective=COLLECTIVE_NAMES[kind],
        protocol="LL" if protocol == "LL" else "Simple",
        in_place=program.in_place,
        gpus=gpus,
        use_double_scratch_buffer=protocol == "LL",
        min_message_size=asked.min_bytes,
    )
    return _sized(plan, asked, program.root, replace(program, protocol=protocol))


def join_blocks(made: TranslatedPlan, root: int = 0) -> TranslatedPlan | None:
    """The plan as `PlanDraft.joined` has it, proved. Raises as `lower_to_plan` when it is not."""
    one = PlanDraft(made.plan, made.program, root).joined()
    return None if one is None else one.proved()


def _over_switches(schedule: Schedule, asked: Lowering, nodes: RankNodes) -> PlanDraft:
    """The plan of a schedule that lets switches add and copy."""
    collective = schedule.collective
    if asked.wire_protocol == "LL":
        raise ScheduleError(f"{schedule.generator}: no packets go over switches that add and copy; use Simple")
    in_place = asked.in_place is not False
    plan = ExecutionPlan(
        name=asked.name or f"{collective.kind}_{schedule.generator}",
        collective=COLLECTIVE_NAMES[collective.kind],
        protocol="Simple",
        in_place=in_place,
        gpus=multicast_gpus(schedule, nodes, asked.channels or _SWITCH_BLOCKS, in_place=in_place),
        min_message_size=asked.min_bytes,
    )
    return _sized(plan, asked, collective.root, None)


def _sized(plan: ExecutionPlan, asked: Lowering, root: int, program: Program | None) -> PlanDraft:
    """The plan for the sizes asked for."""
    largest = largest_bytes(plan)
    if asked.max_bytes > largest:
        raise ScheduleError(
            f"messages of {format_limit(asked.max_bytes)} do not fit: the runtime's offsets of 32 bits reach "
            f"{format_limit(largest)}; give a smaller --max-bytes"
        )
    return PlanDraft(structs.replace(plan, max_message_size=asked.max_bytes or largest), program, root)


def _refuse_endless(program: Program) -> None:
    """Raises ScheduleError for a program whose plan could not be proved in time: every event is ordered after those of
    all thread blocks."""
    blocks = sum(len(gpu.thread_blocks) for gpu in program.gpus)
    steps = sum(len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks)
    if steps * blocks > _MAX_STEPS_TIMES_BLOCKS:
        raise ScheduleError(
            f"{program.name} is too large to be proved as a plan: {steps} steps times {blocks} thread blocks of all "
            f"ranks are {steps * blocks}, limit {_MAX_STEPS_TIMES_BLOCKS}; synthesize it with fewer --chunks, or take "
            "an algorithm of fewer messages"
        )


def _gpus(program: Program, nodes: RankNodes, packets: bool) -> tuple[tuple[PlanGpu, ...], int]:
    """Each rank's part, and the most ops of a thread block; the last part is the first that has too many."""
    delivery = deliver(program, nodes, packets=packets)
    gpus: list[PlanGpu] = []
    longest = 0
    while len(gpus) < program.num_ranks and longest <= MAX_OPS:
        gpus.append(emit_gpu(program, delivery, nodes, len(gpus), packets=packets))
        longest = max(longest, *(len(block.ops) for block in gpus[-1].thread_blocks), 0)
    return tuple(gpus), longest
