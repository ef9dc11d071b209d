"""How long traces, a schedule, a program or a collective take, next to the bound."""
