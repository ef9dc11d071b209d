"""Runs programs and replays traces for real."""
