"""The engines, one a file, in the order in which `auto` tries them."""

from hocket.synthesizer.engine import Engine
from hocket.synthesizer.engines.exact import Exact
from hocket.synthesizer.engines.matching import Matching
from hocket.synthesizer.engines.native import Native
from hocket.synthesizer.engines.packing import SpanningTreePacking
from hocket.synthesizer.engines.rounds import Rounds
from hocket.synthesizer.engines.routing import Routing
from hocket.synthesizer.engines.symmetry import Symmetry
from hocket.synthesizer.engines.trees import TreePacking

__all__ = ["ENGINES", "FOLDING", "TIRELESS"]

_ALL: tuple[Engine, ...] = (
    Symmetry(),
    Rounds(),
    Matching(),
    TreePacking(),
    SpanningTreePacking(),
    Routing(),
    Native(),
    Exact(),
)
ENGINES: dict[str, Engine] = {engine.name: engine for engine in _ALL}
# Those that go on improving as long as there is time.
TIRELESS = ("matching",)
# Those whose schedules need not be spelled out.
FOLDING = ("symmetry", "rounds")
