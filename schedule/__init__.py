"""What a collective is, and an algorithm for it: conditions, timed transfers, lowered programs, verification."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.schedule.bounds import lower_bound
    from hocket.schedule.certificate import certificate
    from hocket.schedule.collective import NAMED_KINDS, Collective, Kind
    from hocket.schedule.compose import concatenate, mirror, reverse
    from hocket.schedule.conditions import EVERYONE, Chunk, Conditions, RankSetTable, rank_sets
    from hocket.schedule.costs_file import Costs, read_costs, write_costs
    from hocket.schedule.counterexample import Arrow, Counterexample, StepPlace
    from hocket.schedule.exchange import Exchange, ExchangePlan
    from hocket.schedule.exchange_planning import plan_exchanges
    from hocket.schedule.execute import Proof, attempt, execute, least_safe_count
    from hocket.schedule.folded import AnySchedule, FoldedSchedule, Phase, TransferColumns
    from hocket.schedule.free_bounds import bound_of_any_chunks
    from hocket.schedule.joint import Joint, verify_together
    from hocket.schedule.kernel import Actions, Kernel, Move, Wait, Work
    from hocket.schedule.pace import Pace
    from hocket.schedule.passes import Passes
    from hocket.schedule.program import BUFFERS, STEP_ROW, Gpu, Program, Step, Steps, StepType, ThreadBlock
    from hocket.schedule.protocols import AMD, DEVICE, FIFO_DEPTH, MSCCLPP, NVIDIA, Protocol
    from hocket.schedule.rounds import Rounds, RoundShape, RoundSpool
    from hocket.schedule.schedule import Bound, Schedule, busiest_of
    from hocket.schedule.storage import load, load_expanded, save
    from hocket.schedule.switch_program import (
        STRIPE_BYTES,
        SWITCH_KINDS,
        SwitchProgram,
        SwitchRun,
        slice_bytes,
    )
    from hocket.schedule.switch_proof import SwitchProof, execute_switches
    from hocket.schedule.symmetry import Motion, Symmetry
    from hocket.schedule.timing import dependencies, first_ready_first, link_use_over_time, retime
    from hocket.schedule.verification import VerifyReport, verify

__all__ = [
    "AMD",
    "BUFFERS",
    "DEVICE",
    "EVERYONE",
    "FIFO_DEPTH",
    "MSCCLPP",
    "NAMED_KINDS",
    "NVIDIA",
    "STEP_ROW",
    "STRIPE_BYTES",
    "SWITCH_KINDS",
    "Actions",
    "AnySchedule",
    "Arrow",
    "Bound",
    "Chunk",
    "Collective",
    "Conditions",
    "Costs",
    "Counterexample",
    "Exchange",
    "ExchangePlan",
    "FoldedSchedule",
    "Gpu",
    "Joint",
    "Kernel",
    "Kind",
    "Motion",
    "Move",
    "Pace",
    "Passes",
    "Phase",
    "Program",
    "Proof",
    "Protocol",
    "RankSetTable",
    "RoundShape",
    "RoundSpool",
    "Rounds",
    "Schedule",
    "Step",
    "StepPlace",
    "StepType",
    "Steps",
    "SwitchProgram",
    "SwitchProof",
    "SwitchRun",
    "Symmetry",
    "ThreadBlock",
    "TransferColumns",
    "VerifyReport",
    "Wait",
    "Work",
    "attempt",
    "bound_of_any_chunks",
    "busiest_of",
    "certificate",
    "concatenate",
    "dependencies",
    "execute",
    "execute_switches",
    "first_ready_first",
    "least_safe_count",
    "link_use_over_time",
    "load",
    "load_expanded",
    "lower_bound",
    "mirror",
    "plan_exchanges",
    "rank_sets",
    "read_costs",
    "retime",
    "reverse",
    "save",
    "slice_bytes",
    "verify",
    "verify_together",
    "write_costs",
]
