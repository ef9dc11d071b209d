"""`hocket.replay(...)`, and the program: `torchrun --nproc-per-node 4 -m hocket.replay traces/`."""

import sys

from hocket.api.modules import make_verb

__all__: list[str] = []

make_verb(__name__)
if __name__ == "__main__":
    from hocket.cli import main

    main(["replay", *sys.argv[1:]])
