"""Experiments: each measures (appends result lines) and draws (reads them), by two commands."""
