"""An all_reduce written by hand: two nodes of four GPUs, sums inside each node first, then between the two.

    python examples/write_algorithm.py FOLDER

writes one XML for each runtime, proved right before it is written, and says what each would take on such a network.
"""

import sys
from pathlib import Path

from hocket.base.units import format_time
from hocket.schedule import Kind
from hocket.topology import load
from hocket.translator import PROFILES, Algorithm, Lowering

MACHINES, GPUS = 2, 4


def hierarchical() -> Algorithm:
    """Chunk c belongs to GPU c of each machine: it adds up its machine's parts, then both machines', and gives the sum
    to the others."""
    with Algorithm(Kind.ALL_REDUCE, ranks=MACHINES * GPUS, chunks=GPUS, name="hierarchical") as algorithm:
        for chunk in range(GPUS):
            owners = [machine * GPUS + chunk for machine in range(MACHINES)]
            peers = {owner: [owner - chunk + gpu for gpu in range(GPUS) if gpu != chunk] for owner in owners}
            for owner in owners:
                for peer in peers[owner]:
                    own = algorithm.chunk(owner, "input", chunk)
                    own.reduce(algorithm.chunk(peer, "input", chunk))
            # both send what they have before either adds what it gets
            first, second = (algorithm.chunk(owner, "input", chunk) for owner in owners)
            received = first.copy(owners[1], "scratch", chunk)
            first.reduce(second)
            second.reduce(received)
            for owner in owners:
                for peer in peers[owner]:
                    algorithm.chunk(owner, "input", chunk).copy(peer, "input", chunk)
    return algorithm


def main(folder: Path) -> None:
    algorithm = hierarchical()
    topology = load(f"dgx-a100:nodes={MACHINES},gpus={GPUS}")
    for profile in PROFILES:
        translation = algorithm.lower(profile, Lowering(max_bytes=1 << 26), topology=topology, size_bytes=1 << 20)
        path = folder / f"hierarchical.{profile}.xml"
        translation.write(path)
        best = translation.candidates[0]
        way = f"{best.strategy.channels} channels, {best.strategy.slots} slots"
        print(f"{path.name}: {translation.proofs[0].describe()}; 1 MiB in {format_time(best.time_ps)} with {way}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/write_algorithm.py FOLDER")
    main(Path(sys.argv[1]))
