"""A server of `hocket view`, started, asked and ended."""

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def viewed(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server, and its address."""
    command = [sys.executable, "-m", "hocket", "view", str(folder), "--listen", "127.0.0.1:0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            assert process.stdout
            found = re.search(r"http://(127\.0\.0\.1:\d+)/", process.stdout.readline())
            assert found, process.stderr and process.stderr.read()
            yield process, found[1]
        finally:
            process.kill()


def asked(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), body
