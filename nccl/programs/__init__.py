"""NCCL's algorithms as programs: what its kernels do for a call, to be proved, simulated, compared and written."""

from collections.abc import Callable, Mapping

from hocket.base.errors import ScheduleError
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.programs.collnet import collnet_chain, collnet_direct
from hocket.nccl.programs.nvls import nvls
from hocket.nccl.programs.nvls_tree import nvls_tree
from hocket.nccl.programs.pat import pat
from hocket.nccl.programs.request import KINDS, NcclCall, NcclProgram
from hocket.nccl.programs.ring import ring
from hocket.nccl.programs.tree import tree
from hocket.schedule import Kernel

__all__ = ["BUILDERS", "KINDS", "NcclCall", "NcclProgram", "nccl_program"]

#: The algorithms, by NCCL's names: as programs of thread blocks, or as kernels over switches that compute.
BUILDERS: Mapping[str, Callable[[NcclCall], NcclProgram | Kernel]] = {
    "Ring": ring,
    "Tree": tree,
    "PAT": pat,
    "NVLS": nvls,
    "NVLSTree": nvls_tree,
    "CollNetDirect": collnet_direct,
    "CollNetChain": collnet_chain,
}


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
    algorithms that are no programs yet.
    """
    request = _request(model, collective, size_bytes, algorithm, protocol, channels, root)
    if request.algorithm not in BUILDERS:
        raise ScheduleError(f"{request.name}: simulated are {', '.join(BUILDERS)}; choose one of them")
    request.check_runs()
    return BUILDERS[request.algorithm](request)


def _request(
    model: NcclModel,
    collective: str,
    size_bytes: int,
    algorithm: str | None,
    protocol: str | None,
    channels: int | None,
    root: int,
) -> NcclCall:
    choice = model.choose(collective, [size_bytes])
    if algorithm is None:
        algorithm, protocol = ALGORITHMS[choice.algorithm[0]], PROTOCOLS[choice.protocol[0]]
    if protocol is None:
        terms = [term for term in model.terms(collective, size_bytes) if term.algorithm == algorithm and not term.out]
        protocol = min(terms, key=lambda term: term.time_us).protocol if terms else "Simple"
    if channels is None:
        channels = model.channels_for(algorithm, protocol, size_bytes)
    return NcclCall(model, collective, algorithm, protocol, channels, size_bytes, root)
