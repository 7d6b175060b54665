"""Plain references, each written the way a textbook would."""
