"""Pages for people: rendered here, read without JavaScript, written to by forms."""
