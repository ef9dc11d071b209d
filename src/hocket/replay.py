"""`hocket replay` as a program under torchrun: `torchrun --nproc-per-node 4 -m hocket.replay traces/`."""

import sys

from hocket.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main(["replay", *sys.argv[1:]])
