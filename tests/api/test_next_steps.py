"""A notebook's loop without files: a schedule that is in memory is verified, simulated, translated and run."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.api.synthesize.result import SynthesisResult
from hocket.schedule import Schedule
from hocket.translator import Translated
from hocket.translator.bundle import BundleReport

RING = "ring:4,bandwidth=50GB/s,latency=500ns"


@pytest.fixture(scope="module")
def synthesis() -> SynthesisResult:
    return hocket.synthesize("all_reduce", RING, "64KiB", chunks=1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_schedule_in_memory_is_as_one_in_a_file(synthesis: SynthesisResult, folder: Path) -> None:
    again = hocket.synthesize("all_reduce", RING, "64KiB", chunks=1, output="all_reduce.schedule")
    assert again.schedule.generator == synthesis.schedule.generator
    assert synthesis.verify().summary() == hocket.verify("all_reduce.schedule").summary()
    assert synthesis.simulate().time_ps == hocket.simulate("all_reduce.schedule").time_ps
    synthesis.translate("executor", "memory.xml")
    hocket.translate("all_reduce.schedule", "executor", "file.xml")
    assert (folder / "memory.xml").read_text() == (folder / "file.xml").read_text()


def test_a_translation_is_verified_and_run(synthesis: SynthesisResult) -> None:
    translation = synthesis.translate("executor", "ar.xml", max_bytes="64MiB")
    assert isinstance(translation.made, Translated) and translation.made.proofs
    assert translation.verify(runtime="executor").proved
    run = translation.run(size="64KiB", iterations=1, warmup=0)
    assert run.wrong == 0 and run.exit_code == 0
    table = run.columns()["sizes"]
    assert table["size_bytes"].tolist() == [1 << 16] and table["in_place_ps"][0] > 0


def test_a_bundle_is_run(synthesis: SynthesisResult) -> None:
    hocket.synthesize("all_reduce", RING, "64KiB", chunks=1, output="ar.schedule")
    bundle = hocket.translate("ar.schedule", "executor", bundle="bundle")
    assert isinstance(bundle.made, BundleReport) and len(bundle.columns()["files"]["path"]) >= 1
    assert bundle.run(size="64KiB", iterations=1, warmup=0).wrong == 0
    with pytest.raises(hocket.HocketError, match="program by program"):
        bundle.verify()


def test_formats_hold_the_schedule(synthesis: SynthesisResult, folder: Path) -> None:
    table = synthesis.translate("table", "ar.csv")
    assert isinstance(table.made, Schedule)
    assert len((folder / "ar.csv").read_text().splitlines()) == 1 + table.made.num_transfers


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda made: made.translate("cuda", "x"), "to cuda: no such choice"),
        (lambda made: made.translate("executor"), "output"),
        (lambda made: made.translate("executor", "x.xml", min_bytes="2MiB", max_bytes="1MiB"), "min_bytes 2MiB"),
        (lambda made: made.translate("executor", "x.xml", slots=9), "slots 9"),
        (lambda made: made.translate("table", "x.txt"), "a .csv or a .json"),
        (lambda made: made.translate("chakra", "-"), "several files are written"),
        (lambda made: made.translate("chakra", "/dev/full"), "several files are written"),
        (lambda made: hocket.sweep("absent.yaml", output="-"), "standard output is no folder"),
        (lambda made: made.translate("executor", "x.xml", ranks_per_node=2), "drop ranks_per_node"),
        (lambda made: made.simulate(size="1MiB"), "drop"),
        (lambda made: made.simulate(flow=3), "flow"),
    ],
)
def test_wrong_steps_are_one_error(
    synthesis: SynthesisResult, step: Callable[[SynthesisResult], object], message: str
) -> None:
    with pytest.raises(hocket.HocketError) as raised:
        step(synthesis)
    assert message in str(raised.value) and "--" not in str(raised.value)
