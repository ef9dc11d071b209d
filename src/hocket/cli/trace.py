"""`hocket trace`: look at, check, change and convert Chakra traces. Each sub-command is in a file of its own."""

import typer

from hocket.cli import (
    trace_anonymize,
    trace_convert,
    trace_diff,
    trace_draw,
    trace_import,
    trace_info,
    trace_merge,
    trace_slice,
    trace_validate,
)

__all__ = ["app"]

app = typer.Typer(
    help="Look at, check, change and convert Chakra traces.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: hocket trace info traces/",
)
app.command(epilog=trace_info.EPILOG)(trace_info.info)
app.command(epilog=trace_validate.EPILOG)(trace_validate.validate)
app.command(epilog=trace_convert.EPILOG)(trace_convert.convert)
app.command("to-json", epilog=trace_convert.TO_JSON_EPILOG)(trace_convert.to_json)
app.command("import", epilog="Example: hocket trace import profiles/ --from auto -o traces/")(trace_import.import_job)
app.command(epilog=trace_merge.EPILOG)(trace_merge.merge)
app.command("slice", epilog=trace_slice.EPILOG)(trace_slice.slice_job)
app.command(epilog=trace_diff.EPILOG)(trace_diff.diff)
app.command(epilog=trace_anonymize.EPILOG)(trace_anonymize.anonymize)
app.command(epilog=trace_draw.TIMELINE_EPILOG)(trace_draw.timeline)
app.command(epilog=trace_draw.GRAPH_EPILOG)(trace_draw.graph)
