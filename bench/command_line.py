"""The command line of the benches: `--help` prints what a bench's docstring says."""

import argparse
import sys

__all__ = ["command_line"]


def command_line() -> argparse.ArgumentParser:
    """A parser without arguments yet, for the bench that is run as `python -m hocket.bench.X`."""
    module = sys.modules["__main__"]
    name = module.__spec__.name if module.__spec__ else sys.argv[0]
    return argparse.ArgumentParser(
        prog=f"python -m {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
