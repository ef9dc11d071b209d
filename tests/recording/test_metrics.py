"""Metrics of a job that runs: what they count, and that Prometheus, its strict parser and OTLP's receivers take it."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import streams
from streams import END, call, done, meta, wait

import hocket
from hocket.base.errors import HocketError, RequestError
from hocket.recording.metrics.families import Family
from hocket.recording.metrics.openmetrics import classic_text, openmetrics_text
from hocket.recording.metrics.otlp import otlp_json, push
from hocket.recording.metrics.reader import MetricsReader

MS = 1_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ranks, rank 1 always 2 ms late to all_reduces of 8 MB that take 4 ms; two steps of 10 ms."""
    for rank in range(2):
        late = 2 * MS * rank
        lines: list[Any] = [meta(rank), streams.group([0, 1], name='it\'s "a"\\b')]
        for number in range(3):
            begin = 10 * MS * number
            lines += call(number, begin + late, **{"in": 8_000_000, "out": 8_000_000, "async": 1})
            lines += [done(number, begin + 6 * MS), wait(number, begin + 5 * MS, begin + 6 * MS)]
            lines.append({"k": "step", "n": number, "t": begin + 9 * MS})
        streams.write(tmp_path, rank, *lines)
    return tmp_path


def value(families: Any, name: str, **labels: str) -> Any:
    (family,) = [family for family in families if family.name == f"hocket_{name}"]
    return next(value for found, value in family.samples if dict(found).items() >= labels.items())


def test_what_is_counted(folder: Path) -> None:
    families = MetricsReader(folder).read()
    assert value(families, "calls", kind="all_reduce") == 6
    assert value(families, "collectives") == 3
    assert value(families, "transfer_seconds") == pytest.approx(0.012)
    assert value(families, "skew_seconds") == pytest.approx(0.006)
    assert value(families, "exposed_seconds") == pytest.approx(0.006)
    assert value(families, "busbw_bytes_per_second") == pytest.approx(2e9)  # 2 (n - 1) / n is 1
    assert [value(families, "rank_late_seconds", rank=str(rank)) for rank in (0, 1)] == [0, pytest.approx(0.006)]
    steps = value(families, "step_seconds", rank="0")
    assert (sum(steps.counts), steps.sum) == (2, pytest.approx(0.02))


def test_it_goes_on_where_it_stopped(folder: Path) -> None:
    reader = MetricsReader(folder)
    reader.read()
    assert not reader.is_over()
    for rank in range(2):
        path = folder / "stream" / f"rank{rank}.stream"
        more = streams.lines(f"c 3 2 3 {40 * MS} 1", done(3, 42 * MS), END)
        path.write_text(path.read_text() + more)
    families = reader.read()
    assert value(families, "collectives") == 4
    assert value(families, "busbw_bytes_per_second") == pytest.approx(4e9)  # of the new one alone
    assert reader.is_over()


def test_the_strict_parser_takes_it(folder: Path) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = MetricsReader(folder).read()
    parsed = {family.name: family for family in parser.text_string_to_metric_families(openmetrics_text(families))}
    assert len(parsed) == len(families)
    sample = parsed["hocket_collectives"].samples[0]
    assert (sample.name, sample.labels["group"], sample.value) == ("hocket_collectives_total", 'it\'s "a"\\b', 3)
    assert parsed["hocket_busbw_bytes_per_second"].unit == "bytes_per_second"
    classic = pytest.importorskip("prometheus_client.parser").text_string_to_metric_families(classic_text(families))
    assert {family.name for family in classic} == set(parsed)


def test_control_characters_are_escaped() -> None:
    text = openmetrics_text([Family("hocket_x", "gauge", "", "h\r", [((("group", 'a\n"\x1b\\'),), 1.5)])])
    assert text == '# TYPE hocket_x gauge\n# HELP hocket_x h\\\\x0d\nhocket_x{group="a\\n\\"\\\\x1b\\\\"} 1.5\n# EOF\n'


def test_otlp_is_posted_and_a_refusal_is_named(folder: Path) -> None:
    taken: list[Any] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    request = otlp_json(MetricsReader(folder).read(), {"service.name": "hocket"}, 1, 2)
    push(f"http://127.0.0.1:{server.server_port}", request)
    server.shutdown()
    server.server_close()
    ((path, kind, body),) = taken
    assert (path, kind) == ("/v1/metrics", "application/json")
    metrics = {m["name"]: m for m in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
    assert metrics["hocket.transfer"]["unit"] == "s"
    (point,) = metrics["hocket.transfer"]["sum"]["dataPoints"]
    assert point["asDouble"] == pytest.approx(0.012)
    assert metrics["hocket.step"]["histogram"]["dataPoints"][0]["count"] == "2"
    with pytest.raises(HocketError, match=f"http://127.0.0.1:{server.server_port}/v1/metrics: metrics could not be"):
        push(f"http://127.0.0.1:{server.server_port}", request)


def test_without_a_place_for_them_they_are_refused(folder: Path) -> None:
    with pytest.raises(RequestError, match="listen ADDRESS:PORT, textfile FILE or otlp URL; or once"):
        hocket.collect_metrics(str(folder))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"listen": "nowhere"}, "listen nowhere: expected ADDRESS:PORT"),
        ({"listen": "9400"}, "listen 9400: expected ADDRESS:PORT"),
        ({"listen": ""}, "listen : expected ADDRESS:PORT"),
        ({"listen": ":99999"}, "listen :99999: port 99999 is too large: .* to 65535"),
        ({"otlp": "nonsense"}, "otlp nonsense: expected an http:// or https:// URL"),
        ({"otlp": "ftp://host/"}, "otlp ftp://host/: expected an http"),
        ({"otlp": "http://"}, "otlp http://: expected an http"),
        ({"otlp": "http://host:port"}, "otlp http://host:port: expected an http"),
    ],
)
def test_places_that_are_none_are_refused_before_anything_is_read(
    tmp_path: Path, place: dict[str, str], said: str
) -> None:
    with pytest.raises(RequestError, match=said):
        hocket.collect_metrics(str(tmp_path / "absent"), once=True, **place)


def test_a_text_file_goes_into_a_folder_that_is_there(folder: Path) -> None:
    absent = folder / "absent/hocket.prom"
    with pytest.raises(HocketError, match=f"textfile {absent}: there is no folder {absent.parent}"):
        hocket.collect_metrics(str(folder), once=True, textfile=str(absent))
    assert not absent.parent.exists()
    file = folder / "hocket.prom"
    assert list(hocket.collect_metrics(str(folder), once=True, textfile=str(file)).lines) == [
        f"looked once: wrote {file}"
    ]
    assert "hocket_calls" in file.read_text()


JOB = """
import os, sys, time
import torch, torch.distributed as dist
from hocket import collect
dist.init_process_group("gloo")
tensor = torch.zeros(1000)
while not tensor[0].item():
    tensor[0] = dist.get_rank() == 0 and os.path.exists(sys.argv[1])
    dist.all_reduce(tensor)
    time.sleep(0.01)
    collect.step()
dist.destroy_process_group()
"""


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Path]:
    """The folder of a job of two ranks that runs until the test is over."""
    script, out, stop = tmp_path / "job.py", tmp_path / "out", tmp_path / "stop"
    script.write_text(JOB)
    command = [sys.executable, "-m", "hocket", "collect", "--out", str(out), "-n", "2", "--max-bytes", "1MiB"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HOCKET_COLLECT_HOOK": "python"}
    with subprocess.Popen([*command, str(script), str(stop)], stdout=subprocess.DEVNULL, env=environment) as running:
        wait_for(lambda: len(list(out.glob("latest/stream/*"))) == 2)
        yield out
        stop.touch()
        assert running.wait(60) == 0


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.torch
def test_prometheus_scrapes_a_job_that_runs(job: Path, tmp_path: Path) -> None:
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        pytest.skip("no prometheus: apt-get install prometheus")
    metrics = [sys.executable, "-m", "hocket", "collect", "metrics", str(job), "--listen", "127.0.0.1:0"]
    textfile = tmp_path / "hocket.prom"
    served = subprocess.Popen(
        [*metrics, "--every", "1", "--textfile", str(textfile)], stdout=subprocess.PIPE, text=True
    )
    assert served.stdout is not None
    target = served.stdout.readline().split("http://")[1].split("/")[0]
    config = tmp_path / "prometheus.yml"
    scraped = {"job_name": "hocket", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
    config.write_text(json.dumps({"scrape_configs": [scraped]}))
    storage, port = f"--storage.tsdb.path={tmp_path / 'tsdb'}", free_port()
    address = f"127.0.0.1:{port}"
    command = [prometheus, f"--config.file={config}", storage, f"--web.listen-address={address}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            wait_for(lambda: ask(address, "hocket_collectives_total"))
            first = ask(address, "hocket_collectives_total")
            wait_for(lambda: ask(address, "hocket_collectives_total") > first)
            assert ask(address, "rate(hocket_bus_bytes_total[30s]) / rate(hocket_transfer_seconds_total[30s])") > 0
            assert ask(address, 'up{job="hocket"}') == 1
        finally:
            running.terminate()
            served.terminate()
            served.communicate()
    assert "hocket_step_seconds_bucket" in textfile.read_text()


def free_port() -> int:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port


def ask(address: str, query: str) -> float:
    """The first value of a query, 0 where there is none yet."""
    try:
        with urllib.request.urlopen(f"http://{address}/api/v1/query?query={urllib.request.quote(query)}") as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return 0
    return float(found[0]["value"][1]) if found else 0
