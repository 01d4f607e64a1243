"""What runs by itself on top of the wiring: demo, self-test, and the lab as a process of its own."""
