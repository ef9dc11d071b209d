"""The constants of NCCL's model as rows of a tuner table, which the plugin writes over NCCL's own."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path

import numpy as np

from hocket.base.files import atomic_write
from hocket.nccl.constants import Constants
from hocket.nccl.names import PROTOCOLS
from hocket.nccl.tuning.rules import ALGORITHM_WORDS, written_range

__all__ = ["write_constants"]

_PROTOCOLS = [name.lower() for name in PROTOCOLS]
_GPUS = ("volta", "ampere", "hopper", "blackwell")
_SCALES = ("1node", "2nodes", "4nodes")
#: By field of Constants: NCCL's name, and the words of each axis (docs/nccl-tuner.md).
_ROWS = {
    "base_latency": ("baseLatencies", (ALGORITHM_WORDS, _PROTOCOLS)),
    "step_latency": ("hwLatencies", (("nvlink", "pci", "net"), ALGORITHM_WORDS, _PROTOCOLS)),
    "most_ll": ("llMaxBws", (_GPUS, _SCALES)),
    "most_ring_ll128": ("perChMaxRingLL128Bws", (_GPUS, _SCALES)),
    "most_tree_ll128": ("perChMaxTreeLL128Bws", (_GPUS, _SCALES)),
    "most_tree": ("perChMaxTreeBws", (_GPUS, _SCALES)),
    "most_nvls_tree": ("perChMaxNVLSTreeBws", (_GPUS, _SCALES)),
}


def write_constants(
    constants: Constants, before: Constants, nodes: tuple[int, int], path: Path | str, notes: Iterable[str]
) -> int:
    """A table with what differs from `before`, for communicators of so many nodes (least, most), whole or not at all;
    `notes` stand above it as comments. Returns how many rows it has; without any there is no file."""
    rows = list(_rows(constants, before))
    if rows:
        with atomic_write(path) as file:
            file.writelines(f"# {note}\n" for note in notes)
            file.writelines(f"{row},{written_range(nodes)}\n" for row in rows)
    return len(rows)


def _rows(constants: Constants, before: Constants) -> Iterator[str]:
    for field in fields(constants):
        name, axes = _ROWS[field.name]
        values, own = getattr(constants, field.name), getattr(before, field.name)
        for place, words in zip(np.ndindex(values.shape), product(*axes), strict=True):
            if values[place] != own[place]:
                yield ",".join(("constant", name, *words, repr(float(values[place]))))
