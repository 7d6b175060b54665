"""The command line: a few commands that belong together per file.

A command is a function that carries its name, or a `typer.Typer` that does, which becomes a group;
`COMMANDS` in `main.py` lists it. A command parses, calls one function of the library and prints;
whatever is heavy is imported inside the function.
Its docstring ends with an example, after a line that holds only a backspace escape, so that
the example keeps its line breaks.
"""
