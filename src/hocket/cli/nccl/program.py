"""`hocket nccl program`: what NCCL would do for a call, as MSCCL XML."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = (
    "Example: hocket nccl program --topology dgx-h100 --nodes 2 -c all_reduce -s 64MiB --algorithm ring/ll128/4"
    " -o ring.xml; hocket run ring.xml --backend mpi"
)


@app.command(epilog=EPILOG)
def program(
    topology: Annotated[
        str, typer.Option(metavar="MACHINE", help="NCCL's topology XML of one node, or a preset such as dgx-h100.")
    ],
    size: Annotated[str, typer.Option("--size", "-s", help="Bytes of the call, as nccl-tests counts them.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the XML here.")],
    nodes: Annotated[int, typer.Option(min=1, max=4096, help="How many such nodes.")] = 1,
    collective: Annotated[
        str, typer.Option("--collective", "-c", help="all_reduce, all_gather, reduce_scatter, broadcast, reduce.")
    ] = "all_reduce",
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="ALGORITHM[/PROTOCOL[/CHANNELS]]", help="Such as ring/ll128/4; what is not given NCCL chooses."
        ),
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="Of broadcast and reduce.")] = 0,
    to: Annotated[str, typer.Option(help="The runtime that is to run it: msccl, executor, rccl.")] = "executor",
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A variable of NCCL's environment.")
    ] = None,
) -> None:
    """Write what NCCL (2.30.7) would do for a call as MSCCL XML, to be read, changed, verified, simulated and run.

    The runtime cuts the buffer in its own way: in equal chunks, whatever NCCL gives the channels. NVLS and CollNet are
    kernels over switches, which XML cannot say.
    """
    from hocket.api.nccl.naming import collectives_named
    from hocket.base.errors import ScheduleError
    from hocket.cli.options import bytes_of, one_of
    from hocket.cli.translate.program import print_translation
    from hocket.nccl import NcclModel, read_settings
    from hocket.nccl.programs import KINDS
    from hocket.nccl.programs.spec import NcclAlgorithm
    from hocket.schedule import Collective, Kernel
    from hocket.topology.machines.loading import load_machine
    from hocket.translator.msccl.profiles import PROFILES
    from hocket.translator.translate import rewrite

    one_of("--to", to, PROFILES)
    (name,) = collectives_named([one_of("--collective", collective, [str(kind) for kind in KINDS.values()])])
    wanted = NcclAlgorithm.of("nccl" if algorithm is None else f"nccl:{algorithm}")
    model = NcclModel(load_machine(topology), nodes, read_settings(assignments or []))
    found = wanted.program(model, Collective(KINDS[name], model.ranks, bytes_of("--size", size), root=root))
    if isinstance(found, Kernel):
        raise ScheduleError(
            f"{found.name}: a kernel over switches that compute, which XML cannot say: take ring or tree"
        )
    print_translation(rewrite(found.program, output, to), output, [], is_bounded=True)
