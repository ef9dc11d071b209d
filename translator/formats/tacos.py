"""TACOS' own files: link orders of an all_gather. v1.1.x writes CSV, v1.2.0 XML for MSCCL; v1.3.0 writes none.

A chunk's number there is k * ranks + origin for the k-th chunk of a rank; `GB/s` means 2^30 bytes/s. Formats: the
`csv_writer.cpp` and `xml_writer.cpp` of the tagged versions (github.com/astra-sim/tacos).
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.schedule import Collective, Kind, Program
from hocket.schedule.orders import LinkOrders
from hocket.topology import Topology
from hocket.translator.msccl.xml_read import from_xml

__all__ = ["read_tacos_csv", "read_tacos_xml", "tacos_program"]

_COUNT = r"[0-9]{1,12}"
_HEADER = (
    ("NPUs Count", rf"NPUs Count,({_COUNT})"),
    ("Links Count", rf"Links Count,({_COUNT})"),
    ("Chunks Count", rf"Chunks Count,({_COUNT})"),
    ("Chunk Size", rf"Chunk Size,({_COUNT}),B"),
    ("SrcID", r"(SrcID),DestID,Latency \(ns\),Bandwidth \(GB/s\),Chunks"),
)
_DECIMAL = r"[0-9]{1,12}(?:\.[0-9]{0,12})?(?:[eE][+-]?[0-9]{1,2})?"
_LINK = re.compile(rf"({_COUNT}),({_COUNT}),({_DECIMAL}),({_DECIMAL}),(None|{_COUNT}(?:,{_COUNT})*)")


def read_tacos_csv(path: Path | str) -> LinkOrders:
    """The link orders in a CSV file of v1.1.x, which also says what the network is.

    Raises FormatError naming file and line, TopologyError for a link that cannot be.
    """
    lines = read_text(path).splitlines()
    counts = []
    for number, (name, pattern) in enumerate(_HEADER, start=1):
        match = re.fullmatch(pattern, lines[number - 1].strip()) if number <= len(lines) else None
        if match is None:
            raise FormatError(f"{path}:{number}: expected `{name},...` as TACOS v1.1 writes it")
        counts.append(match[1])
    ranks, num_links, chunks, chunk_bytes = map(int, counts[:4])
    rows = lines[len(_HEADER) :]
    if len(rows) != num_links:
        raise FormatError(f"{path}: {len(rows)} lines of links, but Links Count is {num_links}")
    links: list[tuple[int, int, int, int]] = []
    link: list[int] = []
    sent: list[int] = []
    for number, row in enumerate(rows, start=len(_HEADER) + 1):
        match = _LINK.fullmatch(row.strip())
        if match is None:
            raise FormatError(f"{path}:{number}: expected source,destination,latency,bandwidth,chunks or None")
        src, dst, latency, bandwidth, order = match.groups()
        cost = Fraction(latency) * 1000, Fraction(bandwidth) * 2**30
        if int(src) >= ranks or int(dst) >= ranks or max(cost) >= 2**62:
            raise FormatError(f"{path}:{number}: NPUs are 0..{ranks - 1}, latency and bandwidth below 2^62 ps and B/s")
        links.append((int(src), int(dst), int(cost[0]), int(cost[1])))
        if order != "None":
            sent += map(int, order.split(","))
            link += [len(links) - 1] * (len(sent) - len(link))
    _require_complete(str(path), ranks, num_links, chunks, chunk_bytes, sent)
    topology = Topology.from_links(Path(path).stem, ranks, links, notes=(f"{path}: TACOS' GB/s is 2^30 bytes/s",))
    return _orders(topology, chunks, chunk_bytes, link, sent, "TACOS v1.1")


def read_tacos_xml(path: Path | str, topology: Topology, size_bytes: int) -> LinkOrders:
    """The link orders in an XML file of v1.2.0, on the topology that it was made for, for an output of `size_bytes`.

    Raises FormatError when it is not such a file, or the topology has not got its links.
    """
    program = tacos_program(path)
    if program.num_ranks != topology.num_ranks:
        raise FormatError(f"{path}: {program.num_ranks} ranks, but {topology.name} has {topology.num_ranks}")
    number = {ends: link for link, ends in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))}
    link, sent = [], []
    for rank, gpu in enumerate(program.gpus):
        for block in gpu.thread_blocks:
            if block.send < 0:
                continue
            chunks = [step.src_offset for step in block.steps if step.type.sends]
            if (rank, block.send) not in number:
                raise FormatError(f"{path}: rank {rank} sends to rank {block.send}; {topology.name} has no such link")
            link += [number[rank, block.send]] * len(chunks)
            sent += chunks
    chunks_in_all = program.chunks_per_loop
    chunk_bytes = size_bytes // chunks_in_all
    _require_complete(str(path), topology.num_ranks, topology.num_links, chunks_in_all, chunk_bytes, sent)
    return _orders(topology, chunks_in_all, chunk_bytes, link, sent, "TACOS v1.2")


def tacos_program(path: Path | str) -> Program:
    """An XML file of v1.2.0, as MSCCL reads it. Raises FormatError where another tool wrote it."""
    text = read_text(path).replace("\t", " ")  # it is indented by tabs, which MSCCL's parser does not take
    program = from_xml(text, str(path))
    if program.kind is not Kind.ALL_GATHER or program.name != "tacos":
        raise FormatError(
            f"{path}: --topology and --size are for TACOS' files, named `tacos`; this is MSCCL's {program.kind}:"
            " leave them out to prove it, or ask hocket simulate for its time on a topology"
        )
    return program


def _require_complete(source: str, ranks: int, links: int, chunks: int, chunk_bytes: int, sent: Sequence[int]) -> None:
    """Counts that belong together; before anything as large as they say is made."""
    if ranks < 2 or links < ranks:
        raise FormatError(f"{source}: {links} links cannot connect {ranks} NPUs; two NPUs or more, each with a link")
    if chunks < 1 or chunks % ranks:
        raise FormatError(f"{source}: {chunks} chunks are not the same number for each of {ranks} NPUs")
    if not 1 <= chunk_bytes < 2**40:
        raise FormatError(f"{source}: chunks of {chunk_bytes} B; expected 1 B to 1 TiB")
    if len(sent) < chunks * (ranks - 1):
        raise FormatError(
            f"{source}: {len(sent)} transfers; {chunks} chunks to {ranks - 1} others each are {chunks * (ranks - 1)}"
        )
    if max(sent) >= chunks:
        raise FormatError(f"{source}: chunk {max(sent)} is sent, but there are chunks 0..{chunks - 1}")


def _orders(
    topology: Topology, chunks: int, chunk_bytes: int, link: Sequence[int], sent: Sequence[int], generator: str
) -> LinkOrders:
    ranks = topology.num_ranks
    per_rank = chunks // ranks
    theirs = np.array(sent, np.int64)
    ours = theirs % ranks * per_rank + theirs // ranks
    collective = Collective(Kind.ALL_GATHER, ranks, chunks * chunk_bytes, per_rank)
    return LinkOrders(collective, topology, np.array(link, np.int32), ours.astype(np.int32), generator)
