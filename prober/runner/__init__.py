"""Executes a campaign: the main path, readable top to bottom."""
