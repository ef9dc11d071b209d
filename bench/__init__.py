"""Claims, comparisons with peers and speed, each a command that prints what it measured."""
