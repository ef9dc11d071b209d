"""Topologies described, checked and converted."""
