"""Machines by name: records, presets, clusters of them and the fabrics between."""
