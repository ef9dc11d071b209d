"""Which file of a folder a runtime would run for a call, and why not each other one."""
