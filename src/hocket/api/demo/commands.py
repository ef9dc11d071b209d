"""Runs `hocket` commands the way a user would type them, and keeps a log of all they print."""

import subprocess
import sys
from pathlib import Path

from hocket.api.command_line import words_of
from hocket.api.progress import Progress
from hocket.api.request import Request
from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import write_file

__all__ = ["Commands"]


class Commands:
    """Runs commands in the demo's folder; `log.txt` there gets each command and its output."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self.say = progress.say
        self._log: list[str] = []
        self._keep("")

    def ask(self, request: Request) -> str:
        """Runs the command that makes the request, and returns what it printed. Raises HocketError when it fails."""
        return self.hocket(*words_of(request))

    def hocket(self, *arguments: str) -> str:
        """Runs `hocket ARGUMENTS` and returns what it printed. Raises HocketError when it fails."""
        shown = "hocket " + " ".join(arguments)
        self.say(f"  $ {shown}")
        done: subprocess.CompletedProcess[str] = processes.run(
            [sys.executable, "-m", "hocket", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._keep(f"$ {shown}\n{done.stdout}\n")
        if done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode:
            raise HocketError(f"'{shown}' ended with exit code {done.returncode}:", *done.stdout.strip().splitlines())
        return done.stdout

    def _keep(self, text: str) -> None:
        self._log.append(text)
        write_file(self.folder / "log.txt", "".join(self._log))
