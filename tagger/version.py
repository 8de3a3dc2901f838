"""The version of the program, in the one place where it is written down."""

__version__ = "0.1.0"
