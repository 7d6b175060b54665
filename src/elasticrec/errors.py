"""InputError: the error of unusable input, shown to the user as one line."""


class InputError(ValueError):
    """Unusable input; the message is one line: what was found, what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
