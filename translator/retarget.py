"""Programs for another runtime."""

from hocket.schedule import Program
from hocket.translator.numbering import renumber
from hocket.translator.profiles import Profile
from hocket.translator.unfuse import unfuse

__all__ = ["retarget"]


def retarget(program: Program, profile: Profile) -> Program:
    """The program as the profile's kernels can run it: without steps that they do not know, and with numbers of thread
    blocks that its dependencies can keep. Order, messages and results stay what they were."""
    return renumber(unfuse(program, profile), profile)
