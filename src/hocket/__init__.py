"""Hocket: collect, predict, synthesize, translate and run collective communication."""

__version__ = "0.1.0"
