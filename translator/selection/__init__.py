"""Which of several files a runtime runs for a call, and why not each other one."""
