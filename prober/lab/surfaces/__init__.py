"""HTTP surfaces of the lab: what clients and scrapers see."""
