"""How finely kernels split the steps of a program at a size: a message has clamp(slice / ceil(bytes / chunks), 1, 71)
chunks of a step, with the protocol's slice."""

from hocket.schedule import Program
from hocket.translator.msccl.profile import Profile

__all__ = ["largest_of_count", "least_count"]


def largest_of_count(program: Program, profile: Profile, count: int) -> int:
    """The largest buffer, in bytes, at which so many of a step's chunks, or the whole step, go into a message."""
    return program.chunks_per_loop * (profile.protocols[program.protocol].slice_bytes // count)


def least_count(program: Program, profile: Profile) -> int:
    """The fewest chunks that a step's messages have in any call of the program's window; 1 without an end of it."""
    chunk_bytes = -(-program.max_bytes // program.chunks_per_loop)
    if not chunk_bytes:
        return 1
    return min(profile.max_count, max(1, profile.protocols[program.protocol].slice_bytes // chunk_bytes))
