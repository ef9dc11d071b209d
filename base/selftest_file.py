"""What the file of `hocket selftest` is called inside: who writes it and who reads measurements of it agree here."""

__all__ = ["FORMAT", "MANIFEST", "STOCK_TABLES", "VERSION"]

FORMAT, VERSION = "hocket.selftest", 1
#: Says how each part ended.
MANIFEST = "selftest.json"
#: The stock library's tables, GPUs' before the CPU cores': the first that is there is what was measured.
STOCK_TABLES = ("gpu-stock/table.txt", "stock/table.txt")
