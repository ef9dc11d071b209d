"""Speed of `hocket nccl choose`: processor time of whole models, from the topology file to the choices of every size.

Example: python -m hocket.bench.nccl_choices --topology dgx_h100.xml dgx_a100.xml
"""

import time
from pathlib import Path

from hocket.bench.command_line import command_line
from hocket.nccl import COLLECTIVES, NcclModel
from hocket.topology.formats.nccl.read import read_nccl_topology

__all__ = ["main"]


def main() -> None:
    """Reads each machine, models it on 1, 2, 4, ... nodes, chooses for all sizes, prints what that took."""
    parser = command_line()
    parser.add_argument("--topology", type=Path, nargs="+", required=True, help="NCCL's topology files")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 8], help="machines of each job")
    arguments = parser.parse_args()
    sizes = [2**power for power in range(3, 35)]
    points, whole = 0, time.process_time()
    for path in arguments.topology:
        for nodes in arguments.nodes:
            began = time.process_time()
            model = NcclModel(read_nccl_topology(path), nodes)
            searched = time.process_time()
            for collective in COLLECTIVES:
                model.choose(collective, sizes)
            points += len(COLLECTIVES) * len(sizes)
            chosen = time.process_time()
            print(
                f"{path.stem:12} {nodes:4} nodes: channels {1e3 * (searched - began):7.1f} ms,"
                f" {len(COLLECTIVES) * len(sizes)} choices {1e3 * (chosen - searched):5.2f} ms"
            )
    print(f"{points} (machine, size) points in {time.process_time() - whole:.3f} s of processor time")


if __name__ == "__main__":
    main()
