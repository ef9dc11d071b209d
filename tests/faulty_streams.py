"""Streams of jobs with faults of every kind, the same for the same number."""

import random
from pathlib import Path

from streams import END, Record, group, meta, write

KINDS = (
    ("allreduce_", 8, 8),
    ("_allgather_base_", 8, 32),
    ("broadcast_", 16, 16),
    ("barrier", 0, 0),
    ("scatter_", 24, 8),
    ("alltoall_base_", 8, 8),
)


def write_job(folder: Path, seed: int, ranks: int = 4) -> None:
    """A job of some ranks in groups of all, of the even and the odd ones, and of halves. Ranks leave out collectives,
    call others, do not end, die, come late, record nothing; some send messages, from several threads, in batches."""
    script = random.Random(seed)
    groups = [list(range(ranks)), list(range(0, ranks, 2)), list(range(1, ranks, 2)), list(range(ranks // 2))]
    calls = script.randint(5, 60)
    plan = [(script.randrange(len(groups)), script.choice(KINDS), script.random() < 0.4) for _ in range(calls)]
    faulty = script.random() < 0.7
    machines = script.choice((1, 2))
    for rank in range(ranks):
        if faulty and script.random() < 0.1:
            continue
        own = random.Random(seed * 1000 + rank)
        write(folder, rank, *_Rank(rank, ranks, machines, own, faulty).lines(plan, groups, script.getrandbits(20)))


class _Rank:
    def __init__(self, rank: int, ranks: int, machines: int, own: random.Random, faulty: bool) -> None:
        self.rank, self.ranks, self.machine, self.own = rank, ranks, rank * machines // ranks, own
        self.faults = 0.02 if faulty and own.random() < 0.6 else 0.0
        self.records: list[Record | str] = []
        self.shapes: dict[tuple[object, ...], int] = {}
        self.number = 0
        self.t = own.randint(0, 500)

    def lines(
        self, plan: list[tuple[int, tuple[str, int, int], bool]], groups: list[list[int]], salt: int
    ) -> list[Record | str]:
        rank, own = self.rank, self.own
        self.records.append(meta(rank, self.ranks, boot=str(self.machine), epoch_ns=rank, step=0))
        for at, members in enumerate(groups):
            if rank in members:
                self.records.append(group(members, at, f"group{at}", order=1 if at == 3 else 0))
        clock = {"k": "clock", "offset": self.machine * 70, "round_trip": 30}
        if self.machine and own.random() < 0.8:
            self.records.append(clock | {"t": 0})
        sequences = [0] * len(groups)
        for number, (at, kind, is_async) in enumerate(plan):
            if rank not in groups[at]:
                continue
            if own.random() < self.faults:
                sequences[at] += own.choice((0, 1))
                continue
            self._collective(at, kind, is_async, sequences[at], groups[at][0])
            sequences[at] += 1
            if number % 7 == 3:
                self._messages(salt + number)
            if number % 9 == 8:
                self.records.append({"k": "step", "n": number // 9, "t": self.t})
        if own.random() < self.faults * 10:
            return self.records
        if self.machine:
            self.records.append(clock | {"t": self.t, "offset": self.machine * 70 + 4})
        return [*self.records, END]

    def _shape(self, **values: object) -> int:
        key = tuple(sorted(values.items()))
        if key not in self.shapes:
            self.shapes[key] = len(self.shapes)
            self.records.append({"k": "shape", "id": self.shapes[key]} | values)
        return self.shapes[key]

    def _issue(self, shape: int, sequence: int, is_async: bool, ends: bool) -> None:
        self.t += self.own.randint(1, 400)
        thread = self.own.choice((1, 1, 1, 2))
        self.records.append(f"c {self.number} {shape} {sequence} {self.t} {thread}")
        lasts = self.own.randint(20, 300)
        if ends:
            if self.own.random() < 0.8:
                self.records.append(f"d {self.number} {self.t + lasts}")
            if self.own.random() < 0.9:
                self.records.append(f"w {self.number} {self.t + 10} {lasts} {thread}")
        elif self.own.random() < 0.3:
            self.records.append(f"x {self.number}")
        self.number += 1
        self.t += 0 if is_async else lasts

    def _collective(self, at: int, kind: tuple[str, int, int], is_async: bool, sequence: int, root: int) -> None:
        op, size, result = kind
        if self.own.random() < self.faults:
            size *= 2
        values: dict[str, object] = {"op": op, "group": at, "in": size, "out": result, "at": f"train.py:{at}"}
        if op in ("broadcast_", "scatter_"):
            values["root"] = root
            if op == "scatter_" and self.rank != root:
                values["in"] = 0
        if is_async:
            values["async"] = 1
        shape = self._shape(**values, dtype="float32", reduce="SUM")
        self._issue(shape, sequence, is_async, self.own.random() >= self.faults)

    def _messages(self, salt: int) -> None:
        """To the next rank and from the one before, with a tag of two groups."""
        next_rank, before = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
        for op, peer, at in (("send", next_rank, salt % 2 * 3), ("recv_", before, salt % 2 * 3)):
            if at and not {self.rank, peer} <= set(range(self.ranks // 2)):
                continue
            size = 64 if self.own.random() >= self.faults else 128
            sizes = {"in": size, "out": 0} if op == "send" else {"in": 0, "out": size}
            shape = self._shape(op=op, group=at, peer=peer, tag=3, dtype="float32", **sizes, **{"async": 1})
            if self.own.random() >= self.faults:
                self._issue(shape, 0, True, self.own.random() >= self.faults)
