"""The rates of the core, beside what the CPU could do and what was recorded before: `hocket bench speed`."""
