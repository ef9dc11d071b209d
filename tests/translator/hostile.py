"""Files whose numbers are out of all proportion to their size, read as a user would, each within a time and memory.

Run as a program: reads the folders given, and prints what became of each file.
"""

import random
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["mutants", "wide"]

NUMBER = r'([A-Za-z_]\w*"?[=:]\s*["\[]?)(-?\d+)'
NUMBERS = [
    0,
    1,
    2,
    7,
    71,
    72,
    255,
    1000,
    32767,
    32838,
    65536,
    10**6,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63,
    10**30,
    -1,
]


def mutants(text: str, number: int, seed: int) -> list[str]:
    """The text, and with some of its numbers replaced: one, or all of those that stand behind the same names."""
    chance = random.Random(seed)
    places = list(re.finditer(NUMBER, text))
    names = sorted({place[1] for place in places})
    made = [text]
    for _ in range(number):
        values = {name: chance.choice(NUMBERS) for name in chance.sample(names, min(len(names), chance.randint(1, 3)))}
        if chance.random() < 0.6:  # numbers that belong together
            word, value = chance.choice(("chunk", "cnt", "count", "size")), chance.choice(NUMBERS)
            values |= {name: value for name in names if word in name}
        single = chance.choice(places).start() if chance.random() < 0.3 else None

        def replaced(place: re.Match[str], values: dict[str, int] = values, single: int | None = single) -> str:
            hit = place[1] in values if single is None else place.start() == single
            return place[1] + str(values.get(place[1], chance.choice(NUMBERS))) if hit else place[0]

        made.append(re.sub(NUMBER, replaced, text))
    return made


def wide(ranks: int, chunks: int, count: int, scratch: int) -> str:
    """An all_reduce that says much in a few lines: buffers of any size on each of many ranks, copied about."""
    sizes = f'i_chunks="{chunks}" o_chunks="{chunks}" s_chunks="{scratch}"'
    step = 'type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0"'
    steps = [f'<step s="{s}" {step} cnt="{count}" depid="-1" deps="-1" hasdep="0"/>' for s in range(3)]
    block = f'<tb id="0" send="-1" recv="-1" chan="0">{"".join(steps)}</tb>'
    head = f'proto="Simple" nchannels="1" nchunksperloop="{chunks}" ngpus="{ranks}" coll="allreduce" inplace="1"'
    gpus = (f'<gpu id="{rank}" {sizes}>{block}</gpu>' for rank in range(ranks))
    return f'<algo name="x" {head} outofplace="1" minBytes="0" maxBytes="0">{"".join(gpus)}</algo>'


def readers() -> dict[str, Callable[[Path], object]]:
    from hocket.schedule import Collective, Kind, execute, execute_switches, load_expanded, verify
    from hocket.topology import load
    from hocket.translator import (
        PROFILES,
        judge,
        read_file,
        read_nccl_graph,
        read_program,
        read_switch_program,
        read_tacos_csv,
        read_tacos_xml,
    )
    from hocket.translator.mscclpp import read_plan, verify_plan

    ring = load("ring:4,bandwidth=1GB/s,latency=1us")
    return {
        "graph": lambda path: read_nccl_graph(path, Collective(Kind.ALL_GATHER, 4, 4096), ring),
        "xml": lambda path: [judge(read_file(path), runtime) for runtime in PROFILES],
        "json": lambda path: execute(read_program(path), fifo_depth=2, max_count=1),
        "switches": lambda path: execute_switches(read_switch_program(path)),
        "plan": lambda path: verify_plan(read_plan(path)),
        "tacos": lambda path: read_tacos_csv(path).replay(),
        "tacosxml": lambda path: read_tacos_xml(path, ring, 4096).replay(),
        "schedule": lambda path: verify(load_expanded(path)),
    }


def main() -> None:
    from hocket.base.errors import HocketError

    read = readers()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    for folder in map(Path, sys.argv[1:]):
        for path in sorted(folder.iterdir()):
            begun = time.process_time()
            try:
                read[folder.name](path)
                outcome = "read"
            except HocketError as error:
                outcome = f"{type(error).__name__}: {error}"
            except BaseException as error:  # what the test looks for
                outcome = f"CRASH {type(error).__name__}: {error}"
            print(
                f"{time.process_time() - begun:.1f}\t{folder.name}/{path.name}\t{' '.join(outcome.split())[:200]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
