"""`python -m hocket.docs`, which is `make docs`."""

from hocket.docs.tables import main

main()
