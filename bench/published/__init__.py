"""Published step times of training, predicted and compared: rows, their jobs, folded steps, what is fitted."""
