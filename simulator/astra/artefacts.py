"""Where a result is an artefact of ASTRA-sim's model, which and by how much; sentences for the output."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.astra.program import Action, AstraNodes
from hocket.simulator.astra.setup import AstraSetup
from hocket.simulator.astra.system import KIND_NAMES, AstraAlgorithm

__all__ = ["artefacts"]

_SHOWN = 6


def artefacts(
    nodes: AstraNodes, columns: dict[str, NDArray[Any]], setup: AstraSetup, outcome: dict[str, Any]
) -> list[str]:
    """All notes about a simulation, whose nodes are all ranks' or stand for as many of all ranks."""
    copies = setup.num_ranks // nodes.traces.num_ranks
    native = (columns["action"] == Action.COLLECTIVE) & (columns["custom"] < 0)
    return [
        *_faster_than_links(setup, outcome),
        *_uncharged(outcome),
        *_inflated(columns, setup, native, copies),
        *_partial(columns, setup, native, copies),
        *_unset(setup, native),
        *_negative_exposed(outcome),
    ]


def _faster_than_links(setup: AstraSetup, outcome: dict[str, Any]) -> Iterator[str]:
    """Below the bound: no use of the links could carry the bytes that were sent in the time that was predicted."""
    time = int(outcome["finish_ns"].max())
    for number, (dimension, byte_hops) in enumerate(zip(setup.dimensions, outcome["byte_hops"].tolist(), strict=True)):
        links = setup.num_ranks // dimension.size * dimension.num_links
        least = byte_hops / (links * dimension.bytes_per_ns)
        if least > max(time, 1):
            yield (
                f"NOT PHYSICAL: dimension {number} ({dimension.shape} of {dimension.size}) needs at least"
                f" {least:.0f} ns to carry the bytes sent with all its links busy, {least / max(time, 1):.2f} times the"
                " result: ASTRA-sim shares links for free"
            )


def _uncharged(outcome: dict[str, Any]) -> Iterator[str]:
    messages, uncharged = outcome["partly_charged"], outcome["uncharged_ns"]
    if messages:
        yield (
            f"{messages} of {outcome['messages']} messages cross several dimensions and are charged for the first one"
            f" only: {uncharged // messages} ns each in the mean, {uncharged} ns in all, are left out"
        )


def _inflated(
    columns: dict[str, NDArray[Any]], setup: AstraSetup, native: NDArray[np.bool_], copies: int
) -> Iterator[str]:
    """Collectives whose chunks are more bytes than they have."""
    splits = setup.system.preferred_dataset_splits or 1
    sizes = Counter(zip(columns["kind"][native].tolist(), columns["bytes"][native].tolist(), strict=True))
    notes = []
    for (kind, size), count in sorted(sizes.items()):
        name = list(KIND_NAMES.values())[kind]
        chunk = size // splits
        chunks = splits
        if name != "all-gather" and chunk < setup.num_ranks:
            chunk = setup.num_ranks
        else:
            chunks = -(-size // chunk)
        charged = chunk * chunks
        if charged != size:
            more = f"{100 * (charged - size) / size:.1f}% more" if size else "instead of nothing"
            notes.append(
                f"{count * copies} x {name} of {size} bytes: charged as {chunks} chunks of {chunk} bytes,"
                f" {charged} bytes, {more}"
            )
    yield from notes[:_SHOWN]
    if len(notes) > _SHOWN:
        yield f"and {len(notes) - _SHOWN} more sizes of collectives are charged with more bytes than they have"


def _partial(
    columns: dict[str, NDArray[Any]], setup: AstraSetup, native: NDArray[np.bool_], copies: int
) -> Iterator[str]:
    """Collectives that leave dimensions out, or that do not do what their name says."""
    counts = np.bincount(columns["kind"][native & (columns["group"] < 0)])
    for kind in np.flatnonzero(counts).tolist():
        count = counts[kind] * copies
        name = list(KIND_NAMES.values())[kind]
        configured = setup.implementations[kind]
        if not configured[0].flat and len(configured) < len(setup.dimensions):
            ranks = int(np.prod([dimension.size for dimension in setup.dimensions[: len(configured)]]))
            yield (
                f"{count} x {name} covers {len(configured)} of {len(setup.dimensions)} dimensions:"
                f" only {ranks} of {setup.num_ranks} ranks take part with each other"
            )
        if name != "all-reduce" and any(one.algorithm is AstraAlgorithm.DOUBLE_BINARY_TREE for one in configured):
            yield f"{count} x {name} by doubleBinaryTree sends what an all-reduce would"
    mask = columns["dimensions"][native & (columns["group"] < 0)]
    left_out = int((mask >> 4 == 0).sum()) * copies if len(setup.dimensions) > 4 else 0
    if left_out:
        yield f"{left_out} collectives without involved_dim leave out all dimensions after the fourth"


def _unset(setup: AstraSetup, native: NDArray[np.bool_]) -> Iterator[str]:
    if native.any() and setup.system.collective_optimization is None and len(setup.dimensions) > 1:
        yield "collective-optimization is not given: ASTRA-sim leaves it undefined, read here as baseline"
    if native.any() and setup.system.local_mem_bw == 0:
        yield "local-mem-bw is not given: ASTRA-sim's reductions take no time"


def _negative_exposed(outcome: dict[str, Any]) -> Iterator[str]:
    exposed = outcome["finish_ns"] - outcome["compute_ns"]
    for rank in np.flatnonzero(exposed < 0)[:_SHOWN].tolist():
        yield (
            f"rank {rank} computes for {-exposed[rank]} ns longer than until it finishes (computations overlap):"
            " its exposed communication is below zero, which ASTRA-sim prints modulo 2^64"
        )
