"""The PyTorch collector."""
