"""False-alarm and power figures of the detection statistics, by simulation, beside those of the reference."""
