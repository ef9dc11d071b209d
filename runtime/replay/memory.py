"""Whether a replay's buffers fit into this machine."""

from hocket.base.errors import HocketError
from hocket.base.memory import available_bytes
from hocket.base.units import format_bytes
from hocket.runtime.replay.plan import ReplayPlan

__all__ = ["require_memory"]


def require_memory(plan: ReplayPlan) -> None:
    """Raises HocketError where the buffers of all ranks need more memory than this machine has available: of each rank
    those of its largest input and output, which all its operations share."""
    needs = [sum(program.buffer_bytes) for program in plan.programs]
    available = available_bytes()
    if sum(needs) <= available:
        return
    most = max(range(len(needs)), key=needs.__getitem__)
    program = plan.programs[most]
    largest = max(program.operations, key=lambda operation: sum(operation.buffer_bytes))
    raise HocketError(
        f"the buffers of {len(needs)} ranks need {format_bytes(sum(needs))}, and {format_bytes(available)} of memory"
        f" are available (rank {most} needs {format_bytes(needs[most])}, most of it for {largest.kind}): replay on more"
        " machines (torchrun, mpiexec), or a smaller job's traces"
    )
