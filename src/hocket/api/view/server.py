"""Serves a folder of results over HTTP: reads alone, and nothing outside the folder.

Pages run no script but Hocket's own (Content-Security-Policy), files of the folder in a sandbox of the browser. Other
names than this machine's are refused: else a page of anybody could have its own name lead here (DNS rebinding).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit

from hocket.api.view.pages import comparison_page, list_page, run_page
from hocket.api.view.runs import StoredRun, StoredRuns
from hocket.base.errors import HocketError
from hocket.recording.metrics.endpoint import listening_place
from hocket.report.page import content_policy

__all__ = ["ResultServer", "is_loopback"]

_TEXT = "text/plain; charset=utf-8"
_PAGE = "text/html; charset=utf-8"
#: What files are to the browser, by their endings; all others are downloads.
_TYPES = {
    **dict.fromkeys((".json", ".jsonl", ".csv", ".txt", ".yaml", ".yml", ".xml", ".md"), _TEXT),
    ".html": _PAGE,
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TIMEOUT_S = 30.0  # of a client that says nothing


class _Refused(Exception):
    """What is answered in place of a page."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class ResultServer:
    """Listens at ADDRESS:PORT for those who want to see the folder.

    Raises HocketError, naming the address, where nothing can be served, and RequestError for what is no address.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.root = Path(os.path.realpath(folder))
        self.runs = StoredRuns(self.root)
        try:
            self._server = ThreadingHTTPServer(listening_place(address), type("_Bound", (_Handler,), {"results": self}))
        except OSError as error:
            remedy = "; name another port, or 0 for any that is free"
            raise HocketError(f"--listen {address}: {error.strerror or error}{remedy}") from error
        self._server.daemon_threads = True

    @property
    def host(self) -> str:
        return str(self._server.server_address[0])

    @property
    def url(self) -> str:
        """Where the list of runs is."""
        return f"http://{self.host}:{self._server.server_address[1]}/"

    def serve(self) -> None:
        """Serves until an exception, such as that of Ctrl-C, ends it."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._server.server_close()

    def run(self, path: str) -> StoredRun:
        """The run with that file. Raises _Refused where there is none."""
        for run in self.runs.all():
            if path in run.files:
                return run
        raise _Refused(HTTPStatus.NOT_FOUND, "there is no such run; it may have been removed: see the list of runs")

    def opened(self, path: str) -> BinaryIO:
        """A file below the folder, opened. Raises _Refused for all others: what a path, or a link that it leads to, has
        outside of the folder, and what is no plain file. What was opened is looked at, not what the name leads to."""
        absent = _Refused(HTTPStatus.NOT_FOUND, "there is no such file in the folder")
        parts = path.split("/")
        if "\0" in path or any(part.startswith(".") or not part for part in parts):
            raise absent
        try:
            descriptor = os.open(self.root.joinpath(*parts), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as error:
            raise absent from error
        place = os.path.realpath(f"/proc/self/fd/{descriptor}")
        inside = os.path.commonpath([place, self.root]) == str(self.root)
        if not inside or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise absent
        return os.fdopen(descriptor, "rb")


def _is_own_name(host: str, server: ResultServer) -> bool:
    """Whether a Host header names this machine: by an address, or as localhost: nobody can lead these elsewhere."""
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(:\d{1,5})?", host)
    if found is None:
        return False
    name = found[1].strip("[]").lower()
    try:
        address = ip_address(name)
    except ValueError:
        return name == "localhost"
    return address.is_loopback or not is_loopback(server.host)


class _Handler(BaseHTTPRequestHandler):
    """Answers one client; `results` is what it shows."""

    results: ResultServer
    timeout = _TIMEOUT_S
    server_version, sys_version = "Hocket", ""

    def do_GET(self) -> None:
        try:
            self._answer()
        except _Refused as refused:
            self._send(refused.status, _TEXT, f"{refused.why}\n".encode())
        except HocketError as error:
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, _TEXT, f"{error}\n".encode(errors="replace"))
        except ValueError:  # an address that is none
            self.send_error(HTTPStatus.BAD_REQUEST)
        except (ConnectionError, TimeoutError):  # the browser went away
            self.close_connection = True

    do_HEAD = do_GET  # what http.server calls

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Of http.server's own refusals: as plain text, which repeats nothing of the request."""
        self._send(HTTPStatus(code), _TEXT, f"{HTTPStatus(code).phrase}\n".encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """What a browser asks for is not worth a line each."""

    def _answer(self) -> None:
        if not _is_own_name(self.headers.get("Host", ""), self.results):
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, f"this server is called {self.results.url}")
        asked = urlsplit(self.path)
        _, _, rest = asked.path.removeprefix("/").partition("/")
        path = unquote(rest, errors="surrogateescape")
        if asked.path == "/":
            self._page(list_page(self.results.root, self.results.runs.all(), self.results.runs.left_out))
        elif asked.path.startswith("/run/"):
            self._page(run_page(self.results.root, self.results.run(path)))
        elif asked.path.startswith("/file/"):
            self._file(path)
        elif asked.path == "/compare":
            chosen = parse_qs(asked.query, errors="surrogateescape", max_num_fields=8)
            first, second = (self.results.run(chosen.get(name, [""])[0]) for name in ("first", "second"))
            self._page(comparison_page(self.results.root, first, second))
        elif asked.path == "/favicon.ico":
            self._send(HTTPStatus.NO_CONTENT, _TEXT, b"")
        else:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is no such page: the list of runs is at /")

    def _page(self, page: str) -> None:
        policy = f"{content_policy()}; form-action 'self'; frame-ancestors 'none'"
        self._send(HTTPStatus.OK, _PAGE, page.encode(errors="replace"), {"Content-Security-Policy": policy})

    def _file(self, path: str) -> None:
        with self.results.opened(path) as file:
            kind = _TYPES.get(os.path.splitext(path)[1].lower(), "application/octet-stream")
            self.send_response(HTTPStatus.OK)
            policy = f"{content_policy()}; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"
            self._send_headers(kind, os.fstat(file.fileno()).st_size, {"Content-Security-Policy": policy})
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    def _send(self, status: HTTPStatus, kind: str, body: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self._send_headers(kind, len(body), more or {"Content-Security-Policy": "default-src 'none'"})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_headers(self, kind: str, size: int, more: dict[str, str]) -> None:
        for name, value in ({"Content-Type": kind, "Content-Length": str(size)} | _HEADERS | more).items():
            self.send_header(name, value)
        self.end_headers()
