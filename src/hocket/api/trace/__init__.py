"""Chakra traces: looked at, checked, changed, drawn."""
