"""Files of measurements, one module a format; `reading.read_measurements` tells them apart."""
