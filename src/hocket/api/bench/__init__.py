"""Claims measured."""
