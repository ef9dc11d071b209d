"""What nccl-tests' output tells of NCCL's choices: by its log within the table, by its variables."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmark_outputs import json_output, new_table

from hocket.base.errors import FormatError
from hocket.calibration import Measurement, NcclCalibration, read_measurements
from hocket.calibration.nccl.timings import calibrated_timings
from hocket.nccl import Constants, NcclModel, read_settings
from hocket.nccl.fitted import NcclCurveFit, SegmentFit
from hocket.nccl.releases import RELEASES
from hocket.topology.machines.loading import load_machine

SIZES = (64, 1024, 65536)
ROWS = [(size, 20.0 + size / 1000) for size in SIZES]
PREFIX = "node-a:400:455 [0] NCCL INFO "


def with_log(table: str, chosen: dict[int, str], header: tuple[str, ...] = (), glue: str = "") -> str:
    """The table as NCCL's log breaks it up: of each row first size to root, then the log, then each half's numbers."""
    lines = []
    for line in table.splitlines():
        if line.startswith("#       size"):
            lines += [PREFIX + text for text in header]
        cells = line.split()
        if not cells[0].isdigit():
            lines.append(line)
            continue
        logged = f"{PREFIX}AllReduce: {cells[0]} Bytes -> {chosen[int(cells[0])]}"
        lines += [f"{glue}{'  '.join(cells[:5])}{logged}", logged]
        lines += [f"{glue}  {'  '.join(cells[5:9])}{logged}", f"{glue}  {'  '.join(cells[9:])}"]
    return "\n".join(lines) + "\n"


def read(text: str, folder: Path) -> tuple[Measurement, ...]:
    path = folder / "measured"
    path.write_text(text, encoding="utf-8")
    return read_measurements([path])


def names(found: tuple[Measurement, ...]) -> list[str | None]:
    return [each.choice.name if each.choice else None for each in found if not each.in_place]


CHOSEN = {
    64: "Algo RING proto LL channel{Lo..Hi}={0..0}",
    1024: "Algo TREE proto LL128 channel{Lo..Hi}={0..3}",
    65536: "Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}",
}


@pytest.mark.parametrize("glue", ["", "[1,0]<stdout>:", "[0] "])
def test_a_log_that_breaks_the_rows_up(glue: str, tmp_path: Path) -> None:
    plain = read(new_table(ROWS), tmp_path)
    found = read(with_log(new_table(ROWS), CHOSEN, glue=glue), tmp_path)
    assert [(each.size_bytes, each.time_ps) for each in found] == [(each.size_bytes, each.time_ps) for each in plain]
    assert names(found) == ["Ring/LL", "Tree/LL128", "NVLSTree/Simple"]
    assert names(plain) == [None] * 3 and plain[0].run is not None and plain[0].run.variables is None


def test_variables_that_the_log_shows(tmp_path: Path) -> None:
    shown = ("NCCL_PROTO set by environment to LL128", "NCCL_ALGO set by environment to ring")
    table = new_table(ROWS).replace("#       size", f"{PREFIX}{shown[0]}\n{PREFIX}{shown[1]}\n#       size")
    found = read(table, tmp_path)
    assert names(found) == ["Ring/LL128"] * 3
    assert found[0].run is not None and found[0].run.devices == {"H100"}
    # Where the log says what ran, it counts: NCCL may not follow the variables.
    told = with_log(new_table(ROWS), CHOSEN, (*shown, "NCCL_MIN_NCHANNELS set by environment to 4."))
    assert names(read(told, tmp_path)) == [None] * 3  # how many channels: more than one number is left
    told = told.replace("MIN_NCHANNELS set", "MAX_NCHANNELS set", 1).replace(
        shown[0], f"NCCL_MIN_NCHANNELS set by environment to 4.\n{PREFIX}{shown[0]}"
    )
    assert names(read(told, tmp_path)) == ["Ring/LL/4", "Tree/LL128/4", "NVLSTree/Simple/4"]


def test_two_choices_of_one_size_are_none(tmp_path: Path) -> None:
    text = with_log(new_table(ROWS), CHOSEN)
    line = f"{PREFIX}AllReduce: 64 Bytes -> Algo TREE proto LL channel{{Lo..Hi}}={{0..0}}\n"
    assert names(read(text.replace("#       size", f"{line}#       size"), tmp_path))[0] is None


def test_blocks_of_all_gather_are_the_log_s_sizes(tmp_path: Path) -> None:
    text = with_log(new_table(ROWS, 15 / 16, "all_gather_perf", "none"), CHOSEN)
    for size in SIZES:  # of 16 ranks: NCCL logs a sixteenth
        text = text.replace(f"AllReduce: {size} Bytes", f"AllGather: {size // 16} Bytes")
    assert names(read(text, tmp_path)) == ["Ring/LL", "Tree/LL128", "NVLSTree/Simple"]


def test_json_has_the_variables(tmp_path: Path) -> None:
    content = json_output(ROWS)
    found = read(json.dumps(content), tmp_path)
    assert found[0].run is not None and found[0].run.variables == {"NCCL_DEBUG": "WARN"}
    assert found[0].run.version == "2.28.9"
    forced = found[0].run.forced("all_reduce", "here")
    assert forced is not None and forced.free and names(found) == [None] * 3
    content["env"] = ["PATH=/bin", "NCCL_ALGO=^Tree,PAT,CollNetDirect,CollNetChain,NVLS,NVLSTree", "NCCL_PROTO=simple"]
    assert names(read(json.dumps(content), tmp_path)) == ["Ring/Simple"] * 3
    content["env"] = ["NCCL_ALGO=Rnig"]
    with pytest.raises(FormatError, match="measured: NCCL_ALGO=Rnig: 'Rnig': no such name; did you mean"):
        read(json.dumps(content), tmp_path)


def fitted(algorithm: str, protocol: str, smallest: int, largest: int) -> tuple[tuple[str, str], SegmentFit]:
    """50 us at all sizes, measured from `smallest` to `largest`."""
    return (algorithm, protocol), SegmentFit(np.array([0.0, 50.0, 0.0, 0.0, 0.0, 0.0]), smallest, largest)


def test_fits_are_taken_as_far_as_they_tell_times() -> None:
    segments = dict([fitted("Tree", "LL", 8, 1 << 17), fitted("NVLSTree", "Simple", 1 << 20, 1 << 30)])
    fit = NcclCurveFit("all_reduce", 16, 2, segments, 1.0)
    calibration = NcclCalibration(RELEASES["2.30"], (fit,), {}, Constants.of_nccl())
    model = NcclModel(load_machine("dgx-h100"), 2)
    sizes = [4, 8, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 23, 1 << 30, 1 << 31]
    found = calibrated_timings(calibration, model, ["AllReduce", "AllGather"], sizes)
    # From 256 KiB to 1 MiB NCCL's own choice, Tree/LL128, is not known, and beyond 8 B to 1 GiB nothing.
    assert [(each.size_bytes, each.choice and each.choice.name, each.own) for each in found] == [
        (8, "Tree/LL", True),
        (1 << 17, "Tree/LL", True),
        (1 << 21, "NVLSTree/Simple", True),
        (1 << 23, "NVLSTree/Simple", True),
        (1 << 30, "NVLSTree/Simple", True),
    ]
    assert {(each.collective, each.time_ps) for each in found} == {("AllReduce", 50_000_000)}
    forced = NcclModel(load_machine("dgx-h100"), 2, read_settings(["NCCL_ALGO=tree,nvlstree", "NCCL_PROTO=^LL128"]))
    found = calibrated_timings(calibration, forced, ["AllReduce"], sizes)
    # Without LL128 NCCL takes Tree/LL at 256 KiB, one doubling beyond what was measured, nothing at 512 KiB of it.
    of = {(each.size_bytes, each.choice and each.choice.name): each.own for each in found}
    assert of[1 << 18, "Tree/LL"] and (1 << 17, "NVLSTree/Simple") not in of and (1 << 19, "Tree/LL") not in of
