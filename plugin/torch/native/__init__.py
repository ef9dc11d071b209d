"""The compiled hook: kernels in C++, built with the user's compiler for the PyTorch that is installed."""
