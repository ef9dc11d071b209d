"""Comparison with other synthesizers, case by case: `hocket bench peers`."""
