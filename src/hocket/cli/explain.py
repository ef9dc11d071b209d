"""`hocket explain`: which file of a folder a runtime would run for a call, and why not each other one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.translator.selection.msccl import RuntimeCall, Selection

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = (
    "Example: hocket explain bundle/ --collective all_reduce --size 25MiB --dtype float16 --ranks 8 --runtime executor"
)


@app.command(epilog=EPILOG)
def explain(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|FILE...", help="Folder of XML files (of plans), or files in the order given."),
    ],
    collective: Annotated[str, typer.Option("--collective", "-c", help="all_reduce, all_gather, ...")],
    size: Annotated[str, typer.Option("--size", "-s", help="Bytes of a rank's whole buffer, as nccl-tests counts.")],
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Ranks of the communicator.")],
    runtime: Annotated[str, typer.Option(help="msccl, executor, rccl or mscclpp.")],
    dtype: Annotated[str, typer.Option(help="float32, float16, bfloat16, int8, ...")] = "float32",
    in_place: Annotated[bool, typer.Option("--in-place/--out-of-place", help="The kind of call.")] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="FILE|-", help="Also write the result here (-: only that).")
    ] = None,
) -> None:
    """Say which file a runtime would run for a call, and why not each other one.

    Exit code 0: a file would run; 1: none would (the library's own algorithm runs), or the one that does is wrong for
    the call.
    """
    from hocket.base.element_types import ELEMENT_TYPES, nccl_types
    from hocket.base.errors import ExitCode
    from hocket.cli.options import bytes_of, data_type, one_of
    from hocket.schedule import Kind
    from hocket.translator import PROFILES
    from hocket.translator.mscclpp import PLAN_RUNTIME
    from hocket.translator.selection.msccl import RuntimeCall, select
    from hocket.translator.selection.mscclpp import select_plan

    one_of("--collective", collective, [str(kind) for kind in Kind])
    one_of("--runtime", runtime, (*PROFILES, PLAN_RUNTIME))
    dtype = data_type(dtype, nccl_types())
    size_bytes = bytes_of("--size", size)
    if size_bytes % ELEMENT_TYPES[dtype].num_bytes:
        raise typer.BadParameter(f"--size {size}: no whole number of {dtype} elements")
    call = RuntimeCall(Kind(collective), size_bytes, dtype, ranks, in_place)
    files = _in_folder(paths[0], runtime) if len(paths) == 1 and paths[0].is_dir() else paths
    found = select_plan(files, call) if runtime == PLAN_RUNTIME else select(files, call, runtime)
    if json_path is not None:
        _write_json(found, json_path)
    _print(found, call, runtime)
    if found.chosen is None or found.chosen.warnings:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _in_folder(folder: Path, runtime: str) -> list[Path]:
    """The folder's files in the runtime's order. Raises FormatError where none can be for it."""
    from hocket.base.errors import FormatError
    from hocket.translator.bundle import read_bundle
    from hocket.translator.bundle.manifest import is_bundle
    from hocket.translator.mscclpp import PLAN_RUNTIME
    from hocket.translator.selection.msccl import files_in_order
    from hocket.translator.selection.mscclpp import plans_in_order

    if is_bundle(folder) and (made_for := str(read_bundle(folder).runtime)) != runtime:
        raise FormatError(
            f"{folder}: the bundle is for {made_for}: --runtime {made_for}, or translate it for {runtime}"
        )
    files, kind = (
        (plans_in_order(folder), "json") if runtime == PLAN_RUNTIME else (files_in_order(folder, runtime), "xml")
    )
    if not any(file.suffix == f".{kind}" for file in files):
        what = "plan (.json)" if kind == "json" else "XML"
        remedy = f"hocket translate SCHEDULE... --to {runtime} --bundle DIR writes a folder of such"
        raise FormatError(f"{folder}: no {what} in it; {remedy}")
    return files


def _write_json(found: "Selection", path: Path) -> None:
    from hocket.base.files import write_json

    rows = [
        {"file": str(one.path), "runs": one.runs, "reason": one.reason, "warnings": list(one.warnings)}
        for one in found.choices
    ]
    chosen = None if found.chosen is None else str(found.chosen.path)
    write_json(path, {"chosen": chosen, "files": rows, "notes": list(found.notes)})


def _print(found: "Selection", call: "RuntimeCall", runtime: str) -> None:
    from hocket.base.units import format_bytes

    place = "in-place" if call.in_place else "out-of-place"
    size = f"{format_bytes(call.size_bytes)} of {call.data_type}"
    chosen = "the library's own algorithm: no file matches" if found.chosen is None else str(found.chosen.path)
    typer.echo(f"{runtime}, {place} {call.kind} of {size} on {call.num_ranks} ranks runs {chosen}")
    for one in found.choices:
        typer.echo(f"  {one.path.name}: {'runs' if one.runs else 'not'}: {one.reason}")
        for warning in one.warnings:
            typer.echo(f"    but {warning}")
    for note in found.notes:
        typer.echo(f"note: {note}")
