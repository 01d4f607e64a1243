"""Scenarios: which probes to send next, given what came back. Pure generators of waves."""
