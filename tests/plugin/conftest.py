"""Lets the tests of this folder import `handmade`, and gives them its programs as files."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
