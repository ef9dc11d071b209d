"""`hocket demo`: the whole chain once, on a training job it starts itself."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="Example: hocket demo --out demo")
def demo(
    out: Annotated[Path, typer.Option("-o", "--output", "--out", help="Folder for everything the demo makes.")] = Path(
        "demo"
    ),
    torch: Annotated[
        bool | None, typer.Option("--torch/--no-torch", help="Train for real, or use the recorded traces.")
    ] = None,
) -> None:
    """Collect a training run, predict it on three clusters, synthesize, verify, translate, run, report."""
    from hocket.base.errors import HocketError
    from hocket.base.files import atomic_write
    from hocket.base.units import format_bytes, format_time
    from hocket.demo.chain import run_chain
    from hocket.demo.page import next_commands, report_page

    if find_spec("plotly") is None:
        raise HocketError("the report needs plotly: pip install 'hocket[report]'")
    has_torch = find_spec("torch") is not None
    if torch and not has_torch:
        raise HocketError("PyTorch is not installed: pip install 'hocket[torch]' (3 GB), or use --no-torch")
    result = run_chain(out, has_torch if torch is None else torch)
    report = out / "report.html"
    with atomic_write(report) as file:
        file.write(report_page(result))

    before, after, synthesis = result.before, result.after, result.synthesis
    executed = result.executed
    typer.echo(
        f"\nThe run on {result.slowest}: {format_time(before['time_ps'])} predicted, "
        f"{format_time(after['time_ps'])} with the new all_reduce (bound {format_time(after['bound_ps'])}).\n"
        f"The new all_reduce of {format_bytes(result.size_bytes)}: {format_time(synthesis['time_ps'])}, "
        f"{synthesis['ratio']:.3f} times its bound"
        + ("." if executed is None else f"; run on real processes with {executed['wrong']} wrong values.")
        + f"\n\nIn {out}/: report.html (open it), traces/, predictions/, ar.schedule, ar.xml,"
        f" timeline.json.gz (ui.perfetto.dev), log.txt\nTry next, in {out}/:\n  "
        + next_commands(result).replace("\n", "\n  ")
    )
