"""The parts of `hocket synthesize`."""
