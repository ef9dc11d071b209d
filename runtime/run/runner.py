"""From a program's file, MSCCL XML or JSON, or a bundle to a job: read, prove, refuse what cannot be run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError
from hocket.base.memory import available_bytes
from hocket.base.text import shell_word
from hocket.base.units import exact_bytes, format_bytes
from hocket.runtime.engine.library import Library, read_library, read_one
from hocket.runtime.run.buffers import input_output_elements
from hocket.runtime.run.job import Job, RunTask
from hocket.runtime.run.launch import check_transport
from hocket.translator.bundle import Bundle, read_bundle
from hocket.translator.mscclpp import PLAN_RUNTIME

__all__ = ["prepare", "prepare_bundle"]

_FILES = (".schedule", ".xml", ".json")


def prepare(
    path: Path | str,
    transport: str,
    ranks: int | None,
    sizes: Sequence[int],
    *,
    root: int | None = None,
    verify: bool = True,
    **options: Any,
) -> Job:
    """The job that runs the file on `ranks` processes (None: as many as the file is for); `options` as in `RunTask`.

    The program is proved first, at the FIFO depth of its protocol, unless `verify` is false. Raises FormatError,
    ScheduleError or DeadlockError for a file that is wrong, HocketError for a request it does not fit, and for a
    transport that is not installed.
    """
    path = Path(path)
    check_transport(transport, options.get("compare", False))
    library = _runnable(Library(str(path), [read_one(path, path.parent, root, verify)]), transport)
    job = _job(library, transport, ranks, sizes, **options)
    for size in sizes:
        _check_chunks(job, size)
    return job


def prepare_bundle(
    folder: Path, transport: str, ranks: int | None, sizes: Sequence[int], *, verify: bool = True, **options: Any
) -> Job:
    """The job that runs each size by the program of a bundle that serves it; as `prepare`. Raises HocketError, too,
    where none serves any of the sizes, and FormatError for a folder that is no bundle."""
    check_transport(transport, False)
    bundle = read_bundle(folder)
    if bundle.runtime == PLAN_RUNTIME:
        raise HocketError(
            f"{folder}: MSCCL++ plans write into each other's memory, which no transport here can; make programs for "
            f"the executor and run those: {_for_executor(bundle)}"
        )
    job = _job(_runnable(read_library(str(folder), verify), transport), transport, ranks, sizes, **options)
    if not any(job.served_by(size, way) for size in sizes for way in (True, False)):
        raise HocketError(f"{folder}: no file is for any of these sizes: {job.choice(sizes[0], True)}")
    return job


def _for_executor(bundle: Bundle) -> str:
    """The command that makes a bundle of the same collective that can be run here: from the files that it was made
    from, or, where their names are those of algorithms that a synthesis found, by a synthesis again."""
    sources = sorted({file.source for file in bundle.files})
    if all(source.endswith(_FILES) for source in sources):
        return f"hocket translate {' '.join(map(shell_word, sources))} --to executor --bundle DIR"
    sizes = sorted({each.size_bytes for file in bundle.files for each in file.predicted})
    size = f"{exact_bytes(sizes[0])}..{exact_bytes(sizes[-1])}:4" if len(sizes) > 1 else exact_bytes(*sizes)
    root = f" --root {bundle.root}" * bool(bundle.root)
    network = shell_word(bundle.topology) if ":" in bundle.topology else "FILE"
    command = f"hocket synthesize {bundle.collective} -t {network} -s {size}{root} --for executor -o DIR"
    return command if network != "FILE" else f"{command} (FILE: the topology {bundle.topology})"


def _runnable(library: Library, transport: str) -> Library:
    """Its programs that the transport runs. Raises HocketError where there is none."""
    found = library if transport == "device" else library.of_connections()
    if isinstance(found, str):
        raise HocketError(f"{library.source}: {found}: give --transport device")
    return found


def _job(library: Library, transport: str, ranks: int | None, sizes: Sequence[int], **options: Any) -> Job:
    program = library.algorithms[0].program
    if ranks not in (None, program.num_ranks):
        raise HocketError(
            f"{library.source}: made for ngpus={program.num_ranks}, asked to run on {ranks} ranks; use "
            f"-n {program.num_ranks} or translate a schedule for {ranks} ranks"
        )
    task = RunTask(program.kind, program.num_ranks, program.root, transport, tuple(sizes), **options)
    _check_memory(task)
    return Job(task, library)


def _check_memory(task: RunTask) -> None:
    """Raises HocketError where the inputs and outputs of all ranks do not fit this machine."""
    size = max(task.sizes)
    needed, available = task.num_ranks * sum(input_output_elements(task.kind, task.num_ranks, size)), available_bytes()
    if needed > available:
        raise HocketError(
            f"size {format_bytes(size)}: inputs and outputs of {task.num_ranks} ranks take {format_bytes(needed)} of "
            f"memory, and {format_bytes(available)} are available: give a smaller size"
        )


def _check_chunks(job: Job, size: int) -> None:
    """Raises HocketError for a size that a runtime of MSCCL would not run the file for: the engine would pad it."""
    task, chunks = job.task, job.library.algorithms[0].program.chunks_per_loop
    unit = chunks * task.elements.size_bytes
    if size % unit:
        nearest = max(round(size / unit), 1) * unit
        raise HocketError(
            f"size {size} B: its {size / task.elements.size_bytes:g} {task.data_type} elements cannot be cut into "
            f"nchunksperloop={chunks} equal chunks (MSCCL would silently fall back to its stock algorithm); use a "
            f"positive multiple of {unit} B, such as {nearest}"
        )
