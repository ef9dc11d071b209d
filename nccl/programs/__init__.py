"""NCCL's algorithms as programs: what its kernels do for a call, to be proved, simulated, compared and written."""

from hocket.base.errors import ScheduleError
from hocket.base.registry import Registry
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.request import KINDS, NcclCall, NcclProgram
from hocket.schedule import Kernel

__all__ = ["KINDS", "PROGRAMS", "NcclCall", "NcclProgram", "nccl_call", "nccl_program", "program_of"]

# The files of this folder that hold them. A new one is one line.
_FILES = ("ring", "tree", "pat", "nvls", "nvls_tree", "collnet")
PROGRAMS: Registry[NcclBuilder] = Registry.of_files(
    "algorithm of NCCL", "hocket.nccl.programs", _FILES, "PROGRAMS", ScheduleError
)


def nccl_program(
    model: NcclModel,
    collective: str,
    size_bytes: int,
    algorithm: str | None = None,
    protocol: str | None = None,
    channels: int | None = None,
    root: int = 0,
) -> NcclProgram | Kernel:
    """The program or the kernel with which NCCL does a collective (NCCL's names; size as NCCL's and nccl-tests').

    What is not given is NCCL's choice. Raises ScheduleError for what NCCL does not run here, with the reason, and for
    what is no program yet.
    """
    return program_of(nccl_call(model, collective, size_bytes, algorithm, protocol, channels, root))


def program_of(request: NcclCall) -> NcclProgram | Kernel:
    """The program or the kernel that answers a request; raises ScheduleError as `nccl_program`."""
    builder = PROGRAMS.named(request.algorithm)
    if reason := builder.why_not(request):
        raise ScheduleError(f"{request.name}: NCCL does not run it for {request.collective} here: {reason}")
    return builder.build(request)


def nccl_call(
    model: NcclModel,
    collective: str,
    size_bytes: int,
    algorithm: str | None = None,
    protocol: str | None = None,
    channels: int | None = None,
    root: int = 0,
) -> NcclCall:
    """The call, with NCCL's choice of what is not given. Raises ScheduleError for what is none."""
    choice = model.choose(collective, [size_bytes])
    if algorithm is None:
        algorithm, protocol = ALGORITHMS[choice.algorithm[0]], PROTOCOLS[choice.protocol[0]]
    if protocol is None:
        terms = [term for term in model.terms(collective, size_bytes) if term.algorithm == algorithm and not term.out]
        protocol = min(terms, key=lambda term: term.time_us).protocol if terms else "Simple"
    if channels is None:
        channels = model.channels_for(algorithm, protocol, size_bytes)
    return NcclCall(model, collective, algorithm, protocol, channels, size_bytes, root)
