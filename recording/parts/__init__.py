"""Recordings on disk in columns: a rank's in one piece, read whole or a few collectives at a time."""
