"""Metrics of a job on a device, scraped while it runs: its device's times, not its hosts'."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

SCRIPT = Path(__file__).with_name("device_metrics_job.py")
COUNT, HELD_S, NUM_BYTES = 20, 0.02, 1_000_000
HOCKET = (sys.executable, "-m", "hocket")


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


@contextmanager
def running_job(folder: Path, hook: str, *options: str) -> Iterator[float]:
    """How long the job took for its collectives, by its own clock; it goes on while the block runs."""
    if pytest.importorskip("torch").__version__ < "2.5":
        pytest.skip("PyTorch 2.4's devices are not asked for times")
    done, stop = folder / "done", folder / "stop"
    command = [*HOCKET, "collect", "--out", str(folder / "out"), "-n", "2", *options, str(SCRIPT), str(done), str(stop)]
    environment = {"OMP_NUM_THREADS": "1", "HOCKET_COLLECT_HOOK": hook, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | environment) as running:
        try:
            wait_for(lambda: running.poll() is not None or all(path.exists() for path in told(done)), 300)
            yield max(float(path.read_text()) for path in told(done))
        finally:
            stop.touch()
            assert running.wait(120) == 0


def told(done: Path) -> list[Path]:
    return [done.with_name(f"{done.name}{rank}") for rank in range(2)]


@contextmanager
def scraped(folder: Path) -> Iterator[Callable[[], dict[str, float]]]:
    """Scrapes the endpoint of `hocket collect metrics`: values by name, of all_reduces and of what has no kind."""
    command = [*HOCKET, "collect", "metrics", str(folder), "--listen", "127.0.0.1:0", "--every", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        url = "http://" + served.stdout.readline().strip().split("http://")[1]

        def scrape() -> dict[str, float]:
            with urllib.request.urlopen(url) as answer:
                lines = answer.read().decode().splitlines()
            samples = [line.rsplit(" ", 1) for line in lines if not line.startswith("#") and "broadcast" not in line]
            return {name.partition("{")[0]: float(value) for name, value in samples}

        try:
            yield scrape
        finally:
            served.terminate()


@pytest.mark.parametrize("hook", ["native", "python"])
def test_what_is_scraped_are_the_device_s_times(tmp_path: Path, hook: str) -> None:
    """Each all_reduce of two ranks moves 1 MB by nccl-tests' count in 20 ms at least."""
    replayed = 3 * 2
    with running_job(tmp_path, hook) as taken, scraped(tmp_path / "out") as scrape:
        wait_for(lambda: scrape().get("hocket_collectives_total") == COUNT + replayed)
        found = scrape()
    assert found["hocket_calls_total"] == 2 * (COUNT + replayed)
    assert found["hocket_untimed_collectives_total"] == replayed
    assert found["hocket_bus_bytes_total"] == COUNT * NUM_BYTES
    assert COUNT * HELD_S <= found["hocket_transfer_seconds_total"] <= taken
    assert 2 * COUNT * HELD_S * 0.9 <= found["hocket_exposed_seconds_total"] <= 2 * taken
    assert found["hocket_absent_ranks"] == 0


def test_without_times_of_devices_there_is_no_bandwidth(tmp_path: Path) -> None:
    with running_job(tmp_path, "python", "--no-device-times"):
        pass
    command = [*HOCKET, "collect", "metrics", str(tmp_path / "out"), "--once"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.partition("{")[0].partition(" ")[0] for line in lines if not line.startswith("#")}
    assert {"hocket_calls_total", "hocket_untimed_collectives_total"} <= names
    assert (
        not {"hocket_busbw_bytes_per_second", "hocket_transfer_seconds_total", "hocket_exposed_seconds_total"} & names
    )
