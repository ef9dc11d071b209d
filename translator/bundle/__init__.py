"""Several programs of one collective as a folder that a runtime can use: windows of sizes, script, README."""

from hocket.translator.bundle.build import BundleReport, write_bundle
from hocket.translator.bundle.manifest import Bundle, BundleFile, Predicted, is_bundle, read_bundle

__all__ = [
    "Bundle",
    "BundleFile",
    "BundleReport",
    "Predicted",
    "is_bundle",
    "read_bundle",
    "write_bundle",
]
