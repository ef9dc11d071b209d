"""Synthetic traffic over loads."""
