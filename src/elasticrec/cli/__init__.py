"""The command line: one short file per command, found by its file name.

A module `cli/NAME.py` holds either a function called `NAME`, which becomes `elasticrec NAME`, or a
`typer.Typer` called `app`, which becomes the group `elasticrec NAME …`. A command parses, calls one
function of the library and prints; whatever is heavy is imported inside the function.
Its docstring ends with an example, after a line that holds only a backspace escape, so that
the example keeps its line breaks.
"""
