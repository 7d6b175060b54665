"""A group of commands that turns bad input into one line."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from elasticrec.errors import InputError

EXTRAS = {
    "torch": "train",
    "scipy": "train",
    "polars": "train",
    "starlette": "serve",
    "uvicorn": "serve",
    "matplotlib": "plots",
    "cryptography": "sign",
}
"""Which extra of the package installs an optional dependency."""

BAD_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class PlainErrors(TyperGroup):
    """A group whose commands say in one line what is wrong with their input."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; bad input ends with exit code 2, Ctrl-C with 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except InputError as error:
            _fail(str(error))
        except BAD_PATH as error:
            _fail(f"{error.filename}: {error.strerror}")
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in EXTRAS:
                raise
            extra = EXTRAS[library]
            _fail(f"this needs {library}; install it by: pip install 'elasticrec[{extra}]'")


def _fail(message: str) -> None:
    """Print one line to stderr and leave with exit code 2."""
    print("error:", " ".join(message.split()), file=sys.stderr)
    raise typer.Exit(2)
