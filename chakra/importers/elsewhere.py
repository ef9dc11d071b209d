"""Files that no importer reads, and which command is for them."""

import re
from pathlib import Path

__all__ = ["whose_file"]

#: Names of files, and what they are.
_NAMED = (
    (
        r"\.et(\.gz)?$",
        "a Chakra trace already; hocket trace convert writes it for other readers",
    ),
    (r"\.stream$", "a stream of the collector: hocket collect merge makes traces of them"),
    (r"\.schedule$", "a schedule: hocket verify, simulate and translate read it"),
)
#: How files begin, or what is in their first lines, and what they are.
_LIKE = (
    (rb"\A\s*(<!--.*?-->\s*)?<algo\b", "MSCCL XML, a program: hocket verify and hocket simulate read it"),
    (rb"\A\s*(<\?xml.*?\?>\s*)?<system\b", "NCCL's topology: hocket topology show nccl:FILE reads it"),
    (rb'\A\s*\{\s*"format": "hocket\.', "a result of Hocket: hocket view shows the folder that it is in"),
    (rb"\bNCCL INFO\b", "NCCL's log: hocket nccl log reads it"),
    (rb"\A\s*collective,|#\s+out-of-place|# nThread", "measurements: hocket calibrate reads them"),
)


def whose_file(path: Path, head: bytes) -> str:
    """What a file is, and which command reads it, by its name and its first bytes; an empty text where that is not
    known."""
    named = next((what for pattern, what in _NAMED if re.search(pattern, path.name)), "")
    return named or next((what for pattern, what in _LIKE if re.search(pattern, head[:4096], re.DOTALL)), "")
