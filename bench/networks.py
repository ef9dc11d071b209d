"""Networks of the published comparisons, which no spec names."""

from collections.abc import Callable

from hocket.topology import Topology, load

__all__ = ["network_of"]

GIB = 2**30
LATENCY_PS = 500_000


def ring_full_switch(pair: int, board: int, nodes: int) -> Topology:
    """TACOS' 3D-RFS: one-way rings of `pair` at 200, `board` fully connected at 100, and switches over `nodes` unwound
    to one-way rings at 50 GiB/s."""
    links = []
    for rank in range(pair * board * nodes):
        x, y, z = rank % pair, rank // pair % board, rank // (pair * board)

        def at(x: int, y: int, z: int) -> int:
            return x % pair + pair * (y % board + board * (z % nodes))

        links.append((rank, at(x + 1, y, z), LATENCY_PS, 200 * GIB))
        links += [(rank, at(x, y + step, z), LATENCY_PS, 100 * GIB) for step in range(1, board)]
        links.append((rank, at(x, y, z + 1), LATENCY_PS, 50 * GIB))
    return Topology.from_links(f"rfs {pair}x{board}x{nodes}", pair * board * nodes, links)


def dragonfly(members: int, groups: int) -> Topology:
    """Groups fully connected at 400 GiB/s, one link of 200 GiB/s each way between every two groups (palm tree)."""
    links = []
    for group in range(groups):
        base = group * members
        links += [(base + a, base + b, LATENCY_PS, 400 * GIB) for a in range(members) for b in range(members) if a != b]
        for port in range(groups - 1):
            other, back = (group + 1 + port) % groups, groups - 2 - port
            links.append((base + port % members, other * members + back % members, LATENCY_PS, 200 * GIB))
    return Topology.from_links(f"dragonfly {members}x{groups}", members * groups, links)


def one_way_grid(columns: int, rows: int) -> Topology:
    """Rings of one direction at 300 and 25 GiB/s: two dimensions of switches, unwound to degree 1."""
    links = []
    for rank in range(columns * rows):
        x, y = rank % columns, rank // columns
        links.append((rank, (x + 1) % columns + columns * y, LATENCY_PS, 300 * GIB))
        links.append((rank, x + columns * ((y + 1) % rows), LATENCY_PS, 25 * GIB))
    return Topology.from_links(f"one-way {columns}x{rows}", columns * rows, links)


_BUILDERS: dict[str, Callable[..., Topology]] = {
    "rfs": ring_full_switch,
    "dragonfly": dragonfly,
    "one-way": one_way_grid,
}


def network_of(name: str) -> Topology:
    """`rfs 2x4x8`, `dragonfly 4x5`, `one-way 8x4`, or what `hocket.topology.load` knows."""
    shape, _, sizes = name.partition(" ")
    if not sizes:
        return load(name)
    return _BUILDERS[shape](*(int(size) for size in sizes.split("x")))
