"""NCCL's own structure in measurements: switch points, channels, chunks; its model's constants; what a user types."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from benchmark_outputs import RANKS, json_output, new_table
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from numpy.typing import NDArray

from hocket.base.errors import ExitCode, FormatError
from hocket.calibration import (
    FREE,
    Calibration,
    MeasuredCurve,
    NcclCalibration,
    Releases,
    calibrate,
    calibrate_nccl,
    curves_of,
    fit_curve,
    hold_out,
    measured_releases,
    measured_settings,
    predictor,
    read_measurements,
    read_nccl_calibration,
    save_parameters,
)
from hocket.nccl import ALGORITHMS, PROTOCOLS, Constants
from hocket.nccl.fitted import TERMS
from hocket.nccl.kernels import collective_kernels
from hocket.nccl.releases import RELEASES, Release
from hocket.nccl.tuning.table import read_tuner_table
from hocket.topology.machines.loading import load_machine

SIZES = np.array([8 << step for step in range(31)], np.int64)  # 8 B to 8 GiB
MACHINE = Releases(load_machine("dgx-h100"))
#: What each algorithm and protocol takes: us, us a byte of a channel, us a chunk.
TRUE = {
    "Ring/LL": {"latency": 14.0, "channel": 1e-4},
    "Ring/LL128": {"latency": 20.0, "channel": 5e-5},
    "Ring/Simple": {"latency": 30.0, "channel": 4e-5},
    "NVLS/Simple": {"latency": 30.0, "channel": 3e-5, "chunk": 0.9},
    "SendRecv/LL": {"latency": 9.0, "channel": 2e-4},
    "SendRecv/Simple": {"latency": 15.0, "channel": 5e-5},
}


def made(kind: str, release: Release = RELEASES["2.30"]) -> MeasuredCurve:
    """What NCCL would run on a DGX H100, at the costs of TRUE."""
    curve = MeasuredCurve(kind, 8, 1, SIZES, np.ones(len(SIZES)), tuple(f"made:{at}" for at in range(len(SIZES))))
    structure = MACHINE.structure(release, curve)
    time = np.zeros(len(SIZES))
    for at, name in enumerate(structure.names):
        costs = TRUE["/".join(name)]
        of_name = structure.columns[at] @ [costs.get(term, 0.0) for term in TERMS]
        time[structure.used == at] = of_name[structure.used == at]
    return replace(curve, time_us=time)


@cache
def calibrated(*kinds: str) -> NcclCalibration:
    return calibrate_nccl([fit_curve(made(kind)) for kind in kinds], MACHINE)


def worst(curve: MeasuredCurve, calibration: NcclCalibration) -> float:
    (held,) = hold_out([curve], predict=predictor(calibration, MACHINE))
    return float(np.abs(held.error).max())


def test_switch_points_and_chunks_are_predicted_without_having_been_measured() -> None:
    # NVLS takes over at 2 MiB, where it takes 30 + 0.9 x 8 chunks of 16 KiB: a step that no neighbour tells.
    curve = made("all_reduce")
    assert curve.time_us[18] > 1.5 * curve.time_us[17]
    calibration = calibrated("all_reduce")
    assert calibration.best == "2.30" and calibration.losses["2.30"] < calibration.losses[FREE] / 4
    (free,) = hold_out([curve])
    assert worst(curve, calibration) < 0.1 < np.abs(free.error).max()


def test_the_release_is_told_by_messages_of_16_kib_a_channel() -> None:
    # LL up to 16 KiB of every one of 32 channels (2.28), or of the one that a message of up to 64 KiB takes (2.30).
    for name, most in (("2.28", 512 << 10), ("2.30", 16 << 10)):
        calibration = calibrate_nccl([fit_curve(made("message", RELEASES[name]))], MACHINE)
        assert calibration.best == name
        assert calibration.fits[0].segments["SendRecv", "LL"].largest == most


def test_times_of_what_was_measured_at_any_size() -> None:
    sizes = [3000, 1 << 20, 1 << 21, 1 << 24]
    model = MACHINE.model(RELEASES["2.30"], 1)
    times = calibrated("all_reduce").times_us(model, "AllReduce", sizes)
    ring, nvls = (
        times[ALGORITHMS.index(algorithm), PROTOCOLS.index(protocol)]
        for algorithm, protocol in (("Ring", "LL"), ("NVLS", "Simple"))
    )
    # Measured up to 1 MiB, and from 2 MiB on: told up to 2 MiB, and from 1 MiB on.
    assert np.isnan(ring).tolist() == [False, False, False, True]
    assert np.isnan(nvls).tolist() == [True, False, False, False]
    assert np.isfinite(times).sum() == 6
    # 16 MiB on 16 channels: 1 MiB each, in chunks of 32 KiB (8 MiB or more, less than 64 MiB)
    assert nvls[3] == pytest.approx(30.0 + 3e-5 * 2**20 + 0.9 * 32, rel=0.02)
    assert np.isnan(calibrated("all_reduce").times_us(model, "AllGather", sizes)).all()


def test_chunks_over_machines_are_those_of_the_programs() -> None:
    # NVLSTree of Hoppers: 128 KiB at most on two machines, 64 KiB on four (the least of 128 and 64 from there on).
    for nodes, most in ((2, 128 << 10), (4, 64 << 10)):
        kernels = collective_kernels(MACHINE.model(RELEASES["2.30"], nodes), "AllReduce", "NVLSTree", "Simple", SIZES)
        assert kernels.chunk_bytes[[0, -1]].tolist() == [32 << 10, most]


def test_constants_with_which_nccls_model_says_what_was_measured() -> None:
    own = Constants.of_nccl()
    base, most = own.base_latency.copy(), own.most_ll.copy()
    base[1, 0], most[2, 0] = 20.0, 80.0  # Ring/LL of one machine of Hoppers
    usual = MACHINE.model(RELEASES["2.30"], 1).choose("AllGather", SIZES)

    def expected(constants: Constants) -> NDArray[np.float64]:
        """Of what NCCL chooses without these constants."""
        model = MACHINE.with_constants(RELEASES["2.30"], constants, 1)
        ran = usual.algorithm * len(PROTOCOLS) + usual.protocol
        return np.array([model.terms("AllGather", int(size))[at].time_us for size, at in zip(SIZES, ran, strict=True)])

    time = expected(replace(own, base_latency=base, most_ll=most))
    found = calibrate_nccl([fit_curve(replace(made("all_gather"), time_us=time))], MACHINE).constants
    assert expected(found) == pytest.approx(time, rel=0.03)
    assert found.most_ll[2, 0] == pytest.approx(80.0, rel=0.05)
    assert (found.most_tree == own.most_tree).all() and (found.most_ll[:2] == own.most_ll[:2]).all()


def test_nccl_chooses_nothing_that_was_never_measured_by_its_constants() -> None:
    # Ring/LL so slow that Tree/LL, whose latencies are scaled as the others' in the mean, would look the quicker one.
    curve = made("all_reduce")
    slow = replace(curve, time_us=np.where(curve.sizes < 2 << 20, 3 * curve.time_us, curve.time_us))
    calibration = calibrate_nccl([fit_curve(slow)], MACHINE)
    choices = MACHINE.with_constants(calibration.release, calibration.constants, 1).choose("AllReduce", SIZES)
    assert {choices.name(at) for at in range(len(SIZES))} <= {"/".join(name) for name in calibration.fits[0].segments}


@pytest.mark.shared
def test_constants_do_not_bring_what_is_told_of_large_sizes_to_small_ones(shared: Path) -> None:
    # Tree/Simple was measured from 512 MiB on, where 0.1 ms of latency is less than 1 %.
    machine = Releases(load_machine("p4de"))
    curves = curves_of(read_measurements([shared / "nccl_tests" / "a100_16gpu_2node_p4de_allreduce.csv"]))
    constants = calibrate_nccl([fit_curve(curve) for curve in curves], machine).constants
    small = SIZES[SIZES <= 32 << 20]  # from 64 MiB on Tree/Simple is the quicker one by the bandwidths measured
    both = (Constants.of_nccl(), constants)
    usual, ours = (machine.with_constants(RELEASES["2.30"], each, 2).choose("AllReduce", small) for each in both)
    assert [ours.name(at) for at in range(len(small))] == [usual.name(at) for at in range(len(small))]


def test_written_and_read_back(tmp_path: Path) -> None:
    calibration, path = calibrated("all_reduce", "message"), tmp_path / "machine.protocols.yaml"
    fits = tuple(fit_curve(made(kind)) for kind in ("all_reduce", "message"))
    save_parameters(Calibration(fits, (), ()), path, calibration)
    read = read_nccl_calibration(path)
    model = MACHINE.model(RELEASES["2.30"], 1)
    assert read.times_us(model, "AllReduce", SIZES) == pytest.approx(
        calibration.times_us(model, "AllReduce", SIZES), rel=1e-4, nan_ok=True
    )
    assert (read.release.name, read.best) == (calibration.release.name, calibration.best)
    assert read.constants.flat() == pytest.approx(calibration.constants.flat(), rel=1e-5)
    text = path.read_text()
    for old, new, expected in (
        ("algorithm: Ring", "algorithm: Rung", "'Rung/LL': no algorithm"),
        ("  chunk: ", "  chunks: ", "expected some of expected, latency"),
        ("release: '2.30'", "release: '2.26'", "the releases 2.30, 2.29, 2.28, 2.27, 2.31"),
        ("base_latency:", "base_latency: [1]\n    base:", "base_latency: expected numbers"),
        ("nccl:", "nickel:", "unknown key 'nickel'"),
    ):
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(FormatError, match=expected):
            read_nccl_calibration(path)
    path.write_text(text[: text.index("nccl:")])
    with pytest.raises(FormatError, match="hocket calibrate --nccl"):
        read_nccl_calibration(path)


@given(st.data())
@settings(max_examples=40)
def test_mutated_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated_nccl.yaml"
    whole = _written(tmp_path_factory.getbasetemp())
    at = data.draw(st.integers(whole.index("nccl:"), len(whole)))
    until = at + data.draw(st.sampled_from([0, 1, 9, 400]))
    put = data.draw(st.text(max_size=3) | st.sampled_from(["0", "-1", "1e99", "\n", ": ", "- "]))
    path.write_text(whole[:at] + put + whole[until:], encoding="utf-8")
    try:
        assert read_nccl_calibration(path).constants.flat().min() >= 0
    except FormatError as error:
        assert "mutated_nccl.yaml" in str(error)


@cache
def _written(folder: Path) -> str:
    save_parameters(Calibration((fit_curve(made("all_reduce")),), (), ()), folder / "o.yaml", calibrated("all_reduce"))
    return (folder / "o.yaml").read_text()


def test_from_a_table_to_what_is_quicker(tmp_path: Path) -> None:
    sizes, time = SIZES[:28], made("all_reduce").time_us[:28]
    table, output = tmp_path / "one.txt", tmp_path / "made.yaml"
    rows = zip(sizes.tolist(), time.tolist(), strict=True)
    ranks = "".join(RANKS.splitlines(keepends=True)[:8])
    table.write_text(new_table(rows, factor=2 * 7 / 8, ranks=ranks, version=23007))
    done = hocket("calibrate", table, "-t", "dgx-h100", "--nccl", "dgx-h100", "-o", output)
    assert done.returncode == ExitCode.DONE
    # The table says which NCCL it is of: no other is tried.
    assert re.search(r"by the structure of NCCL 2.30 \(losses: without NCCL [\d.]+, NCCL 2.30 [\d.]+\)", done.stdout)
    # Every number of the fit has its unit: a factor, a time, a bandwidth, or a time for the root of a byte.
    row = r"^all_reduce +8 +1  (?:Ring|NVLS)/\w+ +\d+ \w+ \.\. \d+ \w+ +(.*)$"
    fitted = re.findall(row, done.stdout, re.MULTILINE)
    unit = (
        r"(expected [\d.]+ x|(latency|chunk) [\d.]+ [num]?s|(channel|byte) [\d.]+ [kMGT]?B/s|ramp [\d.]+ ns/sqrt\(B\))"
    )
    assert fitted and all(re.fullmatch(rf"{unit}(, {unit})*", line) for line in fitted), fitted
    csv, protocols = tmp_path / "choices.csv", output.with_suffix(".protocols.yaml")
    options = ["--topology", "dgx-h100", "-c", "all_reduce", "--max", "1GiB", "--calibration", protocols, "--csv", csv]
    told = hocket("nccl", "choose", *options).stdout
    # At 2 MiB NCCL takes NVLS, as it expects; measured Ring/LL: 14 + 1e-4 x 2^21 / 24 channels = 22.7 us, NVLS 41 us
    assert re.search(r"2 MiB .* NVLS/Simple .*; Ring/LL 22\.\d+ .* times quicker", told)
    header, first = csv.read_text().splitlines()[:2]
    assert header.endswith("nchannels,launched,calibrated_us,best_algo,best_proto,best_us")
    assert first.startswith("AllReduce,8,Ring,LL,") and first.split(",")[8:10] == ["Ring", "LL"]


def test_the_version_that_outputs_say(tmp_path: Path) -> None:
    def measured(*versions: int) -> list[str]:
        rows = [(size, 20.0) for size in SIZES[:5].tolist()]
        paths = [tmp_path / f"{version}.txt" for version in versions]
        for path, version in zip(paths, versions, strict=True):
            path.write_text(new_table(rows, version=version))
        return [release.name for release in measured_releases(read_measurements(paths))]

    # 2.30.7; 2.28.9; 2.21.5 and 2.8.4 (2804 then), of which no structure is known: what fits best
    assert measured(23007) == ["2.30"] and measured(22809) == ["2.28"]
    assert measured(22105) == measured(2804) == measured_names() == ["2.30", "2.28"]
    with pytest.raises(FormatError, match=r"22809.txt:\d+: measured with NCCL 2.28.9, but .*23007.txt:\d+ with 2.30.7"):
        measured(23007, 22809)


def test_what_outputs_say_that_ran_and_under_what(tmp_path: Path) -> None:
    def written(name: str, time: float, *variables: str) -> Path:
        content = json_output([(size, time + size / 1e5) for size in SIZES[:20].tolist()])
        content["env"] = variables
        (tmp_path / name).write_text(json.dumps(content))
        return tmp_path / name

    ring = written("ring.json", 20.0, "NCCL_ALGO=Ring", "NCCL_PROTO=LL", "NCCL_DEBUG=INFO", "NCCL_MAX_NCHANNELS=8")
    found = read_measurements([ring])
    assert measured_settings(found) == ["NCCL_ALGO=Ring", "NCCL_PROTO=LL", "NCCL_MAX_NCHANNELS=8"]
    with pytest.raises(FormatError, match="measured with NCCL_PROTO=LL, but --set with Simple"):
        measured_settings(found, ["NCCL_PROTO=Simple"])
    # The model alone would take Tree/LL here; the run was of Ring/LL.
    found = read_measurements([written("told.json", 20.0, "NCCL_ALGO=Ring", "NCCL_PROTO=LL")])
    (fit,) = calibrate_nccl([fit_curve(curve) for curve in curves_of(found)], MACHINE).fits
    assert [*fit.segments] == [("Ring", "LL")]
    for other, what in (([], "NCCL's own choice"), (["NCCL_ALGO=Tree"], "NCCL_ALGO=Tree")):
        both = read_measurements([ring, written("other.json", 20.1, *other)])
        with pytest.raises(FormatError, match=rf"other.json: .*ring.json: .* by {what} and by NCCL_ALGO=Ring"):
            calibrate(both)


def measured_names() -> list[str]:
    return [release.name for release in measured_releases([])]


def test_usage_and_what_does_not_fit(tmp_path: Path) -> None:
    table = tmp_path / "two.txt"
    table.write_text(new_table(zip(SIZES[3:20].tolist(), made("all_reduce").time_us[3:20].tolist(), strict=True)))
    for options, code, expected in (
        (["--set", "NCCL_ALGO=Ring"], ExitCode.USAGE, "say --nccl"),
        (["--nccl", "dgx-h100", "--set", "NCCL_ALGO=Rung"], ExitCode.USAGE, "did you mean"),
        (["--nccl", "dgx-a101"], ExitCode.BAD_INPUT, "dgx-a100"),
    ):
        done = hocket("calibrate", table, *options)
        assert done.returncode == code and expected in done.stderr


@pytest.mark.shared
def test_left_out_sizes_of_a_b200_are_predicted(shared: Path) -> None:
    # The goal: 5 % median and 15 % worst above 1 MiB, 15 % median up to it.
    machine = shared / "nccl_topology" / "generated" / "dgx_b200.xml"
    done = hocket(
        "calibrate", shared / "nccl_tests" / "b200_8gpu_allcolls.csv", "--nccl", machine, "--holdout", "sizes"
    )
    held = done.stdout[done.stdout.index("held out by sizes") :]
    errors = [[float(number) for number in re.findall(r"([\d.]+)%", line)] for line in held.splitlines() if "%" in line]
    assert len(errors) == 5
    limits: NDArray[np.float64] = np.array([5.0, 15.0, 15.0])
    assert (np.array(errors) <= limits).all(), held


def test_the_constants_reach_the_plugin_by_a_table(tmp_path: Path) -> None:
    parameters, table = tmp_path / "made.protocols.yaml", tmp_path / "table.csv"
    save_parameters(Calibration((fit_curve(made("all_reduce")),), (), ()), parameters, calibrated("all_reduce"))
    done = hocket("nccl", "tuner", "make", "--constants", parameters, "-o", table)
    assert done.returncode == ExitCode.DONE, done.stderr
    own, fitted = Constants.of_nccl().flat(), read_nccl_calibration(parameters).constants.flat()
    read = read_tuner_table(table)
    assert f"{np.count_nonzero(own != fitted)} constants, for 1 to 1 nodes" in done.stdout
    assert (read.rewrite_constants(1, 8, own) == fitted).all()
    assert (read.rewrite_constants(2, 16, own) == own).all()
