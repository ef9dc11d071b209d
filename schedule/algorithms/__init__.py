"""The native algorithms: each a generator of an untimed schedule."""
