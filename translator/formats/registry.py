"""The formats that a schedule is written in as it is. A new one is one file with `FORMATS`, and its name here."""

from hocket.base.registry import Registry
from hocket.translator.formats.format import ScheduleFormat

__all__ = ["FORMATS"]

_FILES = ("chakra_graphs", "transfers", "nccl_rings", "schedule_file")

FORMATS: Registry[ScheduleFormat] = Registry.of_files("format", __package__, _FILES, "FORMATS")
