"""Builds a library while a job runs that would have used it, for the next job: begun by it, and not ended with it.

`python -m hocket.plugin.background_build REQUEST` builds what the JSON of REQUEST says.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.memory import available_bytes
from hocket.plugin.native_build import build, failure_of

__all__ = ["build_in_background"]

_LEAST_FREE_BYTES = 4 << 30  # a compiler takes 1 to 2 GB over PyTorch's headers: the job must not go short of it


def build_in_background(sources: Sequence[Path], command: Sequence[str], key: str, name: str, begins: bool) -> str:
    """Begins, if `begins`, to build what `native_build.build` would of the same arguments, unless somebody does
    already; returns how that stands, for people.

    The process that builds has the lowest priority, and goes on when this one ends. Nothing begins without the
    compiler, with little memory, or where the same build has failed before. Raises HocketError where the cache cannot
    be used.
    """
    if failed := failure_of(sources, command, key, name):
        return f"its build failed: {failed}; `hocket collect build` tries again"
    if shutil.which(command[0]) is None:
        return f"there is no compiler {command[0]} to build it; name one by CXX, then `hocket collect build`"
    if available_bytes() < _LEAST_FREE_BYTES:
        return "there is too little memory to build it beside the job; `hocket collect build` builds it"
    if begins:
        told = {"sources": list(map(str, sources)), "compiler_command": [*command], "key": key, "name": name}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOCKET_COLLECT")}
        environment.pop("LD_PRELOAD", None)  # what is preloaded into a job is not for a compiler
        processes.leave([sys.executable, "-m", __name__, json.dumps(told)], env=environment)
    return "it is being built in the background, for the next job"


def main(text: str) -> None:
    """Builds; of what goes wrong `build` leaves a note for the jobs that ask."""
    processes.stand_back()
    told = json.loads(text)
    sources = [Path(path) for path in told.pop("sources")]
    with suppress(HocketError):
        build(sources, **told, waits=False)


if __name__ == "__main__":
    main(sys.argv[1])
