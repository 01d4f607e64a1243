"""Renders a `RunReport`: every format from the one set of facts, so that none disagrees."""
