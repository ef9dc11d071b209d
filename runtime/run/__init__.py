"""Runs a program on real processes: torch.distributed (gloo) or MPI."""

from hocket.runtime.run.bundled import BundleRun, Served
from hocket.runtime.run.datatypes import DATA_TYPES, ReduceOp
from hocket.runtime.run.job import Job, Result, Row
from hocket.runtime.run.launch import BACKENDS, launch
from hocket.runtime.run.runner import Report, prepare, run
from hocket.runtime.run.table import format_footer, format_header, format_row, format_table

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
