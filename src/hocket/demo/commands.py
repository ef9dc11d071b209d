"""Runs `hocket` commands the way a user would type them, and keeps a log of all they print."""

import os
import subprocess
import sys
from pathlib import Path

import typer

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import atomic_write

__all__ = ["Commands"]


class Commands:
    """Runs commands in the demo's folder; `log.txt` there gets each command and its output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "log.txt"
        with atomic_write(self._log):
            pass  # begins empty

    def hocket(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        """Runs `hocket ARGUMENTS` and returns what it printed. Raises HocketError when it fails."""
        return self.run([sys.executable, "-m", "hocket", *arguments], "hocket " + " ".join(arguments), environment)

    def run(self, command: list[str], shown: str, environment: dict[str, str] | None = None) -> str:
        """Runs a command, printed as `shown`, and returns what it printed. Raises HocketError when it fails."""
        typer.echo(f"  $ {shown}")
        done: subprocess.CompletedProcess[str] = processes.run(
            command,
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"$ {shown}\n{done.stdout}\n")
        if done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode:
            raise HocketError(f"'{shown}' ended with exit code {done.returncode}:", *done.stdout.strip().splitlines())
        return done.stdout
