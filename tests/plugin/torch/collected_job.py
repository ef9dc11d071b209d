"""A job of several processes without a launcher, as the tests run several at once."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Job"]


class Job:
    """`ranks` processes of a script that find each other by a free port; `variables` of all, `own` of each."""

    def __init__(self, script: Path, ranks: int = 2, own: Sequence[dict[str, str]] = (), **variables: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        fixed = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
        self.processes = [
            subprocess.Popen(
                [sys.executable, str(script)],
                env=os.environ | fixed | variables | {"RANK": str(rank)} | (own[rank] if own else {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]

    def said(self, rank: int) -> str:
        """The next line that the rank prints."""
        out = self.processes[rank].stdout
        assert out is not None
        return out.readline().rstrip("\n")

    def tell(self, *ranks: int) -> None:
        """An empty line for each of the ranks, for which they wait."""
        for rank in ranks:
            given = self.processes[rank].stdin
            assert given is not None
            print(file=given, flush=True)

    def end(self) -> list[subprocess.CompletedProcess[str]]:
        """What became of the ranks."""
        ended = []
        for process in self.processes:
            out, error = process.communicate(timeout=200)
            ended.append(subprocess.CompletedProcess(process.args, process.returncode, out, error))
        return ended
