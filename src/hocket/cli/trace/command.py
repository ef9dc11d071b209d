"""`hocket trace`: look at, check, change and convert Chakra traces. Each sub-command is in a file of its own."""

import typer

from hocket.cli.trace import (
    anonymize,
    convert,
    diff,
    draw,
    importing,
    info,
    merge,
    validate,
)
from hocket.cli.trace import (
    slice as slicing,
)

__all__ = ["app"]

app = typer.Typer(
    help="Look at, check, change and convert Chakra traces.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: hocket trace info traces/",
)
app.command(epilog=info.EPILOG)(info.info)
app.command(epilog=validate.EPILOG)(validate.validate)
app.command(epilog=convert.EPILOG)(convert.convert)
app.command("to-json", epilog=convert.TO_JSON_EPILOG)(convert.to_json)
app.command("import", epilog="Example: hocket trace import profiles/ --from auto -o traces/")(importing.import_job)
app.command(epilog=merge.EPILOG)(merge.merge)
app.command("slice", epilog=slicing.EPILOG)(slicing.slice_job)
app.command(epilog=diff.EPILOG)(diff.diff)
app.command(epilog=anonymize.EPILOG)(anonymize.anonymize)
app.command(epilog=draw.TIMELINE_EPILOG)(draw.timeline)
app.command(epilog=draw.GRAPH_EPILOG)(draw.graph)
