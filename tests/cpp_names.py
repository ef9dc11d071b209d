"""Checks the C++ names by clang-tidy and `.clang-tidy`: `python tests/cpp_names.py [FILE...]`, without files of all.

Nearly all of clang-tidy's time goes into the standard library's headers, so files of a folder that keep no name to
themselves twice are read as one. Where that does not compile they are read in smaller parts; what includes the headers
of PyTorch or MPI is left out where these are not installed, and that is said.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIDY = Path(sys.executable).parent / "clang-tidy"
#: What a file keeps to itself, and the names in it that start in the first column.
_OWN = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
_DEFINED = re.compile(
    r"^(?=\S)(?!TEST|template|/|})(?:.*?\b(?:class|struct|enum|union) (?:\[\[\S+\]\] )?(\w+)"
    r"|[^\n(={;]*?[ *&](\w+)(?:\(| =|\[|\{|;))",
    re.MULTILINE,
)
_FOUND = re.compile(r"^(.+?:\d+:\d+): (?:error|warning): (.*) \[(readability|clang-diagnostic)", re.MULTILINE)
_LARGEST = 16


def flags(folder: Path) -> list[str]:
    """How the sources of a folder find their headers, and what the build defines."""
    packages = Path(sysconfig.get_path("purelib"))
    torch = find_spec("torch")
    nanobind = find_spec("nanobind")
    limited = ["Py_LIMITED_API=0x030A0000"] if ROOT / "core" / "bind" in [folder, *folder.parents] else []
    folders = [Path(sys.prefix, "include"), sysconfig.get_path("include"), packages / "mpich" / "include"]
    for spec, inside in ((nanobind, ("include",)), (torch, ("include", "include/torch/csrc/api/include"))):
        folders += [Path(str(spec.origin)).parent / folder for folder in inside] if spec else []
    defined = [
        'NB_BACKEND_MODULE="nanobind_backend"',
        'HOCKET_NCCL_PROFILER=""',
        'HOCKET_NCCL_TUNER=""',
        'HOCKET_SECOND_PROFILER=""',
    ]
    return [
        "-std=c++20",
        "-w",
        *(f"-I{ROOT / folder}" for folder in ("core/include", "core/bind")),
        *(f"-isystem{folder}" for folder in folders),
        *(f"-D{name}" for name in [*defined, *limited, "TORCH_EXTENSION_NAME=hocket_hook"]),
    ]


def groups(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Files of one folder that keep no name to themselves twice, together."""
    open_groups: dict[Path, list[tuple[list[Path], set[str]]]] = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        own = "\n".join(_OWN.findall(text))
        names = {name for found in _DEFINED.findall(own) for name in found if name}
        names |= set(re.findall(r"^#define (\w+)", text, re.MULTILINE))
        beside = open_groups.setdefault(file.parent, [])
        for group, taken in beside:
            if len(group) < _LARGEST and not names & taken:
                group.append(file)
                taken |= names
                break
        else:
            beside.append(([file], names))
    for beside in open_groups.values():
        yield from (group for group, _ in beside)


def check(group: Sequence[Path]) -> tuple[set[str], set[str]]:
    """What is wrong with the names in some files, a line each; and which could not be read for want of headers."""
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder, "unit.cpp")
        unit.write_text("".join(f'#include "{file}"\n' for file in group), encoding="utf-8")
        command = [TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", unit, "--", *flags(group[0].parent)]
        shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = _FOUND.findall(shown.stdout)
    broken = [(place, text) for place, text, kind in found if kind != "readability"]
    if broken and len(group) > 1:
        each = [check(half) for half in (group[: len(group) // 2], group[len(group) // 2 :])]
        return set().union(*(wrong for wrong, _ in each)), set().union(*(missing for _, missing in each))
    if broken and all("file not found" in text for _, text in broken):
        return set(), {f"{os.path.relpath(group[0], ROOT)}: {broken[0][1]}"}
    if shown.returncode != 0 and not found:
        raise SystemExit(f"error: {' '.join(map(str, command))}: {shown.stderr}")
    return {f"{os.path.relpath(Path(place), ROOT)}: {text}" for place, text, _ in found}, set()


def main() -> int:
    """1 where a name is wrong."""
    if not TIDY.exists():
        print('error: clang-tidy is needed: pip install -e ".[lint]"', file=sys.stderr)
        return 3
    listed = subprocess.run(["git", "ls-files", "*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in sys.argv[1:] or listed.split()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        each = list(pool.map(check, groups(files)))
    wrong = set().union(*(wrong for wrong, _ in each))
    missing = set().union(*(missing for _, missing in each))
    for line in sorted(missing):
        print("not checked:", line)
    for line in sorted(wrong):
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
