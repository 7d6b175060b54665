"""`elasticrec demo`: the whole story on the embedded sample, from interactions to a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from elasticrec_demo.folder import DemoFolder
    from elasticrec_demo.report.story import Story


def demo(
    source: Annotated[
        str, typer.Argument(help="goodbooks, or a split that `elasticrec data prepare` wrote.")
    ] = "goodbooks",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to write everything into.")
    ] = Path("demo-output"),
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="1MB, 512KB or plain bytes; may be repeated. Three sizes by default.",
            metavar="SIZE",
        ),
    ] = None,
    reader: Annotated[
        str | None, typer.Option(help="Id of the user to recommend to.", metavar="ID")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many items to recommend.")] = 10,
    preset: Annotated[str, typer.Option(help="Settings of every stage.")] = "demo",
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of taking up what is there.")
    ] = False,
) -> None:
    """Tell the whole story on a sample of readers and books, and write a report of it.

    Trains one model, fits it to three sizes without training again, compares each with the
    controls and the full model, and writes a bundle for each, from which the device runtime
    recommends books to one reader. What an earlier run left in the folder is taken up where its
    settings are the same; so is a run that was cut off by Ctrl-C.

    \b
    Example:
      elasticrec demo
      elasticrec demo --budget 500KB --budget 3MB --reader 100
    """
    from rich.console import Console

    from elasticrec.cli._narrator import ConsoleNarrator
    from elasticrec_demo.config import DemoConfig
    from elasticrec_demo.folder import DemoFolder
    from elasticrec_demo.telling import tell
    from elasticrec_demo.report.page import write_page
    from elasticrec.space.budget import Budget

    # Read when torch is first imported. On a busy machine, threads that spin while they wait make a
    # training take several times as long; threads that sleep cost next to nothing on an idle one.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    budgets = tuple(Budget.parse(text) for text in budget or ())
    config = DemoConfig(source, preset, budgets, reader, k, seed, device)
    place = DemoFolder.create(output)
    if fresh:
        place.clear()
    console = Console()
    narrator = ConsoleNarrator(console)
    try:
        story = tell(place, config, narrator)
    except KeyboardInterrupt:
        console.print("stopped; what was done is kept: the same command goes on from there")
        raise
    write_page(story, place.report)
    _print_sizes(console, story)
    _print_lists(console, story)
    _print_files(console, place, narrator.seconds)


def _print_sizes(console: Console, story: Story) -> None:
    """Print what each method makes of each budget, and the full model below."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from elasticrec_demo.report.story import size_text

    title = f"\nSize and quality: {story.metric} and catalogue coverage, measured on test"
    names = ("budget", "method", "size", story.metric, "of full", "coverage", "found in")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, justify="left" if name in ("budget", "method") else "right")
    for fit in story.fits:
        for way in fit.ways:
            first, last = way is fit.ways[0], way is fit.ways[-1]
            cells = [fit.budget if first else "", way.method, size_text(way.n_bytes)]
            cells += [f"{way.metrics[story.metric]:.4f}", f"{story.share(way):.1%}"]
            cells += [f"{way.coverage:.1%}", f"{way.seconds * 1e3:,.0f} ms"]
            table.add_row(*cells, style="bold" if first else "", end_section=last)
    full = story.full
    cells = ["none", "full model", size_text(full.n_bytes), f"{full.metrics[story.metric]:.4f}"]
    table.add_row(*cells, "100.0%", f"{full.coverage:.1%}", "")
    console.print(table)


def _print_lists(console: Console, story: Story) -> None:
    """Print one person's lists side by side, and mark what she did take."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from elasticrec_demo.report.story import size_text

    person = story.person
    console.print(
        f"\nFor reader {escape(str(person.id))}, of whom {len(person.known)} items are known: "
        f"{escape('; '.join(person.known[:5]))}; …",
        highlight=False,
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=True)
    lists = [(fit.budget, fit.listed) for fit in story.fits]
    lists.append((f"full, {size_text(story.full.n_bytes)}", story.full_listed))
    for name, _ in lists:
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1)
    for row in zip(*(listed for _, listed in lists), strict=True):
        marks = ("[green]✓[/green] " if each.wanted else "  " for each in row)
        titles = (escape(each.title) for each in row)
        table.add_row(*(mark + title for mark, title in zip(marks, titles, strict=True)))
    console.print(table)
    console.print(
        f"✓ one of the {person.n_wanted} items that this reader also took, hidden until now",
        highlight=False,
    )


def _print_files(console: Console, place: DemoFolder, seconds: float) -> None:
    """Print where everything is, and what to do with it."""
    console.print(f"\nDone in {seconds:.0f} s. The report: {place.report}", highlight=False)
    for path, about in (
        (place.bundles, "one file per budget, all that a device needs; try `elasticrec inspect`"),
        (place.model, "the model; try `elasticrec customize`, `curve` or `recommend` on it"),
        (place.compositions, "what each group keeps, one file per budget"),
        (place.split, "the prepared data; try `elasticrec train` with other settings"),
        (place.story, "every number above"),
    ):
        if not path.exists():
            continue  # the paper's setting has no bundles
        console.print(f"  {path}: {about}", highlight=False, soft_wrap=True)
