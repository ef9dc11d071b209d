"""Programs for another runtime."""

from hocket.schedule import Program
from hocket.translator.lowering.numbering import renumber
from hocket.translator.lowering.unfuse import unfuse
from hocket.translator.msccl.profile import Profile

__all__ = ["retarget"]


def retarget(program: Program, profile: Profile) -> Program:
    """The program as the profile's kernels can run it: without steps that they do not know, and with numbers of thread
    blocks that its dependencies can keep. Order, messages and results stay what they were."""
    return renumber(unfuse(program, profile), profile)
