"""The one error that means: what you gave cannot be used, and here is why."""


class InputError(ValueError):
    """Bad input from a person; its message is one line: what was found, what was expected."""
