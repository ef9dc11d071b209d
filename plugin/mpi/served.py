"""Leaves a job's proved programs where the library in its processes finds them, and reports afterwards what ran."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hocket.base.cache import cache_folder
from hocket.base.errors import HocketError
from hocket.base.files import make_folder
from hocket.base.notices import notice
from hocket.base.scratch import scratch_folder
from hocket.plugin.serve.counts import Counts
from hocket.runtime.engine.library import Library, read_library

__all__ = ["served"]

_FOLDER_VARIABLE = (
    "HOCKET_MPI_ALGORITHMS"  # not HOCKET_ALGORITHMS: that arms the executor in PyTorch, which may be there
)


@contextmanager
def served(source: str | None) -> Iterator[dict[str, str]]:
    """The variables with which a job's processes run the programs of `source`, as `read_library` takes them, while
    inside; none without a source. At the end says which ran, as a job under PyTorch does.

    Processes on other machines read the programs in the cache folder, which they share. Raises what `read_library`
    does for programs that are not right, and HocketError where the cache cannot be written.
    """
    if not source:
        yield {}
        return
    library = _of_any_group(_of_connections(read_library(source)))
    with scratch_folder("mpi", make_folder(cache_folder(), 0o700)) as folder:
        library.write(folder, exchanging=True)
        yield {_FOLDER_VARIABLE: str(folder)}
        _report(library, folder / "counts")


def _of_connections(library: Library) -> Library:
    """Without the programs over switches, which MPI's messages do not carry."""
    found = library.of_connections()
    if isinstance(found, str):
        raise HocketError(f"{library.source}: {found}: MPI's messages carry programs of sends and receives")
    return found


def _of_any_group(library: Library) -> Library:
    """Without the programs of bundles for certain groups: a communicator is known by its size alone."""
    found = library.of_group(())
    if isinstance(found, str):
        raise HocketError(
            f"{library.source}: its programs are for certain groups, and MPI names none: give bundles for any group"
        )
    if left_out := len(library.algorithms) - len(found.algorithms):
        notice(f"hocket: {library.source}: {left_out} programs are for certain groups: left out, as MPI names none")
    return found


def _report(library: Library, path: Path) -> None:
    if not path.is_file():
        notice(f"hocket: algorithms of {library.source}: rank 0 did not reach MPI_Finalize: no counts")
        return
    counts = Counts(library)
    for line in map(json.loads, path.read_text().splitlines()):
        if line["k"] == "ran":
            counts.add(library.algorithms[line["algorithm"]].name, line["bytes"], line["calls"])
        else:
            counts.add_stock(line["operation"], line["reason"], line["calls"])
    counts.report()
