"""Metrics over HTTP, for Prometheus to scrape."""

import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hocket.base.errors import HocketError, RequestError
from hocket.recording.metrics.families import Family
from hocket.recording.metrics.openmetrics import CLASSIC_TYPE, OPENMETRICS_TYPE, classic_text, openmetrics_text

__all__ = ["MetricsEndpoint", "listening_place"]

_LAST_PORT = 65535


def listening_place(address: str) -> tuple[str, int]:
    """Host ("": all) and port of ADDRESS:PORT. Raises RequestError for what is none."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()):
        raise RequestError(f"--listen {address}: expected ADDRESS:PORT or :PORT, as 127.0.0.1:9400 or :9400")
    if len(port) > 5 or int(port) > _LAST_PORT:
        raise RequestError(f"--listen {address}: port {port} is too large: ports are 0 (any free one) to {_LAST_PORT}")
    return host, int(port)


class MetricsEndpoint:
    """Serves `families`, the newest metrics, at /metrics of ADDRESS:PORT (`:9400` is all addresses of this machine).

    Raises HocketError, naming the address, where nothing can be served, and as `listening_place`.
    """

    def __init__(self, address: str) -> None:
        self.families: Sequence[Family] = ()
        try:
            self._server = ThreadingHTTPServer(listening_place(address), self._handler())
        except OSError as error:
            raise HocketError(f"--listen {address}: {error.strerror or error}") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="hocket-metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def close(self) -> None:
        """Serves no more."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] not in ("/", "/metrics"):
                    return self.send_error(404)
                modern = "application/openmetrics-text" in self.headers.get("Accept", "")
                body = (openmetrics_text if modern else classic_text)(endpoint.families).encode()
                self.send_response(200)
                self.send_header("Content-Type", OPENMETRICS_TYPE if modern else CLASSIC_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Scrapes are not worth a line each."""

        return Handler
