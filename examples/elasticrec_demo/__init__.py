"""The demo: one model, one stream, three prefixes of it, and RULE beside them."""
