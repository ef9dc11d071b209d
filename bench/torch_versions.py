"""Whether the collector works with versions of PyTorch: `make test-torch VERSIONS="2.4.1 2.8.0 nightly"`.

Run: `python -m hocket.bench.torch_versions [--index URL] [--in DIR] [--no-tests] [--markdown] VERSION...`. Each gets a
virtual environment of its own, removed as the next begins: PyTorch from the package index with stand-ins for NVIDIA's
libraries (`hocket.bench.cuda_stubs`: 0.6 GB to download), or, with `--index`, as that index has it (PyTorch's own for
CPUs: https://download.pytorch.org/whl/cpu); `nightly` comes from there. In it run the coverage bench by either hook and
the collector's tests. A row of the table: calls that PyTorch's profiler saw and that were recorded, by either hook;
tests that passed; private interfaces of PyTorch that are missing (`hocket.bench.torch_interfaces`). Exit code 1:
something is wrong; DIR has what was said, and each version's row: one that lies there is not tried again. `--markdown`
prints the table of docs/collect.md.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from importlib.metadata import requires
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import atomic_write, make_folder
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
NIGHTLY = "https://download.pytorch.org/whl/nightly/cpu"
#: What PyTorch needs in Python, and what its test and compiler parts here do.
NEEDED = ["filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools<81"]
HOOKS = ("native", "python")
#: One job of all workloads is the coverage bench's, which test_collect.py would run again.
TESTS = ["test_collect_hooks.py", "test_operators.py", "test_collect_device.py", "test_interfaces.py"]
#: Of a hook's coverage, and of the tests.
PATIENCE_S = 1800


@dataclass
class Row:
    """What came of a version. `coverage` by hook: calls seen and recorded; `wrong` in words."""

    version: str
    coverage: dict[str, tuple[int, int]] = field(default_factory=dict)
    tests: str = "-"
    missing: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Environment:
    """A virtual environment with a PyTorch, and where what runs in it says what it says."""

    python: Path
    logs: Path

    def run(self, name: str, *command: str) -> str | None:
        """What it printed; None where it failed or took too long. Both lie in `<name>.log`."""
        variables = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
        log = self.logs / f"{name}.log"
        with atomic_write(log, "wb") as file:
            try:
                done = processes.run(
                    [str(self.python), *command],
                    env=os.environ | variables,
                    cwd=ROOT,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout_s=PATIENCE_S,
                )
            except subprocess.TimeoutExpired:
                file.write(f"\nnot done in {PATIENCE_S} s\n".encode())
                return None
        return log.read_text(errors="replace") if done.returncode == 0 else None


def environment_of(version: str, index: str | None, folder: Path, logs: Path) -> Environment:
    """Raises HocketError where that PyTorch cannot be had."""
    _pip([sys.executable, "-m", "venv", str(folder)])
    environment = Environment(folder / "bin" / "python", logs)
    pip = [str(environment.python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    own = [name.split(";")[0] for name in requires("hocket") or () if "extra" not in name or 'extra == "test"' in name]
    _pip([*pip, *NEEDED, *(name for name in own if not name.startswith("playwright"))])
    if version == "nightly":
        _pip([*pip, "--pre", "--index-url", index or NIGHTLY, "torch"])
    elif index:
        _pip([*pip, "--index-url", index, f"torch=={version}"])
    else:
        _pip([*pip, "--no-deps", "--no-cache-dir", f"torch=={version}"])
        packages = next(folder.glob("lib/python*/site-packages"))
        _pip([sys.executable, "-m", "hocket.bench.cuda_stubs", str(packages)])
    return environment


def _pip(command: list[str]) -> None:
    done = processes.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise HocketError(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()[-600:]}")


def examine(version: str, environment: Environment, with_tests: bool) -> Row:
    row = Row(version)
    for hook in HOOKS:
        result = environment.logs / f"coverage.{hook}.json"
        command = ["-m", "hocket.bench.collector_coverage", "--hook", hook, "--compiler", "aot_eager"]
        environment.run(f"coverage.{hook}", *command, "--json", str(result), "--out", str(environment.logs / hook))
        if result.exists():
            found = json.loads(result.read_text())
            row.coverage[hook] = found["seen"], found["recorded"]
            row.wrong += [f"{hook} hook: {line}" for line in found["wrong"]]
        else:
            row.wrong.append(
                f"{hook} hook: the coverage bench failed: {environment.logs}/coverage.{hook}.log, {hook}/log.txt"
            )
    said = environment.run("interfaces", "-m", "hocket.bench.torch_interfaces", "--missing")
    if said is None:
        row.wrong.append(f"the list of interfaces failed: {environment.logs}/interfaces.log")
    else:
        row.missing = said.split()
    if with_tests:
        test(row, environment)
    return row


def test(row: Row, environment: Environment) -> None:
    """Runs the tests into the row."""
    tests = [str(path) for name in TESTS if (path := ROOT / "tests" / "plugin" / "torch" / name).exists()]
    tests.append(str(ROOT / "tests" / "late_device"))
    if environment.run("tests", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests) is None:
        row.wrong.append(f"tests failed: {environment.logs}/tests.log")
    counted = re.findall(r"(\d+) (passed|failed|skipped|error)", (environment.logs / "tests.log").read_text())
    row.tests = ", ".join(f"{count} {what}" for count, what in counted) or "none"


def markdown(rows: list[Row]) -> str:
    """The table of docs/collect.md."""
    lines = ["| PyTorch | native hook: seen = recorded | Python hook | tests | needed interfaces missing |"]
    lines.append("|---|---|---|---|---|")
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    calls = [row.coverage.get(hook) for hook in HOOKS]
    cells = [
        "-" if found is None else f"{found[0]} {'=' if found[0] == found[1] else '!='} {found[1]}" for found in calls
    ]
    return [row.version, *cells, row.tests, ", ".join(row.missing) or "none"]


def show(rows: list[Row], console: Console) -> None:
    table = Table("PyTorch", *(f"{hook}: seen = recorded" for hook in HOOKS), "tests", "interfaces missing", box=None)
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)
    for row in rows:
        for line in row.wrong:
            console.print(f"wrong: {row.version}: {line}", markup=False, soft_wrap=True)


def find(version: str, index: str | None, folder: Path, with_tests: bool) -> Row:
    """The row that an earlier run left in the folder, or what is found out now."""
    place, logs = folder / "environment", make_folder(folder / version)
    kept = logs / "row.json"
    if kept.exists():
        return Row(**json.loads(kept.read_text()))
    shutil.rmtree(place, ignore_errors=True)
    try:
        row = examine(version, environment_of(version, index, place, logs), with_tests)
    except HocketError as error:
        return Row(version, wrong=[f"cannot be had: {error}"])
    with atomic_write(kept, "w") as file:
        json.dump(asdict(row), file)
    return row


def main(versions: list[str], index: str | None, folder: Path, with_tests: bool, as_markdown: bool) -> bool:
    """Prints the table, a row at a time on stderr as they come, and says whether everything is right."""
    rows = []
    for version in versions:
        rows.append(find(version, index, folder, with_tests))
        show(rows[-1:], Console(width=140, stderr=True))
    shutil.rmtree(folder / "environment", ignore_errors=True)
    if as_markdown:
        print(markdown(rows))
    else:
        show(rows, Console(width=140))
    return not any(row.wrong for row in rows)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("versions", metavar="VERSION", nargs="+", help="such as 2.4.1, or nightly")
    parser.add_argument("--index", help="package index to take PyTorch from, with all that it is linked to")
    parser.add_argument("--in", dest="folder", type=Path, help="folder that keeps the logs (default: none does)")
    parser.add_argument("--no-tests", dest="tests", action="store_false", help="coverage and interfaces alone")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    arguments = parser.parse_args()
    with scratch_folder("bench") as scratch:
        folder = arguments.folder or scratch
        is_right = main(arguments.versions, arguments.index, folder, arguments.tests, arguments.markdown)
    sys.exit(not is_right)
