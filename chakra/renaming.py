"""Process groups of a trace under other names."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hocket.chakra.job_metadata import with_groups_renamed
from hocket.chakra.trace import Trace

__all__ = ["group_names", "rename_groups"]


def group_names(trace: Trace) -> tuple[str, ...]:
    """The names that the trace's nodes use, each once."""
    return tuple(trace.strings[index] for index in np.unique(trace.process_group[trace.process_group >= 0]))


def rename_groups(trace: Trace, names: Mapping[str, str]) -> Trace:
    """The trace with its groups called as `names` says, in its metadata too; those it lacks keep their names. Shares
    all other columns."""
    used = np.unique(trace.process_group[trace.process_group >= 0])
    old = group_names(trace)
    # A node may have the same name as a group, so the new names are strings of their own, behind the others.
    place = np.full(len(trace.strings) + 1, -1, np.int32)
    place[used] = len(trace.strings) + np.arange(len(used))
    return replace(
        trace,
        metadata=with_groups_renamed(trace.metadata, names),
        strings=trace.strings + tuple(names.get(name, name) for name in old),
        process_group=place[trace.process_group],
    )
