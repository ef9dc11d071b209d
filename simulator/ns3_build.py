"""The program that runs a job on ns-3, compiled once into the user's cache."""

import fcntl
import hashlib
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from hocket.base import processes
from hocket.base.cache import REMEDY, cache_folder
from hocket.base.errors import HocketError, SimulationError
from hocket.base.executables import cxx_compiler
from hocket.base.files import growing_file, make_folder
from hocket.base.scratch import hand_over, scratch_folder
from hocket.simulator.ns3 import HOW_TO_GET, Ns3, found

__all__ = ["built_witness"]

_SOURCE = Path(__file__).with_name("ns3_witness.cpp")
_LAST_LINES = 20


def built_witness(announce: Callable[[str], None] = lambda text: None) -> Path:
    """The program, from the cache where it was built before; else `announce` is told that it takes a while.

    Raises SimulationError where ns-3 or a compiler is not there, and with the compiler's words where it fails.
    """
    ns3 = found()
    if ns3 is None:
        raise SimulationError(f"model ns3: ns-3 with its headers is not installed here: {HOW_TO_GET}")
    try:
        compiler = cxx_compiler()
    except HocketError as error:
        raise SimulationError(f"model ns3: {error}") from error
    before, behind = [*compiler, *ns3.compiler_flags], ns3.linker_flags
    digest = hashlib.sha256("\0".join([*before, *behind, ns3.version]).encode() + _SOURCE.read_bytes()).hexdigest()
    program = cache_folder().resolve() / f"hocket-ns3-{digest[:16]}"
    if _is_built(program):
        return program
    with growing_file(make_folder(program.parent, 0o700) / "hocket-ns3.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_built(program):
            _require_own(program.parent)
            announce(f"compiling the witness for ns-3 {ns3.version} ({ns3.origin}) into {program.parent}, once")
            with scratch_folder("ns3-build") as folder:
                _compile([*before, str(_SOURCE), "-o", str(folder / "witness"), *behind], ns3)
                hand_over(program, (folder / "witness").read_bytes())
            program.chmod(0o755)
            if not os.access(program, os.X_OK):
                raise SimulationError(f"{program}: nothing can be run there (mounted with noexec?): {REMEDY}")
    return program


def _is_built(program: Path) -> bool:
    """Raises SimulationError for a program that another user than root could have put there."""
    if not os.access(program, os.X_OK):
        return False
    for path in (program.parent, program):
        _require_own(path)
    return True


def _require_own(path: Path) -> None:
    if path.stat().st_uid not in (os.getuid(), 0) or path.stat().st_mode & 0o022:
        raise SimulationError(f"{path}: others may write there, so it is not run; chmod go-w, or {REMEDY}")


def _compile(command: list[str], ns3: Ns3) -> None:
    try:
        done = processes.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise SimulationError(f"{command[0]}: cannot be run to build for ns-3: {error.strerror}") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).splitlines()[-_LAST_LINES:]
        raise SimulationError(f"ns-3 {ns3.version}: the witness could not be built by: {shlex.join(command)}", *said)
