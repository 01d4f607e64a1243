"""The shipped simulated inference cluster: proof without a GPU that the prober finds what it must."""
