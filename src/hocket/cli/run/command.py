"""`hocket run`: an MSCCL XML or a program's JSON on real local processes, every value checked."""

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = "Example: hocket run ar.xml -n 8 -b 1K -e 1M -f 4 --compare"


@app.command(epilog=EPILOG)
def run(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A program that `hocket translate` wrote: MSCCL XML, or .json."),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Instead of FILE: a folder of `hocket translate --bundle`; its file for each size."
        ),
    ] = None,
    transport: Annotated[
        str,
        typer.Option(
            "--transport",
            "--backend",
            help="shm or tcp: the engine's own connections; gloo or mpi: that library's sends and receives.",
        ),
    ] = "shm",
    ranks: Annotated[int | None, typer.Option("-n", "--ranks", help="Processes; the file's ngpus by default.")] = None,
    size: Annotated[str | None, typer.Option(help="Bytes of a rank's whole buffer, such as 1MiB.")] = None,
    smallest: Annotated[str, typer.Option("-b", "--min", help="First size of a sweep.")] = "1MiB",
    largest: Annotated[str | None, typer.Option("-e", "--max", help="Last size of a sweep.")] = None,
    factor: Annotated[int, typer.Option("-f", "--factor", min=2, help="From size to size in a sweep.")] = 2,
    dtype: Annotated[
        str, typer.Option(help="float32, float64, float16, bfloat16, int8, uint8, int32, ...")
    ] = "float32",
    op: Annotated[str, typer.Option(help="sum, prod, max or min.")] = "sum",
    root: Annotated[int | None, typer.Option(help="Root of a rooted collective; found in the file by default.")] = None,
    iterations: Annotated[int, typer.Option("--iters", min=1, help="Timed runs a size.")] = 20,
    warmup: Annotated[int, typer.Option(min=0, help="Untimed runs a size.")] = 5,
    compare: Annotated[bool, typer.Option("--compare", help="Time MPI's own collective, or gloo's, too.")] = False,
    verify: Annotated[bool, typer.Option(help="Prove the file right before running it.")] = True,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds without a new result before giving up.")] = 300,
    json_path: Annotated[Path | None, typer.Option("--json", help="Also write the results here.")] = None,
    print_for: Annotated[
        str | None, typer.Option("--print", help="Run nothing: print how to run the file on msccl, executor or rccl.")
    ] = None,
) -> None:
    """Run a program, or each size by the right one of a bundle, on real processes and check every value.

    The table has nccl-tests' columns; times are those of the slowest rank. Exit code 1: a value was wrong.
    """
    from hocket.base.errors import FormatError
    from hocket.cli.options import bytes_of, data_type, one_of
    from hocket.cli.run.show import show_run
    from hocket.runtime import run as executor

    if bundle is not None and (file is not None or root is not None or compare or print_for is not None):
        raise typer.BadParameter("--bundle DIR is run without FILE, --root, --compare and --print")
    if file is not None and file.suffix == ".schedule":
        raise FormatError(f"{file}: a schedule; first hocket translate {file} --to executor -o {file.stem}.xml")
    if file is not None and file.is_dir():
        raise FormatError(f"{file}: a folder; a bundle is hocket run --bundle {file}, others are run file by file")
    if file is not None and print_for is not None:
        _print_recipe(file, print_for, root)
        return
    one_of("--transport", transport, executor.TRANSPORTS)
    dtype = data_type(dtype, executor.DATA_TYPES)
    one_of("--op", op, executor.ReduceOp)
    if size is not None and largest is not None:
        raise typer.BadParameter("give one --size or a sweep (-b, -e, -f), not both")
    first = bytes_of("--min", smallest) if size is None else bytes_of("--size", size)
    last = first if largest is None else bytes_of("--max", largest)
    if not 0 < first <= last:
        raise typer.BadParameter(f"sizes must be positive and the first ({first} B) not above the last ({last} B)")
    sizes = [first]
    while sizes[-1] * factor <= last:
        sizes.append(sizes[-1] * factor)
    options: dict[str, Any] = {
        "data_type": dtype,
        "op": executor.ReduceOp(op),
        "iterations": iterations,
        "warmup": warmup,
    }
    if bundle is not None:
        job = executor.prepare_bundle(bundle, transport, ranks, sizes, verify=verify, **options)
    elif file is not None:
        job = executor.prepare(file, transport, ranks, sizes, root=root, verify=verify, compare=compare, **options)
    else:
        raise typer.BadParameter("give FILE or --bundle DIR")
    show_run(str(bundle or file), job, verify, timeout, json_path)


def _print_recipe(file: Path, runtime: str, root: int | None) -> None:
    from hocket.cli.options import one_of
    from hocket.translator import PROFILES, ProfileName, read_xml, run_recipe

    profile = ProfileName(one_of("--print", runtime, PROFILES))
    typer.echo(run_recipe(read_xml(file, profile=profile, root=root), profile, file))
