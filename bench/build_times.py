"""Seconds that building and testing take, written to docs/times.md: all parts, or those named; the rest of it stays.

Run on an idle machine: `python -m hocket.bench.build_times build sanitizers lint tests`. `build` and `sanitizers`
compile all in a temporary folder, then what a touched header asks for; `lint` and `tests` are those of `make`, in what
it set up.
"""

import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hocket.base import processes
from hocket.base.files import atomic_write
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line

__all__ = ["PARTS", "main", "suites", "with_sections"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "times.md"
# One that nearly all sources include, one of a subject, one inside a subject, one of a plugin.
HEADERS = (
    "core/include/hocket/error.hpp",
    "core/include/hocket/schedule/verify.hpp",
    "core/src/chakra/wire.hpp",
    "plugin/nccl/logger.hpp",
)
SLOWEST = 20
_HEAD = """# Build and test times

Seconds on the clock, written by `python -m hocket.bench.build_times [PART...]`, which keeps the parts that it does not
measure anew.
"""
_SUITE = re.compile(r"^(?P<tests>\d.*) in (?P<seconds>[\d.]+)s", re.MULTILINE)
_TEST = re.compile(r"^(?P<seconds>[\d.]+)s (?P<phase>call|setup|teardown) +(?P<test>\S.*)", re.MULTILINE)


def _run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    done = processes.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", env=os.environ | (environment or {})
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))}: exit {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}"
        )
    return str(done.stdout)


def _seconds(work: Callable[[], object]) -> str:
    """Seconds on the clock and of CPU, as two cells: the latter hardly depend on what else the machine does."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.perf_counter() - begin:.1f} | {cpu_s:.1f}"


def _compiling(folder: Path, build: Callable[[], object]) -> Iterator[str]:
    """Rows of all of it, of nothing, and of each header, as if it had been changed."""

    def row(what: str) -> str:
        begin = time.time()
        seconds = _seconds(build)
        compiled = sum(path.stat().st_mtime >= begin for path in folder.rglob("*.o"))
        return f"| {what} | {seconds} | {compiled} |"

    yield from (
        "| what | seconds | of CPU | files compiled |",
        "|---|---:|---:|---:|",
        row("all"),
        row("nothing changed"),
    )
    for name in HEADERS:
        status = (ROOT / name).stat()
        os.utime(ROOT / name)
        try:
            yield row(f"`{name}` touched")
        finally:
            os.utime(ROOT / name, ns=(status.st_atime_ns, status.st_mtime_ns))


def _build() -> Iterator[str]:
    with scratch_folder("bench") as folder:
        places = ("--build-temp", folder, "--build-lib", folder / "lib")
        yield from _compiling(folder, lambda: _run(sys.executable, "setup.py", "-q", "build_ext", *places))


def _sanitizers() -> Iterator[str]:
    with scratch_folder("bench") as folder:
        _run("cmake", "-S", ROOT, "-B", folder, "-DHOCKET_SANITIZE=ON")
        jobs = str(os.cpu_count() or 1)
        yield from _compiling(folder, lambda: _run("cmake", "--build", folder, "-j", jobs))
        yield f"| its tests, by `ctest` | {_seconds(lambda: _run('ctest', '--test-dir', folder))} | 0 |"


def _make(target: str, **environment: str) -> str:
    """What `make TARGET` prints, without its preparations."""
    done = ("build", *(f".venv/{name}" for name in ("torch.stamp", "test.stamp", "newest-nccl")))
    return _run("make", target, *(f"--old-file={name}" for name in done), environment=environment)


def _lint() -> Iterator[str]:
    yield from (
        "| what | seconds | of CPU |",
        "|---|---:|---:|",
        f"| `make lint` | {_seconds(lambda: _make('lint'))} |",
    )


def _tests() -> Iterator[str]:
    return suites(_make("pytest", PYTEST_ADDOPTS=f"--durations={SLOWEST}"))


def suites(printed: str) -> Iterator[str]:
    """Tables of what pytest printed of both its runs: how many tests in how many seconds, and each run's slowest."""
    ends = list(_SUITE.finditer(printed))
    names = ("all but PyTorch and MPI", "PyTorch and MPI")
    if len(ends) != len(names):
        raise SystemExit(f"make pytest: {len(ends)} summaries of pytest, expected {len(names)}")
    yield from ("| tests | seconds | |", "|---|---:|---|")
    for name, end in zip(names, ends, strict=True):
        yield f"| {name} | {float(end['seconds']):.0f} | {end['tests']} |"
    for name, end, begin in zip(names, ends, (0, ends[0].end()), strict=True):
        yield from ("", f"The slowest of {name}:", "", "| seconds | test |", "|---:|---|")
        for test in _TEST.finditer(printed, begin, end.start()):
            phase = "" if test["phase"] == "call" else f", {test['phase']}"
            yield f"| {test['seconds']} | `{test['test'].strip()}`{phase} |"


PARTS: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "build": ("Engine and plugins, by setup.py", _build),
    "sanitizers": ("The engine's own tests with sanitizers, by CMake", _sanitizers),
    "lint": ("Style and types", _lint),
    "tests": ("Tests", _tests),
}


def with_sections(page: str, measured: dict[str, str]) -> str:
    """The page with these sections (text by title) in place of those of the same title, all in the order of PARTS."""
    known = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n)*)", page, re.MULTILINE)) | measured
    return _HEAD + "".join(f"\n## {title}\n\n{known[title].strip()}\n" for title, _ in PARTS.values() if title in known)


def main(chosen: list[str]) -> None:
    measured = {}
    for part in chosen:
        title, work = PARTS[part]
        load = os.getloadavg()[0]
        table = "\n".join(work())
        measured[title] = (
            f"{table}\n\n{os.cpu_count()} CPU cores, load {load:.1f} before, {os.getloadavg()[0]:.1f} after."
        )
        print(f"## {title}\n\n{measured[title]}\n", flush=True)
        page = PAGE.read_text("utf-8") if PAGE.exists() else ""
        with atomic_write(PAGE) as file:
            file.write(with_sections(page, measured))


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, "all"], default="all", metavar="PART", help=", ".join(PARTS)
    )
    parts = parser.parse_args().parts
    main([part for part in PARTS if part in parts or "all" in parts])
