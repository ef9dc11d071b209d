"""The right program of a bundle for each size, on real processes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError
from hocket.runtime.run.buffers import input_output_elements
from hocket.runtime.run.datatypes import DATA_TYPES
from hocket.runtime.run.job import Job, Row
from hocket.runtime.run.launch import launch
from hocket.runtime.run.runner import prepare
from hocket.translator.bundle import Bundle, BundleFile, BundleRuntime, read_bundle

__all__ = ["BundleRun", "Served"]


@dataclass(frozen=True)
class Served:
    """One size: what was measured (None: nothing to run), and the files that served its two kinds of calls; None: the
    runtime would run its own algorithm."""

    row: Row
    out_of_place: BundleFile | None
    in_place: BundleFile | None


class BundleRun:
    """Runs of a bundle's programs at `sizes` in bytes; `options` as in `Job`.

    Every program is read, proved and checked before any runs. Raises what `prepare` does, HocketError for an unknown
    data type or when no file serves any of the sizes, and FormatError for a folder that is no bundle.
    """

    def __init__(
        self, folder: Path, backend: str, ranks: int | None, sizes: Sequence[int], verify: bool = True, **options: Any
    ) -> None:
        self.bundle: Bundle = read_bundle(folder)
        if self.bundle.runtime == BundleRuntime.MSCCLPP:
            sources = sorted({file.source for file in self.bundle.files})
            raise HocketError(
                f"{folder}: MSCCL++ plans write into each other's memory, which no backend here can; run what they "
                f"were made from: hocket translate {' '.join(sources)} --to executor --bundle DIR"
            )
        self.sizes = tuple(sizes)
        data_type = options["data_type"]
        if data_type not in DATA_TYPES:
            raise HocketError(f"unknown data type '{data_type}'; known: {', '.join(DATA_TYPES)}")
        self._element_bytes = DATA_TYPES[data_type].size_bytes
        self._file = {
            (size, call): self.bundle.serving(size, self._element_bytes, call)
            for size, call in product(self.sizes, (True, False))
        }
        served: dict[BundleFile, list[int]] = {}
        for (size, _), file in self._file.items():
            if file is not None:
                served.setdefault(file, []).append(size)
        if not served:
            windows = [f"{file.min_bytes} to {file.max_bytes} B in {file.chunks} chunks" for file in self.bundle.files]
            raise HocketError(f"{folder}: no file is for any of these sizes; they are for {', '.join(windows)}")
        self._jobs = {
            file: prepare(folder / file.path, backend, ranks, at, root=self.bundle.root, verify=verify, **options)
            for file, at in served.items()
        }

    @property
    def job(self) -> Job:
        """One of the jobs: collective, ranks, backend and data type are those of all."""
        return next(iter(self._jobs.values()))

    def launch(self, timeout_s: float) -> Iterator[Served]:
        """A result for each size, in their order, once all have run; errors as in `hocket.runtime.run.launch`."""
        found = {
            (row.size_bytes, file.in_place): row for file, job in self._jobs.items() for row in launch(job, timeout_s)
        }
        for size in self.sizes:
            elements = size // self._element_bytes
            count = min(input_output_elements(self.bundle.collective, self.bundle.ranks, elements))
            row = Row(size, count, None, None, None)
            if (size, False) in found:
                row = replace(row, out_of_place=found[size, False].out_of_place)
            if (size, True) in found:
                row = replace(row, in_place=found[size, True].in_place)
            yield Served(row, self._file[size, False], self._file[size, True])
