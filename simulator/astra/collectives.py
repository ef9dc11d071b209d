"""The workload's collectives: their groups, dimensions and custom algorithms, checked for what ASTRA-sim can run."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, TraceError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import read_yaml
from hocket.chakra import CollectiveType, NodeType, TraceSet, read_traces
from hocket.simulator.astra.program import EVERYBODY, Action, AstraNodes, columns_of
from hocket.simulator.astra.setup import AstraSetup
from hocket.simulator.astra.system import KIND_NAMES, AstraAlgorithm, Implementation

__all__ = ["Collectives"]

_STREAMS_PER_GROUP = 1_000_000
_ALL_GATHER = list(KIND_NAMES).index(CollectiveType.ALL_GATHER)
_IN_GROUPS_OF_MANY = Implementation("ring", AstraAlgorithm.RING, -1, False)


def _rings_of(setup: AstraSetup, kind: int, group: tuple[int, ...] | None) -> list[tuple[Implementation, int]]:
    """Algorithm and size of every logical dimension that a collective runs on; `group` None: of everybody."""
    configured = setup.implementations[kind]
    if group is not None and len(group) < setup.num_ranks:
        return [(configured[0] if len(configured) == 1 else _IN_GROUPS_OF_MANY, len(group))]
    if configured[0].flat:
        return [(configured[0], setup.num_ranks)]
    return [(one, dimension.size) for one, dimension in zip(configured, setup.dimensions, strict=False)]


class Collectives:
    """Fills the columns `group`, `custom` and `dimensions` of a workload.

    `groups` are the engine's (ranks, first stream id), `custom` the columns of each custom collective's graph.
    Raises TraceError or FormatError for what ASTRA-sim crashes on, hangs in or does not say.
    """

    def __init__(self, nodes: AstraNodes, columns: dict[str, NDArray[Any]], setup: AstraSetup) -> None:
        self.setup = setup
        self.nodes = nodes
        self.groups: list[tuple[list[int], int]] = []
        self.custom: list[dict[str, NDArray[Any]]] = []
        self._custom_of_path: dict[str, int] = {}
        native_or_custom = columns["action"] == Action.COLLECTIVE
        collective = native_or_custom | (columns["action"] == Action.BROADCAST)
        columns["group"] = self._groups(collective)
        columns["dimensions"] = self._dimensions(native_or_custom)
        columns["custom"] = self._customs(native_or_custom, columns["kind"])
        self._check(native_or_custom, columns)

    def _groups(self, collective: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Index into `groups` of every node; -1: everybody."""
        result = np.full(len(collective), -1, np.int32)
        if not (self.nodes.of("process_group") >= 0).any():
            return result
        rows = np.flatnonzero(collective)
        index_of: dict[str, int] = {}
        members: list[set[int]] = []
        for row, name in zip(rows.tolist(), self.nodes.groups()[rows], strict=True):
            if name is None or name in EVERYBODY:
                continue
            if name not in index_of:
                index_of[name] = len(self.groups)
                self.groups.append(self._group(row, name))
                members.append(set(self.groups[-1][0]))
            result[row] = index_of[name]
            if int(self.nodes.rank[row]) not in members[result[row]]:
                self.nodes.refuse(row, f"rank {self.nodes.rank[row]} is not in its group {name}")
        return result

    def _group(self, row: int, name: str) -> tuple[list[int], int]:
        if not name.isdecimal() or int(name) < 1:
            self.nodes.refuse(row, f"pg_name '{name}': ASTRA-sim names groups by positive integers")
        ranks = self.nodes.traces.groups.get(name)
        if ranks is None:
            known = ", ".join(self.nodes.traces.groups) or "none"
            self.nodes.refuse(row, f"group {name} is in no communicator group (known: {known}); give --comm-groups")
        if max(ranks) >= self.setup.num_ranks:
            raise TraceError(f"group {name}: rank {max(ranks)} is not on the network of {self.setup.num_ranks} ranks")
        return list(ranks), int(name) * _STREAMS_PER_GROUP

    def _dimensions(self, collective: NDArray[np.bool_]) -> NDArray[np.uint32]:
        """Bits of the dimensions involved: four, as ASTRA-sim assumes, where a node does not say."""
        said = self.nodes.of("involved_dims")
        if (said < 0).all():
            return np.full(len(said), 0b1111, np.uint32)
        size = np.zeros(len(said), np.int64)
        size[said > 0] = np.floor(np.log2(said[said > 0].astype(np.float64)))
        self.nodes.require(
            ~collective | (said < 0) | (size >= len(self.setup.dimensions)),
            f"involved_dim has fewer values than the network's {len(self.setup.dimensions)} dimensions",
        )
        mask = np.where(said < 0, 0b1111, said & ((1 << len(self.setup.dimensions)) - 1))
        return mask.astype(np.uint32)

    def _customs(self, collective: NDArray[np.bool_], kind: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Index into `custom` of every collective; -1: native."""
        system = self.setup.system
        custom = np.full(len(kind), -1, np.int32)
        for number, name in enumerate(KIND_NAMES.values()):
            paths = getattr(system, f"{name.replace('-', '_')}_implementation_custom")
            if paths is not None and (mine := collective & (kind == number)).any():
                custom[mine] = self._custom(paths[0])
        if system.per_node_custom_implementation is not None:
            path = self._located(system.per_node_custom_implementation)
            for node_id, prefix in read_yaml(read_text(path, YAML), str(path)).content.items():
                if not node_id.isdecimal() or not isinstance(prefix, str):
                    raise FormatError(f"{path}: expected node ids with a path prefix each, such as `3: path/prefix`")
                mine = collective & (self.nodes.id == int(node_id))
                if mine.any():
                    custom[mine] = self._custom(prefix)
        return custom

    def _custom(self, prefix: str) -> int:
        if prefix not in self._custom_of_path:
            traces = read_traces(self._located(prefix, ".0.et"))
            nodes = AstraNodes(TraceSet(traces.traces, {}, traces.paths))
            columns = columns_of(nodes, traces.num_ranks)
            nodes.require(
                np.isin(nodes.type, (NodeType.COMM_SEND, NodeType.COMM_RECV, NodeType.COMP)),
                "a custom collective has COMM_SEND, COMM_RECV and COMP nodes only: others never end in ASTRA-sim",
            )
            self._custom_of_path[prefix] = len(self.custom)
            self.custom.append(columns)
        return self._custom_of_path[prefix]

    def _located(self, path: str, suffix: str = "") -> Path:
        """A path as ASTRA-sim takes it, from the working directory; else from the system file's folder."""
        beside = self.setup.system_path.parent / path
        return beside if os.path.exists(f"{beside}{suffix}") and not os.path.exists(path + suffix) else Path(path)

    def _check(self, collective: NDArray[np.bool_], columns: dict[str, NDArray[Any]]) -> None:
        """Checks a node of every sort of collective."""
        rows = np.flatnonzero(collective)
        sorts = columns["kind"][rows].astype(np.int64)
        for name, known in (("group", len(self.groups)), ("custom", len(self.custom))):
            sorts = sorts * (known + 1) + columns[name][rows]
        _, first = np.unique(sorts, return_index=True)
        for row in rows[np.sort(first)].tolist():
            ranks = None if columns["group"][row] < 0 else self.groups[columns["group"][row]][0]
            if self.setup.system.preferred_dataset_splits is None:
                raise FormatError(
                    f"{self.setup.system_path}: preferred-dataset-splits is missing: the chunks of a collective"
                )
            if columns["custom"][row] >= 0:
                self._check_custom(row, self.custom[columns["custom"][row]], ranks)
            else:
                self._check_native(row, int(columns["kind"][row]), ranks)
        is_gather = columns["kind"][rows] == _ALL_GATHER
        gathers = rows[is_gather & (columns["custom"][rows] < 0)]
        splits = self.setup.system.preferred_dataset_splits or 0
        small = gathers[columns["bytes"][gathers] < splits]
        if len(small):
            self.nodes.refuse(
                small[0],
                f"an all_gather of fewer bytes than preferred-dataset-splits ({splits}) never ends in ASTRA-sim",
            )

    def _check_custom(self, row: int, graph: dict[str, NDArray[Any]], ranks: list[int] | None) -> None:
        if self.setup.system.preferred_dataset_splits != 1:
            raise FormatError(
                f"{self.setup.system_path}: preferred-dataset-splits must be 1 with custom collectives: ASTRA-sim runs"
                " one chunk and waits for all"
            )
        needed = self.setup.num_ranks if ranks is None else len(ranks)
        num_graphs = len(graph["rank_offset"]) - 1
        if num_graphs < needed or (ranks is not None and int(graph["peer"].max(initial=-1)) >= needed):
            self.nodes.refuse(row, f"its custom collective is for {num_graphs} ranks, the collective has {needed}")
        if num_graphs > needed and ranks is None:
            self.nodes.refuse(row, f"its custom collective is for {num_graphs} ranks, the network has {needed}")

    def _check_native(self, row: int, kind: int, ranks: list[int] | None) -> None:
        name = list(KIND_NAMES.values())[kind]
        if not self.setup.implementations[kind]:
            raise FormatError(f"{self.setup.system_path}: {name}-implementation is missing, and the workload needs it")
        group = None if ranks is None else tuple(ranks)
        for implementation, size in _rings_of(self.setup, kind, group):
            algorithm = implementation.algorithm
            is_tree = algorithm is AstraAlgorithm.DOUBLE_BINARY_TREE
            if (is_tree or algorithm is AstraAlgorithm.HALVING_DOUBLING) and size & (size - 1):
                self.nodes.refuse(
                    row, f"{implementation.name} needs a power of two, not {size} ranks; use ring or direct"
                )
            if is_tree and group is not None and len(group) < self.setup.num_ranks:
                self.nodes.refuse(row, "doubleBinaryTree does not run in a communicator group; use ring or direct")
            if algorithm is AstraAlgorithm.HALVING_DOUBLING and name == "all-to-all":
                self.nodes.refuse(row, f"{implementation.name} is no algorithm for all_to_all; use ring or direct")
