"""Several programs of one collective as a folder that a runtime can use: windows of sizes, script, README."""

from hocket.translator.bundle.build import BundleReport, NothingToGain, check_replaceable, write_bundle
from hocket.translator.bundle.contest import Compared
from hocket.translator.bundle.manifest import Bundle, BundleFile, Predicted, is_bundle, read_bundle
from hocket.translator.bundle.sources import Source

__all__ = [
    "Bundle",
    "BundleFile",
    "BundleReport",
    "Compared",
    "NothingToGain",
    "Predicted",
    "Source",
    "check_replaceable",
    "is_bundle",
    "read_bundle",
    "write_bundle",
]
