"""The pictures of the documentation: `python -m hocket.bench.pictures [NAME...]` writes docs/images."""
