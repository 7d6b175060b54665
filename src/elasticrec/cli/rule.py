"""`elasticrec rule`: the paper's own search for the composition of one budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from elasticrec.cli._output import logged_to_stderr, print_json
from elasticrec.cli._settings import DEVICE, JSON, SEED, configured, with_options

if TYPE_CHECKING:
    from elasticrec.rule.customize import Customized

MODEL = Annotated[Path, Argument(help="A model folder.")]
rule = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def _configured(
    printed: Annotated[
        bool,
        Option(
            "--printed",
            help="All as the paper prints it: whole f32 blocks, vectors only, 15,000 samples.",
        ),
    ] = False,
    preset: Annotated[
        str | None,
        Option(help="The preset of the settings; by default `default`, or the paper's."),
    ] = None,
    samples: Annotated[int | None, Option(help="Compositions to measure and to fit on.")] = None,
    metric: Annotated[
        str | None, Option(help="What to search for: recall@K, ndcg@K or hit@K.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A setting as rule.stage.name=value; may be repeated."),
    ] = None,
    seed: SEED = 0,
) -> Any:
    """The `RuleConfig` of the options that both commands have."""
    from elasticrec.errors import InputError

    name = preset or ("paper-amazon-book" if printed else "default")
    config = configured(name, settings, seed).rule
    if printed and config.space.kind != "blocks":
        raise InputError(f"--printed: preset {name} searches levels, expected one of the paper's")
    measured = replace(
        config.samples, n_samples=config.samples.n_samples if samples is None else samples,
        metric=metric or config.samples.metric, seed=seed,
    )  # fmt: skip
    return replace(
        config, space=replace(config.space, seed=seed), samples=measured,
        estimator=replace(config.estimator, seed=seed),
    )  # fmt: skip


def searches(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `_configured`, whose result it gets as `config`."""
    return with_options(command, command, _configured, "config")


@rule.callback()
def _rule() -> None:
    """RULE (Chen et al., KDD '21): search the best composition for one budget.

    Random compositions are measured (Alg. 1 and 3), an estimator learns their quality (Eq. 4 to 6),
    and an evolutionary search (Alg. 2) finds the best one within the budget. `elasticrec customize`
    needs none of this: it cuts the stream, whose order was chosen once.
    """


@rule.command()
@searches
def estimate(
    model: MODEL,
    budget: Annotated[
        list[str] | None,
        Option(help="Judge the estimator within a budget, too; may be repeated."),
    ] = None,
    held_out: Annotated[
        int, Option(help="Compositions of each budget to judge it by.", min=2)
    ] = 100,
    config: Any = None,
    device: DEVICE = "auto",
    json: JSON = False,
) -> None:
    """Measure random compositions of a model, and fit what predicts their quality.

    Both are kept in the model's folder: a run that was cut off goes on, and a second one has
    nothing to do. Compositions are measured on 1,000 validation users by exact ranking.

    \b
    Example:
      elasticrec rule estimate MODEL
      elasticrec rule estimate MODEL --samples 1000 --budget 1MB --budget 5MB
    """
    from elasticrec.changing import extended
    from elasticrec.rule.customize import Rule
    from elasticrec.space import Budget

    budgets = [Budget.parse(text) for text in budget or []]
    with logged_to_stderr(), extended(model) as opened:
        searcher = Rule(opened, config, device=device)
        fitted = searcher.estimator()
        judged = {str(each): searcher.agreement(each, held_out) for each in budgets}
    if json:
        return print_json({**fitted.about, "within": judged})
    about = fitted.about
    print(
        f"{about['metric']} of {about['n_samples']:,} compositions, estimated by the other half: "
        f"{_agreement(about['chosen'])}"
    )
    for name, found in judged.items():
        print(f"  within {name}: {_agreement(found)}")


def _agreement(found: dict[str, float]) -> str:
    return f"off by {found['rmse']:.4f}, rank correlation {found['spearman']:.3f}"


@rule.command()
@searches
def customize(
    model: MODEL,
    budget: Annotated[str, Option("--budget", "-b", help="A size such as 5MB or 512KB.")],
    output: Annotated[
        Path, Option("--output", "-o", help="The stream to write, or a .npz as printed.")
    ],
    config: Any = None,
    device: DEVICE = "auto",
    json: JSON = False,
) -> None:
    """Search the best composition for a budget, and write it as a stream of its own.

    Every runtime opens the stream. The best few compositions are measured again beside "all groups
    alike", which only a clear lead replaces. The estimator is fitted first, unless the folder has
    it. With --printed each group keeps whole f32 blocks, as in the paper: there is no stream, and
    the file (.npz) says which blocks each group keeps.

    \b
    Example:
      elasticrec rule customize MODEL --budget 5MB -o watch.elastic
      elasticrec rule customize MODEL --budget 5MB --printed --samples 2000 -o kept.npz
    """
    from elasticrec.changing import extended
    from elasticrec.files import check_writable
    from elasticrec.rule.customize import Rule
    from elasticrec.space import Budget

    size = Budget.parse(budget)
    check_writable(output)
    with logged_to_stderr(), extended(model) as opened:
        searcher = Rule(opened, config, device=device)
        made = searcher.customize(size, seed=config.samples.seed)
    searcher.save(made, output)
    if json:
        return print_json({"path": str(output), **made.about()})
    unit = "blocks" if config.space.kind == "blocks" else f"levels of {searcher.space.most}"
    print(_summary(output, made, unit))


def _summary(output: Path, made: Customized, unit: str) -> str:
    """A few lines on a composition."""
    chosen, alike = made.measured["chosen"], made.measured.get("uniform")
    beside = "" if alike is None else f" (all groups alike: {alike:.4f})"
    return (
        f"{output}: {made.n_bytes:,} of {made.budget_bytes:,} bytes\n"
        f"{made.metric} {chosen:.4f} measured on {made.validation_users:,} validation users"
        f"{beside}; estimated {made.estimate:.4f}\n"
        f"{made.chosen_by}\n"
        f"{unit}, group by group: {' '.join(map(str, made.counts))}"
    )
