"""One pass of a kernel over switches that compute, as nodes that wait for each other."""

from dataclasses import dataclass, replace

from hocket.schedule import Kernel, Move, Work
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.switch_trees import SwitchTree, switch_trees
from hocket.simulator.workload import NodeKind
from hocket.topology import Crossing

__all__ = ["OWN", "KernelNodes"]

#: What a rank sends to itself through a switch adds nothing to what it has.
OWN = -1


@dataclass(frozen=True, slots=True)
class _Done:
    """Nodes after which an action is done, and of a move those that bring it to each target."""

    everywhere: list[int]
    at: dict[int, list[int]]

    def of(self, rank: int) -> list[int]:
        return self.everywhere if rank < 0 else self.at[rank]


class KernelNodes:
    """The nodes of a pass, as columns, and which wait for which (`edges`: before, after, how many passes later).

    `src` is -1 where there is no message; `reduce` says whether the target adds what it gets (1) or takes it (0);
    `crossing` counts in `crossings` (-1: none is named)."""

    def __init__(self, kernel: Kernel, place: Place) -> None:
        self.rank: list[int] = []
        self.kind: list[int] = []
        self.chunk: list[int] = []
        self.src: list[int] = []
        self.dst: list[int] = []
        self.reduce: list[int] = []
        self.crossing: list[int] = []
        self.crossings: dict[Crossing, int] = {}
        self.latency_ps: list[int] = []
        self.edges: list[tuple[int, int, int]] = []
        self._trees = _Trees(kernel, place)
        done: list[_Done] = []
        for action in kernel.actions:
            done.append(self._work(action) if isinstance(action, Work) else self._move(action, done))
        for action, its in zip(kernel.actions, done, strict=True):
            if isinstance(action, Work):
                self._wait(action, its.everywhere[0], done)

    def _add(self, rank: int, kind: NodeKind, chunk: int = -1, latency_ps: int = 0) -> int:
        self.rank.append(rank)
        self.kind.append(int(kind))
        self.chunk.append(chunk)
        self.latency_ps.append(latency_ps)
        for column in (self.src, self.dst, self.reduce, self.crossing):
            column.append(-1)
        return len(self.rank) - 1

    def _work(self, work: Work) -> _Done:
        kind = NodeKind.MEMORY if work.chunk >= 0 else NodeKind.DELAY if work.latency_ps else NodeKind.NOTHING
        node = self._add(work.rank, kind, work.chunk, work.latency_ps)
        return _Done([node], {})

    def _wait(self, work: Work, node: int, done: list[_Done]) -> None:
        for wait in work.waits:
            self.edges += [(before, node, wait.lag) for before in done[wait.action].of(wait.rank)]

    def _message(self, move: Move, at: int, src: int, dst: int, value: int, after: list[int]) -> int:
        node = self._add(at, NodeKind.SEND, move.chunk)
        self.src[node], self.dst[node], self.reduce[node] = self._trees.nodes[src], self._trees.nodes[dst], value
        if move.crossing is not None:
            crossing = replace(move.crossing, through=self._trees.nodes[move.crossing.through])
            self.crossing[node] = self.crossings.setdefault(crossing, len(self.crossings))
        self.edges += [(before, node, 0) for before in after]
        return node

    def _move(self, move: Move, done: list[_Done]) -> _Done:
        """Nodes of a move's messages belong to its first target where it pulls, else to its first source."""
        begins = {source: done[begin].everywhere for source, begin in zip(move.sources, move.begins, strict=True)}
        at = (move.targets if len(move.sources) > 1 else move.sources)[0]
        if not move.in_network:
            (source,), (target,) = move.sources, move.targets
            arrival = {target: [self._message(move, at, source, target, int(move.reduce), begins[source])]}
        else:
            arrival = self._through(self._trees.of(move), move, at, begins)
        if move.latency_ps:
            delay = self._add(at, NodeKind.DELAY, latency_ps=move.latency_ps)
            self.edges += [(before, delay, 0) for ends in begins.values() for before in ends]
            arrival = {target: [*nodes, delay] for target, nodes in arrival.items()}
        return _Done([node for nodes in arrival.values() for node in nodes], arrival)

    def _through(self, tree: SwitchTree, move: Move, at: int, begins: dict[int, list[int]]) -> dict[int, list[int]]:
        """Messages up to the tree's root from the sources, and down from it to the targets."""
        rooted, sums, num_ranks = tree.rooted_at(tree.root), len(move.sources) > 1, self._trees.num_ranks
        down = list(zip(rooted.parent.tolist(), rooted.child.tolist(), strict=True))  # from the root on
        come = {source: list(ends) for source, ends in begins.items()}
        for parent, child in reversed(down):
            if child in come:
                own = move.reduce and child in move.targets
                sent = self._message(move, at, child, parent, OWN if own else int(sums), come[child])
                come.setdefault(parent, []).append(sent)
        wanted = set(move.targets)
        for parent, child in reversed(down):
            wanted |= {parent} if child in wanted else set()
        brought = {tree.root: come[tree.root]}
        for parent, child in down:
            if child in wanted:
                own = not sums and child in move.sources
                value = OWN if own else int(move.reduce and child < num_ranks)
                brought[child] = [self._message(move, at, parent, child, value, brought[parent])]
        return {target: brought[target] for target in move.targets}


class _Trees:
    """Trees of switches that compute, by the ranks that they join; several in turn."""

    def __init__(self, kernel: Kernel, place: Place) -> None:
        self.num_ranks, self._place = kernel.num_ranks, place
        self.nodes = place.nodes.tolist()
        self._name = kernel.name
        self._found: dict[frozenset[int], list[SwitchTree]] = {}

    def of(self, move: Move) -> SwitchTree:
        members = frozenset(move.sources) | frozenset(move.targets)
        if members not in self._found:
            self._found[members] = switch_trees(self._name, self._place, sorted(members))
        trees = self._found[members]
        return trees[move.chunk % len(trees)]
