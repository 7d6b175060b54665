"""RULE itself: blocks of f32 chosen by search for a budget, beside one size for all groups.

    python -m experiments.rule run --data local [--part test] [--jobs 16] [--variants main]
    python -m experiments.rule draw

`printed` has the paper's loss, score and scaling of Eq. 3, λ as it prints it, and its accounting
(f32 vectors alone, 10^6 bytes are a megabyte); users have a server vector. `aligned` lets block n
meet block n, with λ from the paper's grid by everyone's validation. `our loss` trains blocks with
ours. Of each, Alg. 2's choice stands beside all groups alike, and beside a table that is trained
for the budget with one fixed dimension (`one size`).

A name goes on with what is changed: `printed, λ = 0`, `aligned, G = 5`, `printed, N = 4`, `printed,
groups by popularity` (or `by cluster`), `printed, DNN` (the estimator). `--variants` takes names,
separated by semicolons, or `main`, `ablation`, `sweeps`. A row with fewer epochs or samples than
the paper prints says so in its name. Tables and samples are shared by all that need them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Annotated, Any

import typer

from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import Evaluation, evaluate
from elasticrec.presets import PRESETS
from elasticrec.rule.config import RuleConfig, SamplesConfig
from elasticrec.rule.search_space import uniform
from elasticrec.space import Budget
from elasticrec.stream.picture import Line
from elasticrec.training.config import TrainConfig
from elasticrec.training.table import BlockTable
from experiments import command, comparing, figures, lines, streams, tables
from experiments.baselines.fitting import RivalConfig, blocks_of
from experiments.command import Task
from experiments.provenance import LIBRARY, code_hash
from experiments.searching import Elastic
from experiments.streams import METRICS

EXPERIMENT = "rule"
SIZES = {"amazon-book": (54.6, 109.2, 272.9), "yelp2018": (47.2, 94.5, 236.2)}
"""Bytes per item at 5, 10 and 25 MB; Yelp2018 takes those of the paper's Yelp2020."""
MEGABYTES = (5, 10, 25)
PRESET = {"amazon-book": "paper-amazon-book", "yelp2018": "paper-yelp"}
GRID = (0.0, 1e-6, 1e-4, 1e-2)
"""λ in the paper's grid; 1e-4 is its choice."""
CHOSEN = 1e-4
BASES = ("printed", "aligned", "our loss")
MAIN = (*BASES, "aligned, λ = 0", "one size, BPR", "one size, our loss")
ABLATION = (
    *(f"printed, λ = {weight:g}" for weight in GRID if weight != CHOSEN),
    "printed, groups by popularity", "printed, groups by cluster", "printed, DNN",
)  # fmt: skip
SWEEPS = (*(f"printed, G = {n}" for n in (5, 10, 15, 50)),
          *(f"printed, N = {n}" for n in (4, 8, 12, 20)))  # fmt: skip
SETS = {"main": MAIN, "ablation": ABLATION, "sweeps": SWEEPS}
SEARCHED, ALIKE, ONE = "searched", "all alike", "one size"
PRINTED_SAMPLES = SamplesConfig.printed().n_samples
JUDGES = 200
"""Compositions of each budget that judge the estimator."""
SAMPLES = command.LOCAL / "rule-samples"
LEFT_OPEN: dict[str, Any] = {
    "batch_size": 65_536, "fewest_steps": 10, "evaluate_every": 5, "patience": 3,
    "validation_users": 10**6,
}  # fmt: skip
"""Training settings that the paper leaves open; everyone's validation decides when it ends."""
CODE = (*LIBRARY, "experiments/rule.py", "experiments/searching.py")
app = command.make_app(__doc__)


@dataclass(frozen=True)
class RuleTask(Task):
    """One variant of RULE."""

    samples: int = PRINTED_SAMPLES
    """β."""
    epochs: int = 0
    """Epochs at most; 0: as the preset has them."""

    @property
    def form(self) -> str:
        """What the variant changes: one of `BASES`, or `one size`."""
        return self.method.partition(", ")[0]

    @property
    def changes(self) -> list[str]:
        """What is changed of it."""
        return self.method.split(", ")[1:]

    @property
    def name(self) -> str:
        """The variant, with what it has less than printed."""
        less = [f"{self.epochs} epochs"] if self.epochs else []
        if self.form != ONE and self.samples < PRINTED_SAMPLES:
            less.insert(0, f"{self.samples:,} samples")
        return f"RULE, {self.method}" + (f" ({', '.join(less)})" if less else "")

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of its lines."""
        if self.form == ONE:
            return (self.name,)
        return f"{self.name}, {SEARCHED}", f"{self.name}, {ALIKE}"


@app.command()
def run(
    dataset: command.Datasets = ",".join(SIZES),  # noqa: B008 – a constant
    data: command.Data = command.LOCAL,
    only: Annotated[str, typer.Option("--variants", help="Names, or main, ablation, sweeps.")] = (
        "main"
    ),
    samples: Annotated[str, typer.Option(help="β, or several separated by commas.")] = (
        str(PRINTED_SAMPLES)
    ),
    epochs: Annotated[int, typer.Option(help="Epochs at most; 0: the preset's.")] = 0,
    seeds: command.Seeds = "0",
    part: Annotated[
        str, typer.Option(help="validation; or test, once per release.")
    ] = "validation",
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Train, measure samples, fit the estimator, search each budget, and measure."""
    betas = sorted(command.seeds_of(samples), reverse=True)
    wanted = [
        RuleTask(name, seed, data, device, person="vector", part=command.part_of(part),
                 method=variant, samples=beta, epochs=epochs)
        for seed in command.seeds_of(seeds)
        for beta in betas
        for variant in variants_of(only)
        for name in command.datasets_in(data, dataset)
        if beta == betas[0] or not variant.startswith(ONE)
    ]  # fmt: skip

    def last(task: Task) -> dict[str, object]:
        assert isinstance(task, RuleTask)
        return {"method": task.methods[-1], "nominal_mb": 25, "code_hash": code_hash(*CODE)}

    command.measure_missing(
        EXPERIMENT,
        wanted,
        work,
        last,
        jobs=jobs,
        minutes=minutes,
        again=again,
        expected=expected_seconds,
    )
    names = {f"{task.name}, {SEARCHED}" for task in wanted if task.form != ONE}
    print(f"{comparing.compare(EXPERIMENT, sorted(names))} tests made")


def variants_of(names: str) -> tuple[str, ...]:
    """The variants of a list, or of one of `SETS`; what no variant may change is refused."""
    found = [each for name in names.split(";") for each in SETS.get(name, (name.strip(),))]
    for name in found:
        base, *changes = name.split(", ")
        known = base == ONE and changes in (["BPR"], ["our loss"])
        if not known and (base not in BASES or any(_change(each) is None for each in changes)):
            raise InputError(f"no variant of RULE is called {name!r}; expected such as {MAIN[3]!r}")
    return tuple(found)


def _change(words: str) -> tuple[str, Any] | None:
    """What the words of a variant set, and to what; None where they say nothing."""
    name, equals, value = words.partition(" = ")
    if equals and name in ("λ", "G", "N"):
        return name, float(value) if name == "λ" else int(value)
    if words in ("groups by popularity", "groups by cluster"):
        return "groups", words.removeprefix("groups by ")
    return ("kind", "dnn") if words == "DNN" else None


def expected_seconds(task: Task, split: Split) -> float:
    """Seconds of one process beside a dozen others on an H200, by reckoning."""
    assert isinstance(task, RuleTask)
    scores = split.n_items / 1e4
    train = 8 + 20 * len(split.train) / 1e6
    if task.form == ONE:
        return 3 * train
    tables_tried = len(GRID) if task.method.startswith("aligned") and task.seed == 0 else 1
    if "λ" in task.method:
        tables_tried = 1
    return tables_tried * train + task.samples * (6e-4 + 4e-4 * scores) + 45 + 3 * scores


def config_of(task: RuleTask) -> RuleConfig:
    """RULE's settings of a variant."""
    printed = PRESETS[PRESET.get(task.dataset, "paper-yelp")].rule
    changed = dict(filter(None, map(_change, task.changes)))
    space = replace(printed.space, seed=task.seed)
    if "G" in changed:
        space = replace(space, n_groups=changed["G"])
    if "groups" in changed:
        by = changed["groups"]
        space = replace(space, groups=by, pca=by == "cluster")
    samples = replace(printed.samples, n_samples=task.samples, seed=task.seed)
    estimator = replace(printed.estimator, kind=changed.get("kind", printed.estimator.kind))
    return replace(printed, space=space, samples=samples, estimator=estimator)


def trainings(task: RuleTask, split: Split) -> list[TrainConfig]:
    """The trainings of a variant, of which the best on validation counts."""
    paper = replace(
        PRESETS[PRESET.get(task.dataset, "paper-yelp")].train, **LEFT_OPEN, seed=task.seed
    )
    if task.epochs:
        paper = replace(paper, epochs=task.epochs)
    changed = dict(filter(None, map(_change, task.changes)))
    paper = replace(paper, n_blocks=changed.get("N", paper.n_blocks))
    ours = RivalConfig(**vars(replace(
        PRESETS["default"].train, base="mf", seed=task.seed, temperatures=(), metric=paper.metric,
        popularity_exponent=0.0, recency=0.0, epochs=task.epochs, n_blocks=paper.n_blocks,
    )), aggregation=True)  # fmt: skip
    if task.form == ONE:
        plain = replace(paper, score="aligned", diversity=0.0)
        return [plain if task.changes == ["BPR"] else ours]
    if task.form == "our loss":
        return [ours]
    given = changed.get("λ")
    if task.form == "printed":
        # Sums over triples and over items, as means: λ counts V / triples of what it does.
        literal = (CHOSEN if given is None else given) * split.n_items / len(split.train)
        return [replace(paper, diversity=literal)]
    weights = GRID if given is None else (given,)
    return [
        replace(paper, score="aligned", diversity=weight, diversity_form="bounded")
        for weight in weights
    ]


def work(task: Task) -> str:
    """Measure one variant at every budget."""
    assert isinstance(task, RuleTask)
    split, _ = by_popularity(Split.load(task.path))
    measure = one_size if task.form == ONE else elastic
    return f"{task.name} {task}: {', '.join(measure(task, split))}"


def budgets(task: Task, split: Split) -> Iterator[tuple[int, float, Budget]]:
    """Megabytes, bytes per item, and the budget."""
    for mb, size in zip(MEGABYTES, SIZES.get(task.dataset, SIZES["yelp2018"]), strict=True):
        yield mb, size, Budget(round(size * split.n_items))


def one_size(task: RuleTask, split: Split) -> Iterator[str]:
    """Measure a table of one fixed dimension, trained for each budget."""
    for mb, size, budget in budgets(task, split):
        started, (config,) = time.perf_counter(), trainings(task, split)
        most = budget.dimensions(items=split.n_items)
        D = next(k for k in range(most, 0, -1) if all(blocks_of(k)))
        n_blocks, block_size = blocks_of(D)
        config = replace(config, n_blocks=n_blocks, block_size=block_size)
        table = streams.trained(task, split, config)
        found = evaluate(table, split, part=task.part, metrics=METRICS, device=task.device)
        n_bytes = 4 * D * (split.n_items + 1)
        more = {"file_bytes": n_bytes, "dimensions": D, "config": asdict(replace(config, seed=0))}
        yield _record(task, split, task.name, mb, size, found, started, **more)


def elastic(task: RuleTask, split: Split) -> Iterator[str]:
    """Measure what the search chooses for each budget, and all groups alike."""
    started, config = time.perf_counter(), config_of(task)
    training, table = best_table(task, split)
    rule = Elastic(split, table, config, task.device)
    drawn = [asdict(training), split.fingerprint(), asdict(config.space), task.seed]
    key = lines.config_hash([*drawn, config.samples.n_users, code_hash(*CODE)])
    with streams.alone(f"samples-{key}"):  # whoever needs as many or fewer waits
        samples = rule.samples(task.samples, SAMPLES / f"{key}.npz")
        judges = {mb: rule.samples(JUDGES, SAMPLES / f"{key}-{mb}.npz", budget)
                  for mb, _, budget in budgets(task, split)}  # fmt: skip
    estimator = rule.fitted(samples)
    first = config_of(replace(task, seed=0))
    plain = {"train": asdict(replace(training, seed=0)), "rule": asdict(first)}
    for mb, size, budget in budgets(task, split):
        judged = rule.agreement(estimator, judges[mb])
        chosen = {
            SEARCHED: rule.search(budget, estimator, task.seed), ALIKE: uniform(rule.space, budget)
        }  # fmt: skip
        for how, candidate in chosen.items():
            counts = rule.space.counts(candidate)
            more = {
                "file_bytes": rule.space.size(counts), "dimensions": table.dimensions,
                "config": plain, "chosen": {"counts": counts.tolist(), "estimator": judged,
                                            "λ": training.diversity},
            }  # fmt: skip
            found = rule.measured(candidate, task.part, METRICS)
            yield _record(task, split, f"{task.name}, {how}", mb, size, found, started, **more)


def _record(
    task: RuleTask, split: Split, method: str, mb: int, size: float, found: Evaluation,
    started: float, **more: Any,
) -> str:  # fmt: skip
    fields = {
        **task.about, "method": method, "bytes_per_item": size, "nominal_mb": mb,
        "code_hash": code_hash(*CODE), "seconds": round(time.perf_counter() - started, 1), **more,
    }  # fmt: skip
    comparing.record(EXPERIMENT, fields, found, split=split)
    return f"{mb} MB {method.rpartition(', ')[2]} {found.metrics['recall@50']:.4f}"


def best_table(task: RuleTask, split: Split) -> tuple[TrainConfig, BlockTable]:
    """The training of a variant that ranks everyone's validation best for seed 0, and its table."""
    tried = trainings(replace(task, seed=0), split)
    values = [
        evaluate(streams.trained(task, split, config), split, part="validation", device=task.device,
                 metrics=(config.metric,)).metrics[config.metric]
        for config in tried if len(tried) > 1
    ]  # fmt: skip
    best = values.index(max(values)) if values else 0
    config = trainings(task, split)[best]
    return config, streams.trained(task, split, config)


@app.command()
def draw() -> None:
    """Print what RULE and its search are worth, and the paper's figures; draw these."""
    for text in (worth(), ablation(), estimator(), *map(sweep, "GN")):
        print(text)
    with figures.panels("rule", columns=3) as axes:
        for axis, (label, found) in zip(axes[0], _drawn().items(), strict=True):
            shown = [Line(tables.title(name), points, colour) for (name, points), colour in
                     zip(found.items(), (figures.OURS, figures.SECOND), strict=False)]  # fmt: skip
            figures.draw(axis, shown, FIGURED)
            axis.set_xlabel(label)


FIGURED = "ndcg@50"
"""The metric of the paper's figures, at 10 MB."""


def verdict(metric: str = "recall@50") -> str:
    """What the search was worth against one fixed dimension, by variant; empty without any."""
    said = []
    for name in _searched(lines.latest(EXPERIMENT)):
        leads = tables.leads(EXPERIMENT, f"{name}, {SEARCHED}", f"{name}, {ALIKE}", metric)
        relative = [lead.relative for lead in leads]
        variant = name.removeprefix("RULE, ")
        if relative and variant.partition(" (")[0] in MAIN:
            said.append(f"{variant} {mean(relative):+.1%} "
                        f"({min(relative):+.1%} to {max(relative):+.1%})")  # fmt: skip
    if not said:
        return ""
    return (
        "Blocks and groups chosen by RULE's search, against one fixed dimension, Recall@50 over "
        f"5, 10 and 25 MB: {'; '.join(said)}."
    )


def _searched(found: list[lines.Line]) -> list[str]:
    """The names of variants that were searched."""
    methods = dict.fromkeys(line["method"] for line in found)
    return [x.removesuffix(f", {SEARCHED}") for x in methods if x.endswith(SEARCHED)]


def worth(metric: str = "recall@50") -> str:
    """Every variant at 5, 10 and 25 MB: searched, all alike, trained for it, and the lead."""
    everything, rows = lines.latest(EXPERIMENT), []
    for dataset in tables.datasets(everything):
        found = [line for line in everything if line["dataset"] == dataset]
        for name in _searched(found):
            if name.removeprefix("RULE, ").partition(" (")[0] not in MAIN:
                continue
            searched, alike = f"{name}, {SEARCHED}", f"{name}, {ALIKE}"
            loss = "our loss" if "our loss" in name else "BPR"
            one = tables.cells([x for x in found if x["method"].startswith(f"RULE, {ONE}, {loss}")])
            columns = [tables.cells(found, method=each) for each in (searched, alike)]
            for lead in tables.leads(EXPERIMENT, searched, alike, metric, dataset=dataset):
                here = columns[0][lead.size]
                values = [tables.shown(x.get(lead.size, []), metric) for x in (*columns, one)]
                about = [tables.title(dataset), name, str(here[0]["nominal_mb"]), str(len(here))]
                rows.append([*about, *values, f"{lead.relative:+.1%}", lead.sure])
    head = ["data set", "variant", "MB", "seeds", SEARCHED, ALIKE, "trained for it",
            "lead of the search over all alike", "p (Holm)"]  # fmt: skip
    return tables.table(head, rows)


def ablation(metric: str = FIGURED) -> str:
    """The paper's variants as its figure has them, searched, at 5, 10 and 25 MB."""
    return _by_mb([name for name in ABLATION if "λ" in name] + [
        "printed", *(name for name in ABLATION if "λ" not in name)], metric)  # fmt: skip


def _by_mb(variants: list[str], metric: str) -> str:
    """Searched variants, each by the row with the most samples, at three sizes."""
    everything, rows = lines.latest(EXPERIMENT), []
    for dataset in tables.datasets(everything):
        found = [x for x in everything if x["dataset"] == dataset]
        for name in _searched(found):
            variant = name.removeprefix("RULE, ").partition(" (")[0]
            cells = tables.cells(found, method=f"{name}, {SEARCHED}")
            if variant in variants:
                rows.append((variants.index(variant), [
                    tables.title(dataset), name, str(max(map(len, cells.values()))),
                    *(tables.shown(cell, metric) for cell in cells.values())]))  # fmt: skip
    head = ["data set", "variant", "seeds", *(f"{mb} MB" for mb in MEGABYTES)]
    ordered = sorted(rows, key=lambda row: (row[1][0], row[0]))
    return tables.table(head, [row for _, row in ordered])


def sweep(of: str, metric: str = FIGURED) -> str:
    """Other numbers of groups, `G`, or of blocks, `N`."""
    names = [name for name in SWEEPS if f" {of} " in name]
    return _by_mb([*names, "printed"], metric)


def estimator(metric: str = FIGURED, mb: int = 10) -> str:
    """By samples: how far estimates are off within a budget, and what the search then finds."""
    rows = []
    for (dataset, n), cell in _by_samples(mb).items():
        judged = [x["chosen"]["estimator"] for x in cell]
        off, rank = (mean(each[key] for each in judged) for key in ("rmse", "spearman"))
        rows.append([tables.title(dataset), f"{n:,}", str(len(cell)), f"{off:.5f}", f"{rank:.3f}",
                     tables.shown(cell, metric)])  # fmt: skip
    return tables.table(["data set", "samples", "seeds", "RMSE", "rank correlation",
                         f"{metric} searched"], rows)  # fmt: skip


def _by_samples(mb: int) -> dict[tuple[str, int], list[lines.Line]]:
    """Lines of `printed`, searched at so many megabytes, by data set and number of samples."""
    out: dict[tuple[str, int], list[lines.Line]] = {}
    for line in lines.latest(EXPERIMENT):
        if line.get("nominal_mb") == mb and "estimator" in (line.get("chosen") or {}):
            rule = line["config"]["rule"]
            if line["method"].startswith("RULE, printed") and SEARCHED in line["method"] and (
                not _named_changes(line["method"])
            ):  # fmt: skip
                out.setdefault((line["dataset"], rule["samples"]["n_samples"]), []).append(line)
    return {key: out[key] for key in sorted(out)}


def _named_changes(method: str) -> list[str]:
    """What a line's variant changes."""
    variant = method.removeprefix("RULE, ").rpartition(", ")[0].partition(" (")[0]
    return variant.split(", ")[1:]


def _drawn(mb: int = 10) -> dict[str, dict[str, dict[float, float]]]:
    """Of each panel and data set: a metric by G, by N, and by the number of samples."""
    out: dict[str, dict[str, dict[float, float]]] = {
        "groups": {}, "blocks": {}, "samples of the estimator": {}
    }  # fmt: skip
    found = [x for x in lines.latest(EXPERIMENT)
             if x.get("nominal_mb") == mb and x["method"].endswith(SEARCHED)
             and x["method"].startswith("RULE, printed")]  # fmt: skip
    sums: dict[tuple[str, str, float], list[float]] = {}
    for line in found:
        value, changes = line["metrics"][FIGURED], _named_changes(line["method"])
        kinds = [each[0] for each in changes]
        rule, train = line["config"]["rule"], line["config"]["train"]
        if kinds in ([], ["G"]):
            at = "groups", line["dataset"], float(rule["space"]["n_groups"])
            sums.setdefault(at, []).append(value)
        if kinds in ([], ["N"]):
            at = "blocks", line["dataset"], float(train["n_blocks"])
            sums.setdefault(at, []).append(value)
        if not kinds:
            at = "samples of the estimator", line["dataset"], float(rule["samples"]["n_samples"])
            sums.setdefault(at, []).append(value)
    for (label, dataset, x), values in sorted(sums.items()):
        out[label].setdefault(dataset, {})[x] = mean(values)
    return out


if __name__ == "__main__":
    app()
