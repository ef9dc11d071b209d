"""Bundles: several sizes' programs as one folder for a runtime."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.core.errors import FormatError, HocketError, ScheduleError
from hocket.schedule import Collective, Kind, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import Topology, load
from hocket.translator import PROFILES, Lowering, read_xml, translate
from hocket.translator.bundle import read_bundle, write_bundle
from hocket.translator.bundle.windows import Window, multiples, reachable, windows
from hocket.translator.mscclpp import read_plan
from hocket.translator.plan_selection import plans_in_order, select_plan
from hocket.translator.selection import Call, files_in_order, select

NETWORK = "ring:4,bandwidth=10GB/s,latency=5us"
RUNTIMES = tuple(PROFILES)


def topology() -> Topology:
    return load(NETWORK)


def write_schedule(path: Path, kind: Kind, algorithm: str, size: int) -> Path:
    save(retime(build(algorithm, Collective(kind, 4, size, 1), topology())), path)
    return path


@pytest.fixture(scope="module")
def schedules(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Few steps for small sizes, a ring for large ones."""
    folder = tmp_path_factory.mktemp("schedules")
    return [
        write_schedule(folder / "large.schedule", Kind.ALL_REDUCE, "ring", 64 << 20),
        write_schedule(folder / "small.schedule", Kind.ALL_REDUCE, "recursive_doubling", 4096),
    ]


def hocket(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hocket", *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )


def test_the_crossover_of_two_lines() -> None:
    # 100 + 2 s and 1000 + s meet at s = 900: found to within a sixteenth
    found = windows(lambda program, size: (100 + 2 * size, 1000 + size)[program], 2, [16, 1 << 20], 0, 9)
    assert [(window.program, window.min_bytes, window.max_bytes) for window in found] == [
        (0, 0, found[0].max_bytes),
        (1, found[0].max_bytes + 1, 1 << 20),
    ]
    assert 900 * 16 // 17 < found[1].min_bytes <= 901 * 17 // 16


@given(
    lines=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 1000)), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 1 << 30), min_size=1, max_size=6, unique=True).map(sorted),
    most=st.integers(1, 3),
)
def test_windows_tile_the_sizes(lines: list[tuple[int, int]], sizes: list[int], most: int) -> None:
    def time_ps(program: int, size: int) -> int:
        return lines[program][0] + lines[program][1] * size

    for limit in (most, 1000):
        found = windows(time_ps, len(lines), sizes, 0, limit)
        assert len(found) <= limit
        assert (found[0].min_bytes, found[-1].max_bytes) == (0, sizes[-1])
        assert all(one.max_bytes + 1 == other.min_bytes for one, other in pairwise(found))
        assert all(window.min_bytes <= window.max_bytes for window in found)
    for size in sizes:
        (server,) = (window.program for window in found if window.min_bytes <= size <= window.max_bytes)
        # to within a sixty-fourth: 1/2^16 more is lost to whole numbers
        quickest = max(min(time_ps(program, size) for program in range(len(lines))), 1)
        assert time_ps(server, size) * 65536 < quickest * (65536 + 1024 + 1)


def test_a_third_program_is_found_between_two_sizes() -> None:
    # 1000 + 9 s, 2000 + 3 s and 9000 + s: at 16 bytes the first, at 2^20 the last, between 167 and 3500 the second
    lines = [(1000, 9), (9000, 1), (2000, 3)]
    found = windows(lambda program, size: lines[program][0] + lines[program][1] * size, 3, [16, 1 << 20], 0)
    assert [window.program for window in found] == [0, 2, 1]
    assert 167 * 15 // 16 <= found[1].min_bytes <= 167 * 17 // 16
    assert 3500 * 15 // 16 <= found[2].min_bytes <= 3500 * 17 // 16


def test_no_window_is_made_for_a_sixty_fourth() -> None:
    # 6400 against 6500 is a sixty-fourth, against 6501 more
    for slower, served in ((6500, [1]), (6501, [0, 1])):
        times = [(6400, 9000), (slower, 6400)]
        found = windows(lambda program, size, times=times: times[program][size > 8], 2, [8, 1024], 0)
        assert [window.program for window in found] == served


def test_a_window_without_a_multiple_is_its_neighbour_s() -> None:
    units = {0: 64, 1: 4}
    small, middle, large = Window(0, 0, 50), Window(1, 51, 100), Window(0, 101, 120)
    # of 64 bytes there is no multiple up to 50, nor from 101 to 120
    assert reachable([small, middle, large], units.__getitem__) == [Window(1, 0, 120)]
    assert reachable([small, middle], units.__getitem__) == [Window(1, 0, 100)]
    assert reachable([middle, large], units.__getitem__) == [Window(1, 51, 120)]
    assert reachable([small], units.__getitem__) == [small]
    # both ends of a program whose neighbour serves none of the sizes between are one window
    assert reachable([Window(1, 0, 64), Window(0, 65, 80), Window(1, 81, 90)], units.__getitem__) == [Window(1, 0, 90)]


def test_lowerings_of_a_schedule_compete(tmp_path: Path) -> None:
    # a schedule of large messages is lowered best by few thread blocks, at small sizes by many: the one file of a
    # range has a window for each, and no size takes longer than by a single lowering of it
    path = write_schedule(tmp_path / "direct.schedule", Kind.ALL_REDUCE, "direct", 1 << 24)
    bundle = write_bundle([path], tmp_path / "b", "executor", Lowering(in_place=True, min_bytes=1024)).bundle
    singly = {}
    for channels, slots in ((1, 1), (1, 2), (4, 1), (4, 2)):
        one = Lowering(in_place=True, min_bytes=1024, channels=channels, slots=slots)
        (only,) = write_bundle([path], tmp_path / "c", "executor", one).bundle.files
        singly[channels, slots] = {point.size_bytes: point.time_ps for point in only.predicted}
    for file in bundle.files:
        for point in file.predicted:
            alone = [times[point.size_bytes] for times in singly.values() if point.size_bytes in times]
            assert all(64 * point.time_ps <= 65 * time + 64 for time in alone)
            assert point.schedule_ps is not None
    assert bundle.files[0].predicted[0].time_ps < max(times[1024] for times in singly.values())


def test_one_window_is_of_the_program_that_loses_least() -> None:
    # of the quickest at 8 and 1024 bytes, 1 and 10, the programs take 1, 4 and 9 times, and 10, 4 and 1 times
    times = [(1, 100), (4, 40), (9, 10)]
    assert [window.program for window in windows(lambda p, size: times[p][size > 8], 3, [8, 1024], 0, 2)] == [0, 2]
    (window,) = windows(lambda p, size: times[p][size > 8], 3, [8, 1024], 0, 1)
    assert window.program == 1


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
            chosen = select(files, Call(Kind.ALL_REDUCE, size, "float32", 4, call), runtime).chosen
            serving = bundle.serving(size, 4, call)
            assert (chosen and f"algorithms/{chosen.path.name}") == (serving and serving.path)


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
    assert (folder / "bundle.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


LOGS = {
    "msccl": ["MSCCL: Parsing algorithm", "Parsed MSCCL Algorithm x successfully", "Connected 4 MSCCL algorithms"],
    "executor": ["Using MSCCL Algo files from x", "MSCCL: Initialization finished", "MSCCL: Setup Kernel finished"],
    "rccl": ["Using MSCCL files from x", "MSCCL: Initialization finished", "MSCCL: typeMask 1 Setup Kernel finished"],
}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_script_fails_unless_the_log_proves_it(schedules: list[Path], tmp_path: Path, runtime: str) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", runtime).bundle
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("mpirun", "torchrun"):
        (tools / name).write_text(f'#!/bin/sh\necho "ran {name} $*" >> "$CALLS"\nenv >> "$CALLS"\nprintf "$FAKE_LOG"\n')
        (tools / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(log: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
        calls.write_text("")
        settings = {"PATH": f"{tools}:{os.environ['PATH']}", "MSCCL": "/built", "ROCM": "/built", "CALLS": str(calls)}
        return subprocess.run(
            [tmp_path / "b" / "run.sh", *arguments],
            env={**settings, "FAKE_LOG": "\\n".join(log)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run(LOGS[runtime])
    assert done.returncode == 0, done.stderr
    # msccl's lines are printed when programs are loaded; the others have one of a launch
    assert ("LOADED:" in done.stdout, "USED:" in done.stdout) == (runtime == "msccl", runtime != "msccl")
    assert "=()" not in (tmp_path / "b" / "run.sh").read_text()  # bash before 4.4 calls an empty array unset
    made = [line for line in calls.read_text().splitlines() if line.startswith("ran mpirun -np 4 env ")]
    assert len(made) == (tmp_path / "b" / "run.sh").read_text().count("\nmeasure ")
    for file in bundle.files:
        # chunks of 16 bytes: the last size of each window is measured
        last = file.max_bytes // 64 * 64
        assert any(f"-e {last} -f 2" in line and (last & (last - 1) == 0 or f"-b {last}" in line) for line in made)
    assert all(f"{'/b/algorithms' if runtime != 'msccl' else bundle.files[0].path}" in line for line in made)
    assert "all_reduce_perf -b 64 -e" in made[0]  # 4 chunks of 16 bytes
    for missing in LOGS[runtime]:
        done = run([line for line in LOGS[runtime] if line != missing])
        assert done.returncode == 1
        assert "NOT USED: no line" in done.stderr
    done = run(LOGS[runtime], "torchrun", "--nproc-per-node", "4", "train.py")
    assert done.returncode == 0, done.stderr
    assert "ran torchrun --nproc-per-node 4 train.py" in calls.read_text()
    assert "LD_PRELOAD=/built/" in calls.read_text()
    assert run([], "torchrun", "train.py").returncode == 1
    if runtime == "msccl":
        done = run([*LOGS[runtime], "file x failed to initialize. Will be ignored"])
        assert (done.returncode, "NOT USED: a program was refused: file x" in done.stderr) == (1, True)


@pytest.mark.parametrize("runtime", [*RUNTIMES, "mscclpp"])
def test_a_window_without_a_size_is_refused(schedules: list[Path], tmp_path: Path, runtime: str) -> None:
    # 4 chunks of 1 byte, of 16 in a plan: no multiple of 4 between 61 and 63, nor of 64 between 65 and 127
    smallest, largest = (65, 127) if runtime == "mscclpp" else (61, 63)
    asked = Lowering(in_place=True, min_bytes=smallest, max_bytes=largest)
    with pytest.raises(ScheduleError, match="give a wider range"):
        write_bundle(schedules[1:], tmp_path / "b", runtime, asked)
    assert not (tmp_path / "b").exists()
    # with the next byte there is one: the only size that is measured and predicted
    served = write_bundle(schedules[1:], tmp_path / "b", runtime, replace(asked, max_bytes=largest + 1)).bundle
    assert [[point.size_bytes for point in file.predicted] for file in served.files] == [[largest + 1]]
    measured = f" {largest + 1} " if runtime == "mscclpp" else "measure 64 64 float"
    assert measured in (tmp_path / "b" / "run.sh").read_text()


def test_sizes_that_no_float_has_are_measured_in_bytes(schedules: list[Path], tmp_path: Path) -> None:
    # 4 chunks of 4 bytes would be 16 or 32: of 17 to 31 bytes only 20, 24 and 28 are served, and only to bytes
    write_bundle(schedules[1:], tmp_path / "b", "executor", Lowering(min_bytes=17, max_bytes=31))
    assert "measure 20 28 int8" in (tmp_path / "b" / "run.sh").read_text()


@given(smallest=st.integers(0, 200), width=st.integers(0, 200), unit=st.integers(1, 64))
def test_multiples_are_the_ends_of_what_is_served(smallest: int, width: int, unit: int) -> None:
    first, last = multiples(smallest, smallest + width, unit)
    inside = [size for size in range(max(smallest, 1), smallest + width + 1) if size % unit == 0]
    assert (first, last) == (inside[0], inside[-1]) if inside else first > last


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
    assert f"#         1024  out-of-place: none: stock algorithm, in-place: {small}" in done.stdout
    assert f"#       262144  out-of-place: none: stock algorithm, in-place: {large}" in done.stdout
    assert '"in_place": "algorithms/1-' in (tmp_path / "out.json").read_text()
    refused = hocket("run", "--bundle", folder, "--size", 1023)
    assert refused.returncode == 3
    assert "no file is for any of these sizes" in refused.stderr
    assert hocket("run", "--bundle", folder, "--compare").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--bundle", "b", "-o", "x.xml"], "names, for sizes of its own: drop --output"),
        ([], "give one FILE and --output"),
        (["again.schedule", "-o", "x.xml"], "give one FILE and --output"),
    ],
)
def test_usage(schedules: list[Path], tmp_path: Path, arguments: list[str], reason: str) -> None:
    done = hocket("translate", schedules[0], "--to", "executor", *arguments)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())


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


@pytest.mark.parametrize("runtime", [*RUNTIMES, "mscclpp"])
def test_a_bundle_of_several_machines(tmp_path: Path, runtime: str) -> None:
    network = load("dgx-h100:nodes=2,gpus=2")
    path = tmp_path / "ring.schedule"
    save(retime(build("ring", Collective(Kind.ALL_REDUCE, 4, 1 << 20, 1), network)), path)
    bundle = write_bundle([path], tmp_path / "b", runtime, Lowering(in_place=True)).bundle
    assert (bundle.nodes, bundle.ranks_per_node) == (2, 2)
    job, hosts = "torchrun --nnodes 2 --nproc-per-node 2 --rdzv", "-H HOST0:2,HOST1:2"
    for name in ("README.md", "run.sh"):
        text = (tmp_path / "b" / name).read_text()
        assert job in text
        assert hosts in text
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname", "env"):
        (tools / tool).symlink_to(Path("/usr/bin") / tool)

    def run(**settings: str) -> str:
        variables = {"PATH": str(tools), "MSCCL": "/built", "ROCM": "/built", "MSCCLPP": "/built", **settings}
        command = [tmp_path / "b" / "run.sh"]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return done.stderr

    assert "mpirun is not on PATH: install" in run()
    (tools / "mpirun").write_text('#!/bin/bash\necho "started $*" >&2\nexit 1\n')
    (tools / "mpirun").chmod(0o755)
    (tools / "tee").symlink_to("/usr/bin/tee")
    assert "MPIRUN_OPTIONS: 2 machines: set it to -H HOST0:2,HOST1:2" in run()
    run(MPIRUN_OPTIONS=hosts)
    assert any(f"started -np 4 {hosts} env" in log.read_text() for log in tmp_path.glob("hocket-run.*.log"))
    done = hocket("translate", path, "--to", runtime, "-o", tmp_path / "ring.out", "--max-bytes", "1MiB")
    assert hosts in done.stdout
    assert "mpirun -np 4 $MPIRUN_OPTIONS" in done.stdout


def test_a_bundle_of_plans(schedules: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "b"
    done = hocket("translate", *schedules, "--to", "mscclpp", "--bundle", folder, "--ranks-per-node", 2)
    assert done.returncode == 0, done.stderr
    assert "proved: 4 executions" in done.stdout
    names = ["README.md", "algorithms", "bundle.json", "register_plans.py", "run.sh"]
    assert sorted(path.name for path in folder.iterdir()) == names
    bundle = read_bundle(folder)
    assert (bundle.runtime, bundle.ranks_per_node) == ("mscclpp", 2)
    for call in (True, False):
        small, large = (file for file in bundle.files if file.in_place == call)
        assert (small.source, large.source) == ("small.schedule", "large.schedule")
        assert (small.min_bytes, large.max_bytes, small.max_bytes + 1) == (0, 64 << 20, large.min_bytes)
    for file in bundle.files:
        plan = read_plan(folder / file.path)
        assert (plan.name, plan.in_place, plan.num_ranks) == (Path(file.path).stem, file.in_place, 4)
        assert (plan.min_message_size, plan.max_message_size) == (file.min_bytes, file.max_bytes)
        assert (plan.slots, plan.buffer_alignment) == (file.chunks, file.alignment) == (4, 16)
        # two ranks of a node, and two that are not
        assert {channel.channel_type for channel in plan.gpus[1].channels} == {"memory", "port"}
    compile((folder / "register_plans.py").read_text(), "register_plans.py", "exec")
    write_bundle(schedules, folder, "mscclpp")  # its own files are in nobody's way
    refused = hocket("run", "--bundle", folder)
    assert (refused.returncode, "--to executor --bundle DIR" in refused.stderr) == (3, True)


def test_what_serves_a_call_is_the_plan_that_is_selected(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "mscclpp").bundle
    files = plans_in_order(tmp_path / "b")
    edge = bundle.files[1].min_bytes
    for size in (64, 4096, edge - edge % 64, edge + 64 - edge % 64, 64 << 20, (64 << 20) + 64):
        for call in (True, False):
            chosen = select_plan(files, Call(Kind.ALL_REDUCE, size, "float32", 4, call)).chosen
            serving = bundle.serving(size, 4, call)
            assert (chosen and f"algorithms/{chosen.path.name}") == (serving and serving.path)
    odd = select_plan(files, Call(Kind.ALL_REDUCE, 100, "float32", 4, True)).chosen
    assert odd is not None
    assert odd.warnings == ("the call has 100 B, no multiple of the 64 B that its chunks need",)
    reasons = [
        {choice.reason for choice in select_plan(files, call).choices}
        for call in (
            Call(Kind.ALL_GATHER, 64, "int8", 4, True),
            Call(Kind.ALL_REDUCE, 64, "int8", 8, True),
        )
    ]
    assert reasons == [{"is for allreduce, not all_gather"}, {"is for 4 ranks, the communicator has 8"}]
    done = hocket("explain", tmp_path / "b", "-c", "all_reduce", "-s", "1MiB", "-n", 4, "--runtime", "mscclpp")
    assert done.returncode == 0, done.stderr
    assert f"out-of-place all_reduce of 1 MiB of float32 on 4 ranks runs {tmp_path}" in done.stdout.replace("\n", "")


def test_the_script_of_plans_fails_unless_the_log_proves_it(schedules: list[Path], tmp_path: Path) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", "mscclpp").bundle
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("mpirun", "torchrun"):
        (tools / name).write_text(
            f'#!/bin/sh\necho "ran {name} $*" >> "$CALLS"\nenv >> "$CALLS"\n'
            'for word in "$@"; do case $word in */algorithms/*) plan=$(basename "$word" .json) ;; esac; done\n'
            'echo "Starting execution with plan: ${FAKE_PLAN:-$plan}, collective: allreduce"\n'
        )
        (tools / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(*arguments: str, plan: str = "") -> subprocess.CompletedProcess[str]:
        calls.write_text("")
        settings = {"PATH": f"{tools}:{os.environ['PATH']}", "MSCCLPP": "/built", "CALLS": str(calls)}
        command = [tmp_path / "b" / "run.sh", *arguments]
        environment = {**settings, "FAKE_PLAN": plan}
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0, done.stderr
    made = [line for line in calls.read_text().splitlines() if line.startswith("ran mpirun -np 4 env ")]
    # the first and the last size of every window
    assert len(made) == 2 * len(bundle.files)
    assert "python3 /built/python/test/executor_test.py" in made[0]
    assert f"/b/{bundle.files[0].path} --size 64 --in_place" in made[0]
    done = run(plan="another")
    assert (done.returncode, "NOT USED" in done.stderr) == (1, True)
    name = Path(bundle.files[0].path).stem
    done = run("torchrun", "train.py", plan=name)
    assert (done.returncode, f"plan {name} ran" in done.stdout) == (0, True), done.stderr
    assert "LD_PRELOAD=/built/build/lib/libmscclpp_nccl.so" in calls.read_text()
    assert f"PYTHONPATH={tmp_path}/b" in calls.read_text()
    assert run("torchrun", "train.py", plan="another").returncode == 1


def test_a_bundle_of_plans_from_programs(schedules: list[Path], tmp_path: Path) -> None:
    xml = tmp_path / "large.xml"
    ring = build("ring", Collective(Kind.ALL_REDUCE, 4, 4096), topology())
    translate(ring, xml, "msccl", Lowering(max_bytes=1 << 26))
    bundle = write_bundle([xml, schedules[1]], tmp_path / "b", "mscclpp").bundle
    assert [file.source for file in bundle.files] == ["small.schedule", "large.xml"] * 2
