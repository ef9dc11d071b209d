"""Traces without what tells whose they are: names replaced by numbers, the same name by the same number everywhere."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from hocket.chakra.losses import LOSSES, REPAIRS
from hocket.chakra.profiled import HOST, SIDE_BY_SIDE, is_unsized, unsized
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.steps import is_step_mark
from hocket.chakra.summary import kind_of_node
from hocket.chakra.trace import NodeType, Trace

__all__ = ["Anonymizer", "described"]

_KEPT_METADATA = (
    LOSSES,
    REPAIRS,
    *("rank", "world_size", "step_numbers", "step_begins"),
    *("accelerator", "precision", "gpu", SIDE_BY_SIDE),
)
_PLAIN_GROUP = re.compile(r"[0-9]*")


class Anonymizer:
    """Replaces names of nodes and groups; one for all ranks of a job, so that they agree.

    A node of communication is called by its kind, a mark of a step and what is the host's keep their names, any other
    is called op1, op2, ... by first appearance (after what says that it is communication of unknown size), a group that
    is no number g1, g2, ... in the order of their names. Metadata stays as far as _KEPT_METADATA says; fields without a
    column (inputs, outputs, attributes of other tools) do not stay.
    """

    def __init__(self, groups: Mapping[str, tuple[int, ...]]) -> None:
        self._names: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self.groups = {self._group(name): groups[name] for name in sorted(groups)}

    @property
    def num_names(self) -> int:
        return len(self._names)

    @property
    def num_groups(self) -> int:
        return len(self._groups)

    def anonymize(self, trace: Trace) -> Trace:
        """A block with other names; `trace.rest` must be empty."""
        renamed = rename_groups(trace, {name: self._group(name) for name in sorted(group_names(trace))})
        keys = np.stack([trace.name, np.where(trace.type >= NodeType.COMM_SEND, trace.type, 0), trace.comm_type])
        keys[2, trace.type != NodeType.COMM_COLL] = -1
        unique, place = np.unique(keys, axis=1, return_inverse=True)
        first = np.full(unique.shape[1], len(trace))
        np.minimum.at(first, place.ravel(), np.arange(len(trace)))
        names = [""] * unique.shape[1]
        for column in np.argsort(first).tolist():
            name, kind, comm_type = unique[:, column].tolist()
            names[column] = kind_of_node(kind, comm_type) if kind else self._name(trace.strings[name])
        return replace(
            renamed,
            metadata={key: value for key, value in trace.metadata.items() if key in _KEPT_METADATA},
            strings=self._blanked(renamed) + tuple(names),
            name=(len(renamed.strings) + place.ravel()).astype(np.int32),
        )

    @staticmethod
    def _blanked(trace: Trace) -> tuple[str, ...]:
        """The strings that groups, types and splits still use; nothing in the place of the others."""
        used = {index for column in (trace.process_group, trace.dtype, trace.in_splits) for index in np.unique(column)}
        return tuple(text if index in used else "" for index, text in enumerate(trace.strings))

    def _name(self, name: str) -> str:
        if name in ("", HOST) or is_step_mark(name):
            return name
        other = f"op{len(self._names) + 1}"
        return self._names.setdefault(name, unsized(other) if is_unsized(name) else other)

    def _group(self, name: str) -> str:
        if _PLAIN_GROUP.fullmatch(name):
            return name
        return self._groups.setdefault(name, f"g{len(self._groups) + 1}")


def described(anonymizer: Anonymizer) -> Iterator[str]:
    """What was replaced, what was left out and what is still there, in words."""
    yield f"replaced: {anonymizer.num_names} names of nodes, {anonymizer.num_groups} names of groups"
    yield "left out: inputs, outputs, attributes of other tools, and the metadata but for " + ", ".join(_KEPT_METADATA)
    yield (
        "kept: the order and dependencies of the nodes, their ids, times and durations, kinds, sizes and types of "
        "elements, ranks and groups, steps"
    )
