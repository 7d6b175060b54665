"""`python -m elasticrec` is the command `elasticrec`."""

from elasticrec.cli.main import run

run()
