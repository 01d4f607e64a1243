"""The service under kills, stops, outages and time: what docs/reliability.md quotes."""
