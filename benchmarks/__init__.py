"""Benchmarks: speed and memory, each measured beside a rival in the same run."""
