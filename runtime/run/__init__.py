"""Runs programs on real processes of this machine, every value checked."""

from hocket.runtime.run.datatypes import DATA_TYPES, ReduceOp
from hocket.runtime.run.job import Job, Result, Row, RunTask
from hocket.runtime.run.launch import BACKENDS, TRANSPORTS, launch
from hocket.runtime.run.runner import prepare, prepare_bundle
from hocket.runtime.run.table import format_footer, format_header, format_row, format_table

__all__ = [
    "BACKENDS",
    "DATA_TYPES",
    "TRANSPORTS",
    "Job",
    "ReduceOp",
    "Result",
    "Row",
    "RunTask",
    "format_footer",
    "format_header",
    "format_row",
    "format_table",
    "launch",
    "prepare",
    "prepare_bundle",
]
