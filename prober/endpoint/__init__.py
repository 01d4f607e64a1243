"""Sends probes over HTTP and turns whatever comes back into observations."""
