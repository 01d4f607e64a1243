"""Speed and memory of the prober, printed as figures beside their bounds: `make bench`."""
