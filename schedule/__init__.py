"""What a collective is, and an algorithm for it: conditions, timed transfers, lowered programs, verification."""

from hocket.schedule.bounds import lower_bound
from hocket.schedule.collective import NAMED_KINDS, Collective, Kind
from hocket.schedule.compose import MIRROR, concatenate, reverse
from hocket.schedule.execute import FIFO_DEPTH, Proof, execute
from hocket.schedule.folded import FoldedSchedule, Phase, TransferColumns
from hocket.schedule.program import BUFFERS, Gpu, Program, Step, StepType, ThreadBlock
from hocket.schedule.rounds import Rounds, RoundShape, RoundSpool
from hocket.schedule.schedule import Bound, Schedule, busiest_link_ps
from hocket.schedule.storage import load, load_expanded, save
from hocket.schedule.symmetry import Motion, Symmetry
from hocket.schedule.timing import dependencies, retime
from hocket.schedule.verification import VerifyReport, verify

__all__ = [
    "BUFFERS",
    "FIFO_DEPTH",
    "MIRROR",
    "NAMED_KINDS",
    "Bound",
    "Collective",
    "FoldedSchedule",
    "Gpu",
    "Kind",
    "Motion",
    "Phase",
    "Program",
    "Proof",
    "RoundShape",
    "RoundSpool",
    "Rounds",
    "Schedule",
    "Step",
    "StepType",
    "Symmetry",
    "ThreadBlock",
    "TransferColumns",
    "VerifyReport",
    "busiest_link_ps",
    "concatenate",
    "dependencies",
    "execute",
    "load",
    "load_expanded",
    "lower_bound",
    "retime",
    "reverse",
    "save",
    "verify",
]
