"""Rules of local reductions that the parsers merge into one."""

import numpy as np
from numpy.typing import NDArray

from hocket.translator.msccl.columns import MAX_FUSED, DocumentColumns
from hocket.translator.msccl.findings import Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.rules.rule import Rule, step_rule

__all__ = ["SUM_RULES"]


def _unequal(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    real = np.flatnonzero(columns.real)
    unequal = np.zeros(len(columns.block), bool)
    unequal[real[1:]] = columns.continues[real[1:]] & (columns.count[real[1:]] != columns.count[real[:-1]])
    return unequal


def _fused_sources(columns: DocumentColumns) -> NDArray[np.int64]:
    """Sources of the reduction that each step belongs to so far."""
    real = np.flatnonzero(columns.real)
    continues = columns.continues[real]
    at = np.arange(len(real))
    begun = np.maximum.accumulate(np.where(continues, -1, at)) if len(real) else at
    sources = np.ones(len(columns.block), np.int64)
    sources[real] = at - begun + 1
    return sources


SUM_RULES: list[Rule] = [
    step_rule(
        "merged counts",
        Severity.WRONG,
        _unequal,
        lambda columns, _, row: (
            "follows a reduction of another number of chunks into the same place; the runtimes make one reduction of "
            f'both, of cnt="{columns.count[row]}"'
        ),
        "give both the same cnt",
        blocks=True,
    ),
    step_rule(
        "merged sources",
        Severity.WRONG,
        lambda columns, _: _fused_sources(columns) > MAX_FUSED,
        lambda columns, *_: (
            f"is source {MAX_FUSED + 1} of one reduction; the kernels have room for {MAX_FUSED}, the parsers cut only "
            f"after the {MAX_FUSED}th of a thread block"
        ),
        "set hasdep on every 16th reduction",
    ),
]
