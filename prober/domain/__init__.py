"""Frozen values that every layer speaks in: no I/O, no clock, no randomness."""
