"""`python -m hocket.bench.pictures [NAME...]`: writes docs/images/NAME.svg, all without a name."""

import sys

from hocket.base.files import write_file
from hocket.bench.pictures.registry import IMAGES, PICTURES

for name in sys.argv[1:] or PICTURES:
    write_file(IMAGES / f"{name}.svg", PICTURES[name]())
    print(IMAGES / f"{name}.svg")
