"""A notebook's loop over schedules: names, paths and numbers in, results with what comes next out."""

import json
from pathlib import Path

import numpy as np
import pytest

import hocket
from hocket.schedule import load, verify

MESH = "mesh:2x2,bandwidth=50GB/s,latency=500ns"


def test_a_schedule_is_made_from_names_and_numbers(tmp_path: Path) -> None:
    result = hocket.synthesize("all_gather", MESH, 4 << 20, chunks=1, json=tmp_path / "ag.json")
    assert result.schedule.num_transfers == 4 * 3
    # Each rank receives 3 MiB over two links of 50 GB/s, the last chunks over two hops.
    assert result.schedule.time_ps >= 3 * 2**20 * 10**12 // (2 * 50 * 10**9)
    assert repr(result).startswith(f"<SynthesisResult: all_gather of 4 MiB on {MESH}: ") and len(repr(result)) < 200
    assert result._repr_html_().startswith("<pre>all_gather ")
    assert "transfers       12, verified" in result.summary()
    numbers = json.loads((tmp_path / "ag.json").read_text())
    assert hocket.Synthesis.from_plain(numbers["request"], "ag.json") == result.request
    tables = {name: {key: np.array(column) for key, column in table.items()} for name, table in result.tables().items()}
    assert tables["schedules"]["time_ps"].tolist() == [numbers["time_ps"]]
    assert tables["transfers"]["finish_ps"].max() == result.schedule.time_ps


def test_a_range_and_groups_have_parts(tmp_path: Path) -> None:
    ranged = hocket.synthesize("all_gather", MESH, "1KiB..64MiB:65536", output=tmp_path / "all")
    assert [part.schedule.collective.size_bytes for part in ranged.parts] == [2**10, 2**26]
    assert len(list((tmp_path / "all").iterdir())) == len(ranged.windows)
    halves = hocket.synthesize("all_gather", MESH, "1MiB", group=["0,1", "2,3"])
    assert [schedule.ranks.tolist() for schedule in halves.schedules] == [[0, 1], [2, 3]]
    assert "2 groups" in repr(halves)


def test_a_file_is_proved_or_refuted(tmp_path: Path) -> None:
    path = tmp_path / "ag.schedule"
    made = hocket.synthesize("all_gather", MESH, "4MiB", chunks=1, output=path)
    assert verify(load(path)).time_ps == made.schedule.time_ps
    proved = hocket.verify(path)
    assert proved.proved and proved.exit_code == 0 and "proved: 12 transfers" in repr(proved)
    twice = hocket.verify([path, path])
    assert not twice.proved and twice.exit_code == 1 and "holds until" in repr(twice)


def test_what_is_wrong_names_the_fields_of_python() -> None:
    for options, message in [
        ({}, "one of size and sizes, got none"),
        ({"size": "lots"}, "64MiB"),
        ({"size": "1MiB", "engine": "magic"}, "engine magic: no such choice"),
        ({"size": "1MiB", "relays": True}, "relays and priority say how group is served"),
        ({"size": "1MiB", "chunks": 0}, "chunks 0: expected a number of at least 1"),
        ({"size": "1MiB", "group": 3.5}, "expected numbers such as"),
    ]:
        with pytest.raises(hocket.HocketError, match=message):
            hocket.synthesize("all_gather", MESH, **options)
