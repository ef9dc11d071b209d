"""Runs a program on real processes: torch.distributed (gloo) or MPI."""

from hocket.plugin.executor.bundled import BundleRun, Served
from hocket.plugin.executor.datatypes import DATA_TYPES, ReduceOp
from hocket.plugin.executor.job import Job, Result, Row
from hocket.plugin.executor.launch import BACKENDS, launch
from hocket.plugin.executor.runner import Report, prepare, run
from hocket.plugin.executor.table import format_footer, format_header, format_row, format_table

__all__ = [
    "BACKENDS",
    "DATA_TYPES",
    "BundleRun",
    "Job",
    "ReduceOp",
    "Report",
    "Result",
    "Row",
    "Served",
    "format_footer",
    "format_header",
    "format_row",
    "format_table",
    "launch",
    "prepare",
    "run",
]
