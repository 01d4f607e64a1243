"""Metrics and logs: what happened, in ids, counts and hashes; it never raises into a run."""
