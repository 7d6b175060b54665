"""The paper's claims and our own aims, each judged by the lines: held, did not, or not measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from experiments import ablation, estimator, groups, hyperparameters, latency, lines, paper
from experiments.comparison import SIZES, Measurements, Row
from experiments.equal_bytes import PRINTED
from experiments.tasks import OURS

SIX = ("pmf", "lightgcn", "esapn", "autoemb", "dlrm-ce", "lightrec")
"""The paper's baselines."""
REGULARISED = ("NoReg", "LowReg", "HighReg")
AIM = 2.2
"""Times the paper's Recall@50 on Amazon-Book at 5 MB that ours shall reach."""


@dataclass(frozen=True)
class Claim:
    """A sentence, and where it was looked at: the place and whether it held there.

    None is neither: what it speaks of is not known there.
    """

    text: str
    looks: tuple[tuple[str, bool | None], ...]

    @property
    def verdict(self) -> str:
        """In how many places it held."""
        known = [found for _, found in self.looks if found is not None]
        held, unknown = sum(known), len(self.looks) - len(known)
        if not known:
            return "not measured yet"
        if held == len(known):
            told = f"held ({held} of {held})"
        else:
            told = f"held in {held} of {len(known)}" if held else "did not hold"
        return f"{told}, {unknown} not tested" if unknown else told

    @property
    def exceptions(self) -> str:
        """Where it did not hold."""
        return "<br>".join(place for place, found in self.looks if found is False) or "–"


def _claim(text: str, looks: Iterable[tuple[str, bool | None]]) -> Claim:
    return Claim(text, tuple(looks))


def papers() -> list[Claim]:
    """What the paper claims, in its order."""
    found = Measurements(lines.RESULTS)
    by_group, by_number = groups.claims(), hyperparameters.claims()
    fast = [(place, held) for place, held in latency.claims().items() if held is not None]
    return [
        _claim("RULE outperforms its six baselines at every size (Recall@50)", _rule_best(found)),
        _claim(
            "grouping by popularity or by clusters improves results in some cases",
            [
                *_variants("RULE-P", better=True),
                *_variants("RULE-C", better=True),
            ],
        ),
        _claim("popular groups get more blocks", _named(by_group["RULE-P"])),
        _claim("near clusters get similar compositions", _named(by_group["RULE-C"])),
        _claim("λ = 1e-4 is better than 0, 1e-6 and 1e-2", _regularised()),
        _claim("the FM estimator beats a dense network", _variants("DNNEst", better=False)),
        _claim("the lower the training RMSE, the better the result", _named(estimator.claims())),
        _claim("G of 10 to 20 is best", _named(by_number["G"])),
        _claim("more blocks help, and little changes from N = 16 to 20", _named(by_number["N"])),
        _claim("a full list takes less than 200 ms at 5 MB, 1000 ms at 25 MB, on one core", fast),
        _claim("one training and its searches take less time than retraining", _cheaper(found)),
    ]


def ours() -> list[Claim]:
    """What ours was meant to reach."""
    found = Measurements(lines.RESULTS)
    printed = paper.printed("amazon-book", OURS, 5, "recall@50") or 0.0
    mine = found.ours("amazon-book")
    here = None if mine is None else found.value("amazon-book", mine, 5)
    times = [] if here is None else [(f"{here / printed:.2f} times", here >= AIM * printed)]
    first, every = paper.METRICS[:1], paper.METRICS
    return [
        _claim(
            "ours is ahead of every dense rival in Recall@50, p < 0.05",
            _ahead(found, first, dense=True),
        ),
        _claim(
            "ours is ahead of every dense rival in every column, by means",
            _ahead(found, every, dense=True, tested=False),
        ),
        _claim(
            "ours is ahead of every dense rival in every column, p < 0.05",
            _ahead(found, every, dense=True),
        ),
        _claim(
            "ours is ahead of neighbours alone in Recall@50, p < 0.05",
            _ahead(found, first, dense=False),
        ),
        _claim(
            "ours is ahead of neighbours alone in every column, p < 0.05",
            _ahead(found, every, dense=False),
        ),
        _claim(f"ours reaches {AIM} times the printed Recall@50, Amazon-Book, 5 MB", times),
    ]


def _named(looks: Iterable[tuple[str, str, bool]]) -> list[tuple[str, bool]]:
    return [(f"{dataset}, {start}", held) for dataset, start, held in looks]


def _rule_best(found: Measurements) -> list[tuple[str, bool]]:
    """At every size: RULE as printed against the best of the paper's six."""
    out = []
    for dataset in found.datasets:
        rows = found.rows(dataset)
        rule = [row for row in rows if row.method == "rule-printed"]
        rivals = [row for row in rows if row.method in SIX and row.loss != "ours"]
        for mb in PRINTED if rule and rivals else ():
            mine = found.value(dataset, rule[0], mb)
            best = _best(found, dataset, rivals, mb)
            if mine is not None and best is not None:
                out.append(
                    (
                        f"{dataset} {mb} MB ({best[0]} {best[1]:.4f}, RULE {mine:.4f})",
                        mine > best[1],
                    )
                )
    return out


def _best(
    found: Measurements, dataset: str, rows: list[Row], mb: float
) -> tuple[Row, float] | None:
    values = [(row, value) for row in rows if (value := found.value(dataset, row, mb)) is not None]
    return max(values, key=lambda pair: pair[1]) if values else None


def _variants(name: str, *, better: bool) -> list[tuple[str, bool]]:
    """At every size: whether a variant of the paper's method is better, or worse, than it is."""
    out = []
    for (dataset, start), variants in sorted(ablation.measured().items()):
        for mb in PRINTED if start != OURS else ():
            base = ablation.value(variants.get(ablation.DEFAULT, {}).get(mb, []))
            changed = ablation.value(variants.get(name, {}).get(mb, []))
            if base is not None and changed is not None:
                held = changed > base if better else changed < base
                word = f"{name} {changed:.4f}, as it is {base:.4f}"
                out.append((f"{dataset}, {start}, {mb} MB ({word})", held))
    return out


def _regularised() -> list[tuple[str, bool]]:
    """At every size: whether λ = 1e-4 beats the three others."""
    out = []
    for (dataset, start), variants in sorted(ablation.measured().items()):
        for mb in PRINTED if start != OURS else ():
            base = ablation.value(variants.get(ablation.DEFAULT, {}).get(mb, []))
            others = {
                name: value
                for name in REGULARISED
                if (value := ablation.value(variants.get(name, {}).get(mb, []))) is not None
            }
            if base is not None and len(others) == len(REGULARISED):
                best = max(others, key=others.__getitem__)
                word = f"{best} {others[best]:.4f}, 1e-4 {base:.4f}"
                out.append((f"{dataset}, {start}, {mb} MB ({word})", base > others[best]))
    return out


def _cheaper(found: Measurements) -> list[tuple[str, bool]]:
    """For three sizes on one machine: ours against each rival that must be trained for each."""
    out = []
    for dataset in found.datasets:
        mine = found.ours(dataset)
        taken = None if mine is None else found.seconds(dataset, mine)
        for row in found.rows(dataset) if taken else ():
            theirs = found.seconds(dataset, row)
            if found.machine(dataset, row) != found.machine(dataset, mine):  # type: ignore[arg-type]
                continue
            if row.method not in (OURS, "rule-printed", "rule-aligned") and theirs and theirs[1]:
                word = f"{row} {theirs[2]:.0f} s, ours {taken[2]:.0f} s"  # type: ignore[index]
                out.append((f"{dataset} ({word})", taken[2] < theirs[2]))  # type: ignore[index]
    return out


def _ahead(
    found: Measurements, metrics: Iterable[str], *, dense: bool, tested: bool = True
) -> list[tuple[str, bool | None]]:
    """In every column of some metrics: ours against the best rival of a kind.

    Args:
        tested: whether it must be ahead with p < 0.05, or by the means alone; a lead that no test
            was made of is not known then.
    """
    out: list[tuple[str, bool | None]] = []
    for dataset in found.datasets:
        for metric in metrics:
            for lead in found.leads(dataset, dense=dense, metric=metric):
                ahead: bool | None = lead.better > 0
                if ahead and tested:
                    ahead = None if lead.p is None else lead.p < 0.05
                p = "" if lead.p is None or not tested else f", p {lead.p:.1g}"
                told = f"({lead.rival} {lead.theirs:.4f}, ours {lead.ours:.4f}{p})"
                out.append((f"{dataset} {metric} {lead.mb:g} MB {told}", ahead))
    return out


def summary(found: Measurements) -> str:
    """What is better than what and by how much, a line per data set and size, in Markdown."""
    out = []
    for dataset in found.datasets:
        dense, alone = ({x.mb: x for x in found.leads(dataset, dense=d)} for d in (True, False))
        for mb in sorted({*dense, *alone}):
            words = [
                f"{lead.better:+.1%} against {lead.rival} ({word})"
                for lead, word in ((dense.get(mb), "dense"), (alone.get(mb), "neighbours alone"))
                if lead is not None
            ]
            ours = (dense.get(mb) or alone[mb]).ours
            out.append(f"- {dataset}, {mb:g} MB: ours {ours:.4f} Recall@50, {', '.join(words)}")
    return "\n".join(out)


def lost(found: Measurements) -> str:
    """Every cell of Table 2 in which a rival is ahead of our main row, in Markdown.

    Where ours was told to choose by another metric and is ahead of the main row, too, it is named.
    """
    out = []
    for dataset in found.datasets:
        mine = found.ours(dataset)
        others = [
            row
            for row in found.rows(dataset)
            if row.method != OURS or (mine and row.by and row.person == mine.person)
        ]
        for metric in paper.METRICS if mine else ():
            for mb in SIZES:
                ours = found.value(dataset, mine, mb, metric)  # type: ignore[arg-type]
                ahead = {
                    row: f"{row} {value:.4f}"
                    for row in others
                    if ours is not None
                    and (value := found.value(dataset, row, mb, metric)) is not None
                    and value > ours
                }
                if any(row.method != OURS for row in ahead):
                    told = ", ".join([f"ours {ours:.4f}", *ahead.values()])
                    out.append(f"- {dataset}, {metric}, {mb} MB: {told}")
    return "\n".join(out)


def table(claims: Iterable[Claim]) -> str:
    """The claims with their verdicts, as a Markdown table."""
    rows = ["| claim | verdict | not in |", "|---|---|---|"]
    rows += [f"| {each.text} | {each.verdict} | {each.exceptions} |" for each in claims]
    return "\n".join(rows)
