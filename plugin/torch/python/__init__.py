"""The hook in Python: works with any PyTorch from 2.4 on, with no compiler; `native` has the same in C++."""
