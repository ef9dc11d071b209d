"""Pages and pictures: one self-contained HTML file that opens without a network."""

from hocket.report.page import Cards, Code, Figure, Section, Table, Text, render

__all__ = ["Cards", "Code", "Figure", "Section", "Table", "Text", "render"]
