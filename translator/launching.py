"""How the processes of a collective are started, on one machine or several: torchrun, mpirun."""

from collections import Counter
from collections.abc import Sequence

from hocket.topology import Topology

__all__ = ["hosts", "job_command", "machines", "mpirun_check", "where"]


def machines(topology: Topology, ranks: Sequence[int], ranks_per_node: int | None = None) -> tuple[int, int]:
    """How many machines the ranks are on, each of so many (None: the topology's), and ranks of each (0: they
    differ)."""
    if ranks_per_node is not None:
        return -(-len(ranks) // ranks_per_node), ranks_per_node
    sizes = list(Counter(topology.machine[list(ranks)].tolist()).values())
    return len(sizes), sizes[0] if len(set(sizes)) == 1 else 0


def job_command(ranks: int, nodes: int, ranks_per_node: int) -> str:
    """How torchrun starts a PyTorch job on so many machines; `ranks_per_node` 0: they differ. Source: torchrun's help;
    it is started on each machine."""
    if nodes == 1:
        return f"torchrun --nproc-per-node {ranks} train.py"
    each = ranks_per_node or "RANKS_HERE"
    return f"torchrun --nnodes {nodes} --nproc-per-node {each} --rdzv-backend c10d --rdzv-endpoint HOST:PORT train.py"


def hosts(nodes: int, ranks_per_node: int) -> str:
    """The option of Open MPI's mpirun (`--hostfile FILE` does the same) that puts one machine's ranks after the
    other's."""
    return "-H " + ",".join(f"HOST{node}:{ranks_per_node or 'RANKS'}" for node in range(nodes))


def where(nodes: int | None, ranks_per_node: int) -> list[str]:
    """Comments on where mpirun starts processes; `nodes` None: nobody knows on how many machines."""
    if nodes == 1:
        return []
    if nodes is None:
        return ["# Several machines: MPIRUN_OPTIONS='-H HOST0:RANKS,HOST1:RANKS' or '--hostfile FILE', in ranks' order"]
    return [
        f"# {nodes} machines: MPIRUN_OPTIONS='{hosts(nodes, ranks_per_node)}' or '--hostfile FILE', in ranks' order;",
        "# the library and the files lie at the same paths on all of them",
    ]


def mpirun_check(nodes: int, ranks_per_node: int) -> list[str]:
    """Shell text that ends where mpirun cannot start the ranks, and says why."""
    lines = [
        "if ! command -v mpirun > /dev/null; then",
        '  echo "mpirun is not on PATH: install Open MPI; for a job without it: ./run.sh torchrun ..." >&2',
        "  exit 1",
        "fi",
    ]
    if nodes > 1:
        remedy = f"{hosts(nodes, ranks_per_node)} or --hostfile FILE; empty: mpirun knows them"
        lines.append(f': "${{MPIRUN_OPTIONS?{nodes} machines: set it to {remedy}}}"')
    return lines
