"""Small distributed programs of every kind, to see whether all they communicate is recorded."""
