"""`hocket explain --runtime device` says what the engine runs."""

import json
from pathlib import Path

import pytest
from in_process import hocket

from hocket.runtime.engine.library import read_library
from hocket.schedule import Kind


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs over switches for large calls, of sends and receives for small ones, and a gap between."""
    folder = tmp_path_factory.mktemp("device")
    for name, size, engine in (("small", "4KiB", "direct"), ("large", "16MiB", "nvls")):
        asked = ("all_reduce", "-t", "dgx-h100:gpus=4,nvls=1", "-s", size, "--engine", f"native:{engine}")
        assert hocket("synthesize", *asked, "-o", folder / f"{name}.schedule").returncode == 0
    schedules = sorted(folder.glob("*.schedule"))
    assert hocket("translate", *schedules, "--to", "device", "--bundle", folder / "b").returncode == 0
    return folder / "b"


@pytest.mark.parametrize("size", [1024, 1_000_004, 4 << 20, 16 << 20, 20_000_000])
@pytest.mark.parametrize("in_place", [True, False])
def test_it_is_what_the_engine_finds(bundle: Path, size: int, in_place: bool) -> None:
    asked = ("-c", "all_reduce", "-s", str(size), "-n", "4", "--runtime", "device")
    done = hocket("explain", bundle, *asked, *(["--in-place"] if in_place else []), "--json", "-")
    told = json.loads(done.stdout)["chosen"]
    found = read_library(str(bundle)).find(Kind.ALL_REDUCE, size, 4, 4, -1, in_place)
    if isinstance(found, str):
        assert told is None
    else:
        assert Path(told).name == Path(found.algorithm.name).name
