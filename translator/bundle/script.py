"""`run.sh` of a bundle: runs nccl-tests or a job with it, and fails where the log does not prove that it was used."""

from collections.abc import Iterator

from hocket.base.text import shell_word
from hocket.translator.bundle.manifest import PROGRAMS, Bundle, BundleFile
from hocket.translator.bundle.windows import multiples
from hocket.translator.launching import job_command, mpirun_check, where
from hocket.translator.msccl.profile import Recipe
from hocket.translator.msccl.profiles import PROFILES
from hocket.translator.msccl.recipes import NCCL_TESTS

__all__ = ["measured_sizes", "run_script"]

_ALIGNMENT = 16  # bytes of a chunk that all runtimes move at full speed

_BODY = r"""
prove() { # LOG: whether it says that the programs were loaded, and launched where the runtime says that
  local log=$1 line
  if [ -n "$trouble" ] && grep -qE -- "$trouble" "$log"; then
    echo "NOT USED: a program was refused: $(grep -m1 -E -- "$trouble" "$log")" >&2
    return 1
  fi
  for line in "${proof[@]}"; do
    if ! grep -qE -- "$line" "$log"; then
      echo "NOT USED: no line '$line' in $log; the library ran its own algorithm (README.md: what falls back)" >&2
      return 1
    fi
  done
  echo "$verdict ($log)"
}

if [ $# -gt 0 ]; then
  env "${settings[@]}" "LD_PRELOAD=$library" "$@" 2>&1 | tee "$logs.log"
  prove "$logs.log"
  exit
fi

measure() { # FIRST LAST TYPE: from one size to another, doubling
  local log=$logs.$1-$2.log
  # shellcheck disable=SC2086  # options are words
  mpirun -np "$ranks" ${MPIRUN_OPTIONS-} env "${settings[@]}" "${NCCL_TESTS:+$NCCL_TESTS/}$perf" \
    -b "$1" -e "$2" -f 2 -d "$3" -g 1 -c 1 2>&1 | tee "$log"
  prove "$log"
}
"""


def run_script(bundle: Bundle) -> str:
    """The script, for bash."""
    return "\n".join(_lines(bundle, PROFILES[bundle.runtime].recipe)) + "\n"


def measured_sizes(file: BundleFile) -> tuple[int, int, str]:
    """First and last size of nccl-tests over a file's window, and its data type: all that doubling gives are served."""
    for chunk_bytes, data_type in ((_ALIGNMENT, "float"), (4, "float")):
        first, last = multiples(file.min_bytes, file.max_bytes, file.chunks * chunk_bytes)
        if first <= last:
            return first, last, data_type
    return *multiples(file.min_bytes, file.max_bytes, file.chunks), "int8"


def _lines(bundle: Bundle, recipe: Recipe) -> Iterator[str]:
    perf, variable = NCCL_TESTS[bundle.collective], recipe.variable
    job = job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)
    yield "#!/usr/bin/env bash"
    yield f"# {bundle.collective} on {bundle.ranks} ranks with {recipe.title}."
    yield "#"
    yield f"#   {variable}=/where/it/is ./run.sh                 {perf} of nccl-tests, on PATH or in $NCCL_TESTS"
    yield f"#   {variable}=/where/it/is ./run.sh {job}"
    yield from where(bundle.nodes, bundle.ranks_per_node)
    yield "#"
    yield "# Logs go to $LOGS.*.log (hocket-run). Exit code 1: they do not prove what README.md says of them."
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
    yield f"proof=({' '.join(map(shell_word, recipe.proof))})"
    yield f"trouble={shell_word(recipe.trouble)}"
    if recipe.launched:
        yield 'verdict="USED: the log has all lines that prove that programs were loaded, and one launched"'
    else:
        yield 'verdict="LOADED: the log has all lines that prove that programs were loaded; none says which one ran"'
    yield _BODY.rstrip("\n")
    yield ""
    yield from mpirun_check(bundle.nodes, bundle.ranks_per_node)
    for first, last, data_type in sorted({measured_sizes(file) for file in bundle.files}):
        yield f"measure {first} {last} {data_type}"
        if last != first << ((last // first).bit_length() - 1):
            yield f"measure {last} {last} {data_type}"
