"""Bundles that are for certain groups of a job: which programs a group runs, and where groups are not known."""

import json
from pathlib import Path

import pytest

from hocket.base.errors import FormatError, HocketError
from hocket.plugin.mpi.served import served
from hocket.runtime.engine.library import Library, read_library
from hocket.schedule import Collective, Kind
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator.bundle import Source, read_bundle, write_bundle

PAIR = load("ring:2,bandwidth=50GB/s,latency=500ns")


def bundle(folder: Path, *groups: tuple[int, ...]) -> Path:
    schedule = synthesize(Collective(Kind.ALL_REDUCE, 2, 1 << 16), PAIR)
    source = Source(Path("pair.schedule"), schedule.collective, schedule)
    write_bundle([source], folder, "executor", groups=groups)
    return folder


def names(library: Library | str) -> list[str]:
    assert isinstance(library, Library), library
    return [one.name.partition("/algorithms/")[0] for one in library.algorithms]


def test_a_group_runs_its_own_programs_first_then_those_for_any(tmp_path: Path) -> None:
    bundle(tmp_path / "all" / "any")
    bundle(tmp_path / "all" / "slow", (0, 2), (1, 3))
    library = read_library(str(tmp_path / "all"))
    assert {*names(library.of_group((0, 2)))} == {"all/slow", "all/any"}
    assert names(library.of_group((0, 2)))[0] == "all/slow"
    for other in ((0, 1), (2, 0), ()):
        assert {*names(library.of_group(other))} == {"all/any"}
    assert library.of_group((0, 1)) is not library


def test_a_group_that_no_program_is_for_is_told_so(tmp_path: Path) -> None:
    library = read_library(str(bundle(tmp_path / "slow", (0, 2), (1, 3))))
    assert library.of_group((0, 1)) == "no program for this group, only for 2 others"
    assert "of 0,2 and 1 more" in library.algorithms[0].describe()


def test_mpi_jobs_know_no_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOCKET_CACHE", str(tmp_path / "cache"))
    bundle(tmp_path / "all" / "slow", (0, 2))
    with pytest.raises(HocketError, match="for certain groups"), served(str(tmp_path / "all")):
        pass
    bundle(tmp_path / "all" / "any")
    with served(str(tmp_path / "all")):
        pass
    assert "are for certain groups: left out" in capsys.readouterr().err


def test_a_group_of_another_size_is_refused(tmp_path: Path) -> None:
    path = bundle(tmp_path / "pair", (0, 1)) / "bundle.json"
    assert read_bundle(path.parent).groups == ((0, 1),)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"groups": [[0, 1, 2]]}))
    with pytest.raises(FormatError, match="a group of 3 ranks in a bundle for 2"):
        read_bundle(path.parent)
