"""The version of the package, also where it runs from its source without being installed."""

__version__ = "0.2.0"
