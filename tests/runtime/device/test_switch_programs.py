"""Files over switches, run on threads: every collective, and what other transports say."""

from pathlib import Path

import pytest
from in_process import hocket

from hocket.schedule import Collective, Kind, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator.bundle import read_bundle

RANKS = 4
NVLS = load(f"dgx-h100:gpus={RANKS},nvls=1")


def bundled(folder: Path, kind: Kind) -> Path:
    made, network = "nvls", NVLS
    if kind is Kind.BROADCAST:
        made, network = "switch_tree", load(f"switch:{RANKS},bandwidth=100GB/s,latency=500ns,in_network=1")
    root = 2 if kind is Kind.BROADCAST else 0
    path = folder / f"{kind}.schedule"
    save(retime(build(made, Collective(kind, RANKS, 1 << 22, 2, root=root), network)), path)
    done = hocket("translate", path, "--to", "device", "--bundle", folder / str(kind))
    assert done.returncode == 0, done.stderr
    return folder / str(kind)


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.BROADCAST])
def test_every_value_is_right(kind: Kind, tmp_path: Path) -> None:
    """Of sizes that nothing divides, too; that of slices is in test_switches.py."""
    folder = bundled(tmp_path, kind)
    for file in read_bundle(folder).files:
        done = hocket("verify", folder / file.path)
        assert done.returncode == 0 and "chunks over switches: no deadlock, no race" in done.stdout, done.stderr
    common = ("run", "--bundle", folder, "--transport", "device", "--iters", "1", "--warmup", "1")
    for options in (("-b", "1200", "-e", "120000", "-f", "100"), ("-b", "4080", "--dtype", "bfloat16", "--op", "max")):
        done = hocket(*common, *options)
        assert done.returncode == 0, done.stderr
        assert "# Out of bounds values : 0 OK" in done.stdout and "none: stock" not in done.stdout, done.stdout


def test_other_transports_say_what_they_lack(tmp_path: Path) -> None:
    folder = bundled(tmp_path, Kind.ALL_REDUCE)
    file = folder / read_bundle(folder).files[0].path
    for what in (("--bundle", folder), (file,)):
        done = hocket("run", *what, "-b", "1M")
        assert done.returncode != 0
        assert "over switches, which the device engine alone runs: give --transport device" in done.stderr
    done = hocket("run", file, "--transport", "device", "-b", "64K", "--iters", "1", "--warmup", "1")
    assert "# Out of bounds values : 0 OK" in done.stdout, done.stderr
