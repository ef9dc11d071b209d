"""`run.sh` of a bundle: runs nccl-tests or a job with it, and fails where the log does not prove that it was used."""

from collections.abc import Iterator
from shlex import quote

from hocket.translator.bundle.manifest import PROGRAMS, Bundle, BundleFile
from hocket.translator.recipes import NCCL_TESTS, RECIPES, Recipe

__all__ = ["measured_sizes", "run_script"]

_ALIGNMENT = 16  # bytes of a chunk that all runtimes move at full speed

_BODY = r"""
prove() { # LOG: whether it says that the programs were loaded
  local log=$1 line
  for line in "${trouble[@]}"; do
    if grep -qE -- "$line" "$log"; then
      echo "NOT USED: a program was refused: $(grep -m1 -E -- "$line" "$log")" >&2
      return 1
    fi
  done
  for line in "${proof[@]}"; do
    if ! grep -qE -- "$line" "$log"; then
      echo "NOT USED: no line '$line' in $log; the library ran its own algorithm (README.md: what falls back)" >&2
      return 1
    fi
  done
  echo "USED: $log has all lines that prove that the programs were loaded"
}

if [ $# -gt 0 ]; then
  env "${settings[@]}" "LD_PRELOAD=$library" "$@" 2>&1 | tee "$logs.log"
  prove "$logs.log"
  exit
fi

measure() { # FIRST LAST: from one size to another, doubling
  local log=$logs.$1-$2.log
  mpirun -np "$ranks" env "${settings[@]}" "${NCCL_TESTS:+$NCCL_TESTS/}$perf" -b "$1" -e "$2" -f 2 -g 1 -c 1 2>&1 |
    tee "$log"
  prove "$log"
}
"""


def run_script(bundle: Bundle) -> str:
    """The script, for bash."""
    return "\n".join(_lines(bundle, RECIPES[bundle.runtime])) + "\n"


def measured_sizes(file: BundleFile) -> tuple[int, int]:
    """First and last size of nccl-tests over a file's window: all that doubling gives are served."""
    unit = file.chunks * _ALIGNMENT
    largest = file.max_bytes // file.chunks * file.chunks
    return min(-(-max(file.min_bytes, 1) // unit) * unit, largest), largest


def _lines(bundle: Bundle, recipe: Recipe) -> Iterator[str]:
    perf, variable = NCCL_TESTS[bundle.collective], recipe.variable
    job = f"torchrun --nproc-per-node {bundle.ranks} train.py"
    yield "#!/usr/bin/env bash"
    yield f"# {bundle.collective} on {bundle.ranks} ranks with {recipe.title}."
    yield "#"
    yield f"#   {variable}=/where/it/is ./run.sh                 {perf} of nccl-tests, on PATH or in $NCCL_TESTS"
    yield f"#   {variable}=/where/it/is ./run.sh {job}"
    yield "#"
    yield "# Logs go to $LOGS.*.log (hocket-run). Exit code 1: they do not prove that the programs of this folder ran."
    yield "# One GPU a process. Written from the documentation and source code of the runtime, and not run on GPUs."
    yield "set -euo pipefail"
    yield ""
    yield 'here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)'
    yield "logs=${LOGS:-hocket-run}"
    yield f': "${{{variable}:?set it to the folder where {recipe.title} is}}"'
    yield f"library=${variable}/{recipe.library}"
    yield f"ranks={bundle.ranks}"
    yield f"perf={perf}"
    yield "settings=("
    files = ":".join(f"$here/{file.path}" for file in bundle.files)
    for setting in recipe.environment:
        yield f'  "{setting.replace("{files}", files).replace("{folder}", f"$here/{PROGRAMS}")}"'
    yield ")"
    if "{files}" in "".join(recipe.environment):
        yield 'case $here in *:*) echo "$here: a path must have no colon for this runtime" >&2 && exit 1 ;; esac'
    yield f"proof=({' '.join(map(quote, recipe.proof))})"
    yield f"trouble=({' '.join(map(quote, recipe.trouble))})"
    yield _BODY.rstrip("\n")
    yield ""
    for first, last in sorted({measured_sizes(file) for file in bundle.files}):
        yield f"measure {first} {last}"
