"""PyTorch's private interfaces that the collector and the executor use, and which of them the installed PyTorch has.

Run: `python -m hocket.bench.torch_interfaces [--missing]`, with the Python whose PyTorch is asked about: a table, or
the names of those alone that are missing though this version should have them (`plugin/torch/interfaces.py`).
"""

import torch
from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.plugin.torch.interfaces import HEADERS, INTERFACES

__all__ = ["main"]


def main(only_missing: bool) -> None:
    absent = [header for header in HEADERS if not header.is_there]
    if only_missing:
        unexpected = [interface for interface in INTERFACES if interface.is_expected and interface.found is None]
        print("\n".join([*(interface.name for interface in unexpected), *(header.name for header in absent)]))
        return
    table = Table("interface", "for", "versions", "without it", torch.__version__, box=None)
    for interface in INTERFACES:
        versions = f"{interface.since} to {interface.until or 'now'}"
        has = "no" if interface.found is None else "yes"
        table.add_row(interface.name, interface.purpose, versions, interface.without or "nothing works", has)
    for header in HEADERS:
        table.add_row(header.name, header.purpose, "2.4 to now", "the Python hook", "no" if header in absent else "yes")
    Console(width=200).print(table)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--missing", action="store_true", help="only the names of what should be there and is not")
    main(parser.parse_args().missing)
