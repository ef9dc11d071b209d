"""Makes traces of jobs that nobody ran: single collectives, layered networks, training of language models."""
