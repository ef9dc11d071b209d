"""README.md and `run.sh` of a bundle for Hocket's own interpreter, which jobs and `hocket run` load as it is."""

from collections.abc import Iterator

from hocket.base.units import format_limit, format_time
from hocket.translator.bundle.manifest import Bundle, BundleFile
from hocket.translator.bundle.windows import multiples
from hocket.translator.launching import job_command

__all__ = ["device_readme", "device_script"]

_ELEMENT = 4  # bytes of the float32 that `hocket run` moves


def device_readme(bundle: Bundle) -> str:
    """Markdown."""
    return "\n".join(_readme(bundle)) + "\n"


def _readme(bundle: Bundle) -> Iterator[str]:
    job = job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)
    yield f"# {bundle.collective} on {bundle.ranks} ranks of {bundle.topology}, for Hocket's own kernel"
    yield ""
    yield "| file | calls | from | to | protocol | thread blocks | predicted |"
    yield "|---|---|---|---|---|---|---|"
    yield from map(_row, bundle.files)
    yield ""
    yield "Sizes count a rank's whole buffer, the larger of input and output, as nccl-tests does; both ends are served."
    yield "`predicted` is Hocket's simulation, with what the kernel takes. `bundle.json` says the same to programs."
    yield "Every file was proved right before it was written: values, no race, no deadlock at any size of its window."
    yield ""
    yield "## Run"
    yield "```"
    yield "./run.sh                       # every window on this machine's processors, every value checked"
    yield f"./run.sh {job}"
    yield "```"
    yield "A job needs PyTorch and Hocket, nothing else: tensors on GPUs of NCCL's groups, on CPUs of gloo's. At its"
    yield "end it reports which file served how many calls, and why the library's own algorithm ran the others."


def _row(file: BundleFile) -> str:
    first, last = file.predicted[0], file.predicted[-1]
    predicted = f"{format_time(first.time_ps)} to {format_time(last.time_ps)}"
    sizes = f"{format_limit(file.min_bytes)} | {format_limit(file.max_bytes)}"
    return f"| `{file.path}` | {file.call} | {sizes} | {file.protocol} | {file.thread_blocks} | {predicted} |"


def device_script(bundle: Bundle) -> str:
    """The script, for bash."""
    return "\n".join(_script(bundle)) + "\n"


def _script(bundle: Bundle) -> Iterator[str]:
    job = job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)
    yield "#!/usr/bin/env bash"
    yield f"# {bundle.collective} on {bundle.ranks} ranks by Hocket's own kernel (docs/device.md)."
    yield "#"
    yield "#   ./run.sh                       every window on this machine's processors, every value checked"
    yield f"#   ./run.sh {job}"
    yield "set -euo pipefail"
    yield ""
    yield 'here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)'
    yield "if [ $# -gt 0 ]; then"
    yield '  exec env "HOCKET_ALGORITHMS=$here" HOCKET_ALGORITHMS_ENGINE=device "$@"'
    yield "fi"
    for file in bundle.files:
        first, last = multiples(file.min_bytes, file.max_bytes, file.chunks * _ELEMENT)
        if first <= last:
            yield f'hocket run --bundle "$here" --transport device -b {first} -e {last} -f 2'
