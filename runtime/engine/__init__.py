"""The engine that runs programs (`hocket._core.executor`): what it is given, and how its ranks reach each other."""
