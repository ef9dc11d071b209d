"""MSCCL XML: read, judged by the rules of its runtimes, written."""
