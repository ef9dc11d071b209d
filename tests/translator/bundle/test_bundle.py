"""Bundles: several sizes' programs as one folder for a runtime."""

import json
from pathlib import Path

import pytest
from bundles import RUNTIMES, topology, write_schedule
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.schedule import Collective, Kind, retime
from hocket.schedule.algorithms import build
from hocket.translator import Lowering, read_xml, translate
from hocket.translator.bundle import Source, read_bundle, write_bundle
from hocket.translator.selection.msccl import RuntimeCall, files_in_order, select


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_bundle_from_the_command(schedules: list[Path], tmp_path: Path, runtime: str) -> None:
    folder = tmp_path / "bundle"
    done = hocket("translate", *schedules, "--to", runtime, "--bundle", folder)
    assert done.returncode == 0, done.stderr
    assert "proved: 8 executions" in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "algorithms", "bundle.json", "run.sh"]
    bundle = read_bundle(folder)
    assert (bundle.runtime, bundle.collective, bundle.ranks) == (runtime, Kind.ALL_REDUCE, 4)
    names = [file.path for file in bundle.files]
    assert names == sorted(names) == sorted(f"algorithms/{path.name}" for path in (folder / "algorithms").iterdir())
    for call in (True, False):
        small, large = (file for file in bundle.files if file.in_place == call)
        assert (small.source, large.source) == ("small.schedule", "large.schedule")
        assert (small.min_bytes, large.max_bytes) == (0, 64 << 20)
        assert small.max_bytes + 1 == large.min_bytes
        assert 4096 < large.min_bytes < 64 << 20
    for file in bundle.files:
        program = read_xml(folder / file.path, profile=runtime)
        assert (program.in_place, program.out_of_place) == (file.in_place, not file.in_place)
        assert (program.chunks_per_loop, program.min_bytes) == (file.chunks, file.min_bytes)
        assert program.max_bytes == file.max_bytes
        assert all(point.size_bytes % file.chunks == 0 for point in file.predicted)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_serves_a_call_is_what_the_runtime_selects(schedules: list[Path], tmp_path: Path, runtime: str) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", runtime).bundle
    files = files_in_order(tmp_path / "b", runtime)
    edge = bundle.files[1].min_bytes
    for size in (4, 16, 4096, 4100, edge - 16, edge, edge + 16, 64 << 20, (64 << 20) + 16):
        for call in (True, False):
            chosen = select(files, RuntimeCall(Kind.ALL_REDUCE, size, "float32", 4, call), runtime).chosen
            serving = bundle.serving(size, 4, call)
            assert (chosen and f"algorithms/{chosen.path.name}") == (serving and serving.path)


def test_a_size_that_is_asked_for_is_served_by_a_program_whose_chunks_divide_it(tmp_path: Path) -> None:
    # The ring in three chunks a rank is the quicker, but a runtime would leave 64 MiB to its own algorithms.
    sources = [
        Source(Path(algorithm), collective, retime(build(algorithm, collective, topology())))
        for algorithm, chunks in (("recursive_doubling", 1), ("ring", 3))
        for collective in [Collective(Kind.ALL_REDUCE, 4, 64 << 20, chunks)]
    ]
    whole = write_bundle(sources, tmp_path / "a", "executor", Lowering(in_place=True)).bundle
    assert whole.files[-1].source == "ring"
    asked = write_bundle(sources, tmp_path / "b", "executor", Lowering(in_place=True), sizes=[64 << 20]).bundle
    assert asked.files[-1].source == "recursive_doubling"


def test_msccl_loads_four_files(tmp_path: Path) -> None:
    names = ("direct", "recursive_doubling", "ring")
    sizes = (1 << 10, 1 << 16, 64 << 20)
    paths = [
        write_schedule(tmp_path / f"{name}.schedule", Kind.ALL_REDUCE, name, size)
        for name, size in zip(names, sizes, strict=True)
    ]
    for in_place in (None, True):
        report = write_bundle(paths, tmp_path / "b", "msccl", Lowering(in_place=in_place))
        assert 2 <= len(report.bundle.files) <= 4
        assert {file.in_place for file in report.bundle.files} == ({True, False} if in_place is None else {True})
        unused = [remark for remark in report.remarks if remark.startswith("not used: ")]
        assert len(unused) + len({file.source for file in report.bundle.files}) == 3


def test_the_range_of_sizes_is_the_caller_s(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "executor", Lowering(min_bytes=1 << 24, max_bytes=1 << 30)).bundle
    assert [(file.min_bytes, file.max_bytes) for file in bundle.files] == [(1 << 24, 1 << 30)] * 2
    assert {file.source for file in bundle.files} == {"large.schedule"}
    with pytest.raises(ScheduleError, match="the largest is below the smallest"):
        write_bundle(schedules, tmp_path / "c", "executor", Lowering(min_bytes=1 << 30))


def test_all_to_all_is_for_out_of_place_calls(tmp_path: Path) -> None:
    path = write_schedule(tmp_path / "a2a.schedule", Kind.ALL_TO_ALL, "direct", 1 << 20)
    bundle = write_bundle([path], tmp_path / "b", "rccl").bundle
    assert [file.in_place for file in bundle.files] == [False]


def test_programs_of_other_runtimes(schedules: list[Path], tmp_path: Path) -> None:
    xml = tmp_path / "large.xml"
    translate(
        build("ring", Collective(Kind.ALL_REDUCE, 4, 4096), topology()), xml, "msccl", Lowering(max_bytes=1 << 26)
    )
    with pytest.raises(ScheduleError, match="does not say for which network"):
        write_bundle([xml], tmp_path / "b", "rccl")
    alone = write_bundle([xml], tmp_path / "b", "rccl", topology=topology()).bundle
    assert [file.in_place for file in alone.files] == [True]
    mixed = write_bundle([xml, schedules[1]], tmp_path / "b", "rccl").bundle
    assert [file.source for file in mixed.files] == ["small.schedule", "large.xml", "small.schedule"]


def test_nothing_is_written_unless_all_is_right(schedules: list[Path], tmp_path: Path) -> None:
    other = write_schedule(tmp_path / "ag.schedule", Kind.ALL_GATHER, "ring", 4096)
    with pytest.raises(ScheduleError, match=r"is all_gather on 4 ranks, but .* is all_reduce on 4 ranks"):
        write_bundle([*schedules, other], tmp_path / "b", "executor")
    with pytest.raises(ScheduleError, match="connections hold 1 to 2 messages of Simple, not 9"):
        write_bundle(schedules, tmp_path / "b", "executor", lowering=Lowering(slots=9))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ag.schedule"]


def test_only_a_bundle_is_replaced(schedules: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    (folder / "precious").write_text("kept")
    with pytest.raises(HocketError, match="exists and is no bundle"):
        write_bundle(schedules, folder, "executor")
    (folder / "precious").unlink()
    write_bundle(schedules, folder, "executor")
    before = (folder / "bundle.json").read_bytes()
    (folder / "precious").write_text("kept")
    with pytest.raises(HocketError, match="holds precious, which is not of the bundle"):
        write_bundle(schedules, folder, "executor")
    (folder / "precious").unlink()
    write_bundle(schedules, folder, "executor")
    other = write_schedule(tmp_path / "ag.schedule", Kind.ALL_GATHER, "ring", 4096)
    with pytest.raises(
        HocketError, match=r"is a bundle of all_reduce on 4 ranks.* give all_gather a folder of its own"
    ):
        write_bundle([other], folder, "executor")
    assert (folder / "bundle.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ag.schedule", "b"]


def test_the_readme_says_what_falls_back(schedules: list[Path], tmp_path: Path) -> None:
    write_bundle(schedules, tmp_path / "b", "executor", Lowering(in_place=True))
    text = (tmp_path / "b" / "README.md").read_text()
    assert "prints USED where" in text
    for fact in ("another size than 4", "do not divide", "out-of-place calls", "AVG", "| in-place | 0 B |", "run.sh"):
        assert fact in text


def test_each_size_is_run_by_its_program(schedules: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "b"
    bundle = write_bundle(schedules, folder, "executor", Lowering(in_place=True)).bundle
    small, large = (Path(file.path).name for file in bundle.files)
    edge = bundle.files[1].min_bytes
    sweep = ("-b", 1024, "-e", 1024 * 4**9, "-f", 4**4, "--iters", 1, "--warmup", 0)
    assert 1024 < edge <= 1024 * 4**4
    done = hocket("run", "--bundle", folder, "--backend", "mpi", *sweep, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    assert "# Out of bounds values : 0 OK" in done.stdout
    small, large = (f"{folder.name}/algorithms/{name}" for name in (small, large))
    assert f"#         1024  out-of-place: {small} on a copy, in-place: {small}" in done.stdout
    assert f"#       262144  out-of-place: {large} on a copy, in-place: {large}" in done.stdout
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [row["files"]["in_place"] for row in rows] == [small, large, large]
    refused = hocket("run", "--bundle", folder, "--size", 1023)
    assert refused.returncode == 3
    assert "size 1023 B is no positive multiple of 4 B" in refused.stderr
    assert hocket("run", "--bundle", folder, "--compare").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--bundle", "b", "-o", "x.xml"], "names, for sizes of its own: drop --output"),
        ([], "one file goes to --output"),
        (["again.schedule", "-o", "x.xml"], "one file goes to --output"),
    ],
)
def test_usage(schedules: list[Path], tmp_path: Path, arguments: list[str], reason: str) -> None:
    done = hocket("translate", schedules[0], "--to", "executor", *arguments)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())


def test_a_manifest_names_no_files_outside_its_bundle(schedules: list[Path], tmp_path: Path) -> None:
    folder, outside = tmp_path / "bundle", tmp_path / "outside.xml"
    name = write_bundle(schedules, folder, "executor").bundle.files[0].path
    (folder / name).rename(outside)
    manifest = (folder / "bundle.json").read_text()
    for path in ("../outside.xml", str(outside), "algorithms/../../outside.xml", "/etc/passwd", "", "."):
        (folder / "bundle.json").write_text(manifest.replace(f'"{name}"', f'"{path}"'))
        with pytest.raises(FormatError) as error:
            read_bundle(folder)
        assert str(error.value).startswith(f"{folder / 'bundle.json'}: '{path}' is outside the bundle")
    (folder / "bundle.json").write_text(manifest)
    (folder / name).symlink_to(outside)
    with pytest.raises(FormatError, match=f"'{name}' is outside the bundle"):
        read_bundle(folder)
    (folder / name).unlink()
    outside.rename(folder / "algorithms" / "other")
    (folder / name).symlink_to("other")
    (tmp_path / "link").symlink_to("bundle")
    assert read_bundle(tmp_path / "link").files[0].path == name


@settings(max_examples=60)
@given(at=st.integers(0, 10**4), replacement=st.binary(max_size=4), cut=st.integers(0, 8))
def test_a_damaged_manifest_is_a_format_error(
    tmp_path_factory: pytest.TempPathFactory, schedules: list[Path], at: int, replacement: bytes, cut: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged"
    if not folder.exists():
        write_bundle(schedules, folder, "executor")
    text = (folder / "bundle.json").read_bytes()
    at %= len(text)
    damaged = folder.with_name("copy")
    damaged.mkdir(exist_ok=True)
    (damaged / "bundle.json").write_bytes(text[:at] + replacement + text[at + cut :])
    try:
        read_bundle(damaged)
    except FormatError as error:
        assert str(damaged) in str(error)
