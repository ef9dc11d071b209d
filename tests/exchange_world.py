"""Ranks that can only send and receive, each waiting for the other end, walk through an exchange plan."""

import random
from collections import defaultdict, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, Exchange, ExchangePlan, Program
from hocket.schedule.exchange import STAGING, ExchangeMessage, Piece
from hocket.schedule.memory import lay_out


class World:
    """Sums are modulo 2^64 of random numbers: a part that is missing or doubled shows."""

    def __init__(self, program: Program, plan: ExchangePlan, seed: int) -> None:
        self.chance = random.Random(seed)
        self.plan = plan
        self.memory = lay_out(program, plan.in_place)
        numbers = np.random.default_rng(seed)
        chunks = 1 + max(self.memory.initial.max(initial=0), self.memory.wanted[:, 1].max(initial=0))
        self.contributions = numbers.integers(0, 1 << 64, (program.num_ranks, chunks), np.uint64)
        self.values = numbers.integers(0, 1 << 64, len(self.memory.rank), np.uint64)  # what is undefined, too
        known = self.memory.initial >= 0
        self.values[known] = self.contributions[self.memory.rank[known], self.memory.initial[known]]
        self.staging = [numbers.integers(0, 1 << 64, rank.staging_chunks, np.uint64) for rank in plan.ranks]

    def at(self, rank: int, piece: Piece, count: int) -> NDArray[np.uint64]:
        if piece.buffer == STAGING:
            found = self.staging[rank][piece.offset : piece.offset + count]
        else:
            first = self.memory.base[rank, BUFFERS.index(piece.buffer)] + piece.offset
            found = self.values[first : first + count]
        assert len(found) == count
        return found

    def run(self) -> None:
        """Every rank to its end; the messages of a round in a random order."""
        walks = {rank: self.walk(rank) for rank in range(len(self.plan.ranks))}
        current = {rank: next(walk, None) for rank, walk in walks.items()}
        while True:
            current = {rank: exchange for rank, exchange in current.items() if exchange is not None}
            if not current:
                return
            ends = [
                (source, rank)
                for rank, exchange in current.items()
                for source in exchange.receives
                if rank in (current[source].sends if source in current else ())
            ]
            through = [rank for rank, exchange in current.items() if not exchange.sends and not exchange.receives]
            assert ends or through, "deadlock"
            for rank in through:
                current[rank] = next(walks[rank], None)
            if ends:
                source, rank = self.chance.choice(ends)
                sender, receiver = current[source], current[rank]
                assert sender is not None and receiver is not None
                assert sender.round == receiver.round, "ends of a message in different rounds"
                sent, received = sender.take(sender.sends, rank), receiver.take(receiver.receives, source)
                assert sent.chunks == received.chunks
                into, out = self.at(rank, *received[1:]), self.at(source, *sent[1:])
                into[:] = out

    def walk(self, rank: int) -> Iterator["Waiting"]:
        last = -1
        for exchange in self.plan.ranks[rank].exchanges:
            assert exchange.round > last
            last = exchange.round
            self.check_places(rank, exchange)
            yield Waiting(exchange)
            for step in exchange.local_steps:
                result = self.at(rank, step.source, step.chunks)
                if step.other is not None:
                    result = result + self.at(rank, step.other, step.chunks)
                self.at(rank, step.target, step.chunks)[:] = result

    def check_places(self, rank: int, exchange: Exchange) -> None:
        """Nothing is received over what another message of the round needs."""
        received: set[int] = set()
        for message in exchange.receives:
            places = self.addresses(rank, message)
            assert not places & received
            received |= places
        for message in exchange.sends:
            assert not self.addresses(rank, message) & received

    def addresses(self, rank: int, message: ExchangeMessage) -> set[int]:
        chunks = self.at(rank, message.place, message.chunks)
        first = chunks.__array_interface__["data"][0]
        return set(range(first, first + chunks.nbytes, chunks.itemsize))

    def wrong(self) -> int:
        """Chunks, of those that the collective is for, that are not what it says."""
        location, chunk, source = self.memory.wanted.T
        summed = self.contributions.sum(axis=0, dtype=np.uint64)
        expected = np.where(source < 0, summed[chunk], self.contributions[source.clip(min=0), chunk])
        return int((self.values[location] != expected).sum())


class Waiting:
    """A rank's exchange while its messages go: those left, by peer, in order."""

    def __init__(self, exchange: Exchange) -> None:
        self.round = exchange.round
        self.sends = self.by_peer(exchange.sends)
        self.receives = self.by_peer(exchange.receives)

    @staticmethod
    def by_peer(messages: tuple[ExchangeMessage, ...]) -> dict[int, deque[ExchangeMessage]]:
        found: defaultdict[int, deque[ExchangeMessage]] = defaultdict(deque)
        for message in messages:
            found[message.peer].append(message)
        return dict(found)

    @staticmethod
    def take(messages: dict[int, deque[ExchangeMessage]], peer: int) -> ExchangeMessage:
        message = messages[peer].popleft()
        if not messages[peer]:
            del messages[peer]
        return message
