"""Pictures as SVG to stand in a page: pure functions from figures to markup, without script, style or address.

Colours come from classes in `pictures.css`, which a page includes or serves; a picture carries title and description
for who does not see it, and its page holds the same figures as a table.
"""
