"""Continuous batching: rows of running answers, what each holds, and what moves when one of them leaves."""
