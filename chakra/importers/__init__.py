"""Traces that other tools recorded, turned into Chakra traces: one file a format, one line each in `registry`."""

from hocket.chakra.importers.job import ImportedJob
from hocket.chakra.importers.registry import IMPORTERS, import_traces

__all__ = ["IMPORTERS", "ImportedJob", "import_traces"]
