"""Names in the file of a sweep: those of nothing are errors, with their line, before anything runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hocket.base.errors import FormatError, HocketError
from hocket.base.strict_yaml import YamlDocument, nearest
from hocket.nccl.programs.spec import is_nccl, is_nccl_model
from hocket.simulator.algorithm_choice import SCHEDULE_SUFFIX, algorithm_names
from hocket.simulator.models import Model, Queueing, Switching
from hocket.topology import Topology, load

__all__ = ["load_topologies", "require_known", "require_known_names"]


def load_topologies(document: YamlDocument, specs: Iterable[object]) -> dict[str, Topology]:
    """The topologies of the key `topology`, by what they are called there."""
    found = {}
    for at, text in enumerate(specs):
        try:
            found[str(text)] = load(str(text))
        except HocketError as error:
            raise FormatError(f"{document.where(f'$.topology[{at}]')}: topology: {error}") from error
    return found


def require_known_names(
    document: YamlDocument, values: Mapping[str, Sequence[Any]], topologies: Iterable[Topology]
) -> None:
    """Refuses network models, algorithms and classes of links that are none."""
    classes = {"*"}.union(*(topology.classes for topology in topologies))
    require_known(document, "model", values.get("model", ()), Model)
    algorithms = [str(text).rpartition("=")[2] for text in values.get("algorithm", ())]
    named = [
        text for text in algorithms if not (text.endswith(SCHEDULE_SUFFIX) or is_nccl(text) or is_nccl_model(text))
    ]
    require_known(document, "algorithm", named, algorithm_names())
    for key, known in (("switching", Switching), ("queueing", Queueing)):
        parts = [part.rpartition("=") for text in values.get(key, ()) for part in str(text).split(",")]
        require_known(document, key, [name for name, separator, _ in parts if separator], classes)
        require_known(document, key, [value for _, _, value in parts], known)


def require_known(document: YamlDocument, key: str, names: Iterable[Any], known: Iterable[str]) -> None:
    """Refuses what is not among the known names, with the line of its key."""
    for name in names:
        if name not in set(known):
            raise FormatError(f"{document.where(f'$.{key}')}: {key}: '{name}'; {nearest(str(name), known)}")
