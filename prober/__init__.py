"""Isolation prober: finds cross-tenant leaks in LLM serving from outside, on a schedule, with proof."""

__version__ = "0.1.0"
