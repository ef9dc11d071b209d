"""What NCCL would do for a call, as MSCCL XML."""

from pathlib import Path

from hocket.api.nccl.naming import collectives_named, release_named, settings_named
from hocket.api.nccl.request import NcclProgramWriting
from hocket.api.program_text import program_lines
from hocket.api.progress import Progress
from hocket.api.reading import bytes_of, one_of
from hocket.api.result import Report
from hocket.base.collectives import called_among
from hocket.base.errors import ScheduleError
from hocket.nccl.programs import KINDS
from hocket.nccl.programs.spec import NcclAlgorithm, model_of_hosts
from hocket.schedule import Collective, Kernel
from hocket.topology.machines.hosts import hosts_of
from hocket.translator import rewrite

__all__ = ["perform"]


def perform(request: NcclProgramWriting, progress: Progress) -> Report:
    """Writes the program. Raises ScheduleError for algorithms that are kernels over switches."""
    known = [*map(str, KINDS.values())]
    (name,) = collectives_named([one_of("--collective", called_among(request.collective, known), known)])
    wanted = NcclAlgorithm.of("nccl" if request.algorithm is None else f"nccl:{request.algorithm}")
    release = release_named(request.version)
    model = model_of_hosts(hosts_of(request.topology, request.nodes), settings_named(request.settings, release))
    size_bytes = bytes_of("--size", request.size)
    found = wanted.program(model, Collective(KINDS[name], model.ranks, size_bytes, root=request.root))
    if isinstance(found, Kernel):
        raise ScheduleError(
            f"{found.name}: a kernel over switches that compute, which XML cannot say: take ring or tree"
        )
    written = rewrite(found.program, request.output, request.to)
    return Report(request, program_lines(written, Path(request.output), is_bounded=True))
