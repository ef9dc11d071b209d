"""Commands that a part starts: limited in time, whatever they print kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hocket.base.files import growing_file
from hocket.base.processes import run

__all__ = ["TIMED_OUT", "clean_environment", "ended", "printed", "torchrun"]

TIMED_OUT = -1000
"""In place of an exit code."""


def printed(
    command: Sequence[str], limit_s: float, log: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Its exit code (minus a signal's number; TIMED_OUT) and all that it printed, which goes into `log`, too."""
    with growing_file(log) as file:
        start = file.seek(0, os.SEEK_END)
        try:
            code = run(
                command,
                timeout_s=limit_s,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            ).returncode
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        file.seek(start)
        return code, file.read().decode(errors="replace")


def ended(code: int, text: str) -> str:
    """How a command ended, in a line, with the last that it printed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "error" in line]
    last = (telling or lines or ["it printed nothing"])[-1]
    if code == TIMED_OUT:
        return f"was not done in time; the last that it printed: {last}"
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return f"{how}: {last}"


def torchrun(ranks: int, module: str, *arguments: str) -> list[str]:
    """The command of a job of this machine."""
    job = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    return [*job, "-m", module, *arguments]


def clean_environment(**more: str) -> dict[str, str]:
    """This process's, without what would collect, serve or trace the job, and with `more`."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HOCKET_")}
    settings = {"OMP_NUM_THREADS": "1"}
    if "GLOO_SOCKET_IFNAME" not in own:
        settings["GLOO_SOCKET_IFNAME"] = "lo"  # the host's name need not resolve for processes of one machine
    return own | settings | more
