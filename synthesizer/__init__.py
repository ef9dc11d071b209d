"""Makes schedules for a topology."""

from hocket.synthesizer.chunking import choose_chunks
from hocket.synthesizer.engines import Engine
from hocket.synthesizer.summary import describe, summarize
from hocket.synthesizer.synthesis import synthesize

__all__ = ["Engine", "choose_chunks", "describe", "summarize", "synthesize"]
