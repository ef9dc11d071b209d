"""Comparison with other synthesizers, case by case: `hocket bench peers`."""

__all__ = ["PEERS"]

PEERS = ("tacos",)
