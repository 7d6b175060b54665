"""Writes docs/results.md from the committed result lines; `--check` fails where it is stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments import (
    ablation,
    bases,
    claims,
    codings,
    dropping,
    estimator,
    figures,
    grid,
    groups,
    hyperparameters,
    latency,
    lines,
    ndcg_forms,
    paper,
    quality_by_size,
    rehearsal,
    reruns,
    search,
    sizes,
    table2_tables,
)
from experiments.comparison import Measurements, row_of
from experiments.tasks import OURS
from scripts.pages import keep

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results.md"
NOT_YET = "Not measured yet.\n"

INTRODUCTION = """# Results

Written by `make docs` from `experiments/results/*.jsonl`; every number is the mean of lines that
the commands in [experiments](../experiments/README.md) appended, tuned on validation and measured
on test. Amazon-Book is the published split with 88.4 % of its train interactions known; its test is
whole. Yelp2018 stands in for the paper's Yelp2020, which is not to be had. Sizes are Amazon-Book's
megabytes; other data sets get as many bytes per item (Yelp2018 those of Yelp2020).
"""

SHORT = """Below 1 MB ours has three seeds, as in Table 2, and rivals that fit have one.

## In short
"""
AIMS = """What ours was meant to reach, and where it did not:
"""
LOST = """Where a rival is ahead of ours in Table 2:
"""

RQ1 = """## RQ1: how good at equal bytes?

Every method is charged all bytes that a device needs to rank for one person. Rivals had four
settings per row tried on validation at 5 MB (on Amazon-Book and Yelp2018 in 20 epochs each), two by
their paper's loss and two by ours, of which the best by Recall@50 counts; PMF has a row for each
loss. They are tried on splits whose validation is what came last in train, and then trained on the
usual ones. Ours takes the settings of its base that were best at full size, among {trials} trials
(`experiments.bases tune`); on Gowalla and Yelp2018 its weights of votes and its compositions were
chosen by what came last, too (below). Mean ± deviation over seeds, where there are several. p is
that of a paired t-test over users, on each user's value averaged over the seeds that both have, or
a dash where values per user were not kept of both. "Person" is what a device knows of her: a vector
from the server, her history, or both. Ours chose its weights of votes and its compositions by the
mean of Recall@50 and NDCG@50 (both@50): that was best in a rehearsal whose test was everyone's last
eighth of train (percentages against choosing by Recall@50 at 1, 2, 5, 10 and 25 MB, below;
Gowalla's test lines by both@50 had been seen before, those of the other two had not). On Yelp2018 a
later rehearsal (wider tables and measured searches, below) preferred the same mean at 100
(both@100) and a search that measures all its candidates on 15,000 users. `ours, by …` are rows that
chose by another metric, trained anew: on Yelp2018 by both@50 that is the row before (13fb567), all
others are of the coding before (f2b09e3 and older). Studies and `experiments.sizes` chose by
Recall@50. `rule-printed` is the paper's method as printed, `rule-aligned` the same with aligned
scores.
"""

CODINGS = """One table (one seed, two CPU cores), searched and packed by commits that code items in
other ways: 1, 2, 5, 10 and 25 MB in each cell, and what later commits have more. The first is the
coding of `sizes` and of ours in RQ4; dae307a names two words as long as the whole vector in the
first planes, 852e244 also a letter for what they leave of each block. The latter is that of the
tree and of Table 2's lines, with lists of up to 64 neighbours and not 16. At 25 MB all planes are
kept and the codes say the same, so that column shows by how much other choices on validation
(weights of votes, source of neighbours) move a file; less than that is no difference between
codings.
"""

REHEARSED = """What Gowalla's newest lines of ours have: `both@50, gain +0.03, chooser long`, and
weights of votes fitted by what came last without spreading a share of it evenly over groups
(`configs/table2-last.toml`). Percentages against the settings before, on everyone's last eighth of
train, at 1, 2, 5, 10 and 25 MB. "gain" is by how much the exponent of the popularity gain is
raised, "chooser long" that the model that chooses is trained as long as the one that is shipped.
How one table of Gowalla ranks test under other gains and weights had been seen before. Yelp2018's
one seed was ahead at 1 and 2 MB alone, so it kept its settings.
"""
BLOCKS = """Tables of more than 16 blocks of eight numbers, on Yelp2018, since rivals have up to 256
numbers per item at 25 MB. Said beforehand: no size may lose more than 1 % (mean of the four
metrics), and of those the best at 10 and 25 MB, where rivals are nearest, counts. Those were
20 blocks; on test they brought less than in the rehearsal, and one column was not won beyond chance
(13fb567, next).

The same widths were then rehearsed with a search that measures all its candidates (`measured`) on
15,000 users whose last eighth no training had seen, by both@50 and by both@100. Said before that:
the best at 5, 10 and 25 MB counts, if no size loses more than 0.5 % against 16 blocks chosen as
before. That is `both@100, 20 blocks, measured`: +0.7, +1.3 and +0.6 %, and on test the row of Table
2 (62b6456). What the three seeds find differs less, too.
"""
RERUNS = """Means of three seeds at 1, 2, 5, 10 and 25 MB. The last run of a data set is the row of
Table 2. 10d095b and 78a5381 of Yelp2018 have the same settings and seeds: what differs are sums in
another order on a GPU, and all that is chosen after them. So a row of three seeds moves by up to
0.6 % with nothing changed, and what is won or lost by less is not settled by one run. The third run
has 20 blocks, the fourth also measures what it searches, on more users. Runs before 10d095b were
tested in Recall@50 alone.
"""

LEADS = """Ours against the best rivals:
"""

SECONDS = """Seconds on the machine of the lines: ours trains, codes and estimates once and then
searches and packs each size; most rivals are trained for each. Methods run side by side on one GPU,
so these are rough. For so many sizes, or more, ours takes less time in all; where the machines
differ, nothing is compared.
"""

BESIDE = """The paper's recall beside ours (theirs / ours). The data differ: {difference}
"""

DIFFERENCE = {
    "amazon-book": "here 88.4 % of the same split's train is known, and its test is whole.",
    "yelp2018": "Yelp2018 has 38,048 items and other users; it has the same bytes per item.",
}

RQ2 = """## RQ2: what is each part worth?

One change at a time, from the paper's method (tiled and aligned) and from ours; percentages are
against the row `as it is` of the same start. Tiled against aligned scores: compare the first two
starts. Ours has 128 dimensions here (N = 16 blocks of 8) and the usual split. Two trainings on a
GPU differ by up to 1 % even with one seed, since it adds in no fixed order; a star marks rows that
were measured with another commit or on another machine than `as it is`, so with another training.
What the search of ours finds varies, too: LowReg from ours is next to no change in training, and
lesser differences than its own say nothing. On Amazon-Book LowReg, random groups and RULE-C, on
Yelp2018 `no third mutation`, leave half of 25 MB unspent: most likely their search (2e4bbe6) kept a
greedy start that others led by less than 0.5 % on validation. Since then only an even start stays,
and a budget is spent unless that seems worse by 3 %, not by 1 %, which is less than estimators err.
"""

DROPPING = """### Why `rule-aligned` is weak where blocks are dropped

Recall@50 of whole trainings, of a half of their blocks that is the same for every group, and of
halves that each group draws for itself (means of five draws), the last also without what all items
share (their mean block, so much of their squared length). Eq. 3 as printed rewards blocks for being
far from each other, without bound. Without it, with λ = 1e-6, or with blocks of unit norm in it
(`bounded`), halves keep nearly all. As printed, the whole of Gowalla ranks alike with every seed,
and its halves the worse, the more epochs a training took until validation, which looks at the
whole, ended it; halves of Amazon-Book keep next to nothing. That is what blocks would do that grow
and cancel each other where all are added up; their growth itself was not measured. On Yelp2018
halves keep nearly all as printed, too: what `rule-aligned` lacks there in Table 2 is blocks (at
5 MB an item has one or two of 16).
"""

GROUPS = """### What groups keep

At 10 MB. Popularity: rank correlation of a group's popularity with the bytes an item of it keeps
(of ours this is so by construction: no group may keep more than a more popular one). Clusters: rank
correlation of the distance of two clusters with the difference of their compositions, and the share
p of random assignments that correlate as much.
"""

ESTIMATOR = """### Estimator and result

Training RMSE of the estimator at four stages, and NDCG@50 of what each finds at 10 MB.
"""

RQ3 = """## RQ3: how fast on a device?

Milliseconds per person of the Python runtime, bundles of random codes and neighbours.
"""

RQ4 = """## RQ4: how many groups, how many blocks?

NDCG@50 at 10 MB, one of G and N varied, the other as printed (G = 20, N = 16, d = 8).
"""

GRID = """### The appendix's grid

Validation at 10 MB, one hyperparameter varied at a time from the printed values, one seed. A value
far below its neighbours is most likely a training that failed: optimiser and negatives are those
tuned for the printed point.
"""

CLAIMS = """## The paper's claims

Each is judged by the lines, place by place; "not in" names where it did not hold, with the numbers.
Differences below 1 % are no more than those of two trainings with one seed.
"""

FORMS = """## The paper's NDCG

Its NDCG exceeds its recall in nearly every cell; by the usual definition it does not here. Two
other forms each fit some rows: the ideal over the hits alone (`ndcg-of-hits`), and no
normalisation (`dcg`). The table is for reading the paper only; nothing is compared with it.
"""

UNREPRODUCED = """## What could not be reproduced, and why

- **Yelp2020** is not to be had; Yelp2018 at equal bytes per item stands in, with fewer items and
  other users, so its recall is no measure of theirs.
- **The paper's NDCG** fits no one definition (above); three of its recall cells on Yelp2020 are ten
  times too high (marked as slips).
- **Eq. 2 as printed** has rank 8 at every size: the sum of an item's blocks would do, so what the
  search keeps hardly matters for `rule-printed` (see [the ledger](paper.md)).
- **Eq. 3 as printed** spoils aligned scores where blocks go (λ = 1e-4, the paper's best) on
  Amazon-Book and Gowalla: likely blocks grow that cancel each other, since it has no bound (RQ2).
- Optimiser, epochs, negatives, batch and initialisation are not in the paper; `rule-…` had four
  settings of them tried here, no more.
"""

BASES = """## Bases at full size

Recall and NDCG on test over all items, train and validation items masked; mean ± deviation over
seeds.
"""

SIZES = """## Ours at every size

One model, searched and packed at each size, beside other ways to spend the bytes on the same table.
All data sets have Amazon-Book's bytes per item here; Amazon-Book's test users are 10,000 of 52,639.
"""

SEARCH = """## Does the search pay?

Compositions of whole float32 blocks from one trained table, at Amazon-Book's bytes per item for 5,
10 and 25 MB, counted as the paper counts (vectors only). The lead is the mean paired difference on
test between the search and the control, its deviation that of the differences over seeds.
`greedy-measured` climbs by real evaluation on validation; its seconds include counting for its
evaluator.
"""


def shown(table: str) -> str:
    """A table, or that there is nothing yet where it has no rows."""
    return table + "\n" if len(table.splitlines()) > 2 else NOT_YET


def folded(title: str, table: str) -> str:
    """A table that a reader opens when she wants it."""
    return f"<details><summary>{title}</summary>\n\n{table}\n\n</details>\n"


def measured_at(found: list[dict[str, Any]], method: str) -> str:
    """Of which commits the newest lines of a method are, by data set."""
    found = {
        line["dataset"]: line["commit"][:7] + _chosen(line["config"])
        for line in found
        if line["method"] == method
    }
    told = ", ".join(f"{dataset} {commit}" for dataset, commit in sorted(found.items()))
    return f"Newest lines of `{method}`, by commit: {told}.\n" if told else ""


def _chosen(config: dict[str, Any]) -> str:
    """By what ours was chosen, where that was not the usual validation."""
    if "chosen_on" in config:
        whose = "everyone's last eighth" if config["chosen_on"] == "everyone" else "what came last"
        return f" (chosen by {whose}, on a table of its own; trained on the usual split)"
    return " (trained without what came last, and chosen by it)" if "held_out" in config else ""


def first_question() -> list[str]:
    """Table 2, data set by data set."""
    tuned = len(lines.read("bases-tuning")) + len(lines.read("bases-tuning-late"))
    found, parts = Measurements(lines.RESULTS), [RQ1.format(trials=tuned)]
    parts += [measured_at([x for x in lines.read("table2") if not row_of(x).by], OURS)]
    parts += [folded("what ours chooses by, rehearsed on train alone", rehearsal.table())]
    if lines.read(rehearsal.SETTINGS):
        by = rehearsal.By.SETTINGS
        told = f"{REHEARSED}\n{rehearsal.table(experiment=rehearsal.SETTINGS, by=by)}\n"
        parts += [folded("settings of ours, rehearsed on train alone", told)]
        told = f"{BLOCKS}\n{rehearsal.table(experiment=rehearsal.BLOCKS, by=by)}"
        parts += [
            folded("wider tables and measured searches of ours, rehearsed on train alone", told)
        ]
        told = f"{RERUNS}\n{reruns.table()}"
        parts += [folded("ours measured again, and by other settings, on test", told)]
    if lines.read(codings.EXPERIMENT):
        parts += [folded("the same table coded in other ways", f"{CODINGS}\n{codings.table()}")]
    for dataset in found.datasets:
        parts += [f"### {quality_by_size.TITLES.get(dataset, dataset)}\n"]
        parts += [shown(table2_tables.table(found, dataset, ["recall@50"]))]
        for metric in paper.METRICS[1:]:
            table = table2_tables.table(found, dataset, [metric])
            parts += [folded(f"{metric} at every size", table)]
        parts += [LEADS, shown(table2_tables.leads_table(found, dataset))]
        for metric in paper.METRICS[1:]:
            table = table2_tables.leads_table(found, dataset, metric)
            parts += [folded(f"the same in {metric}", table)]
        parts += [SECONDS, shown(table2_tables.seconds_table(found, dataset))]
        if dataset in paper.STAND_INS:
            parts += [BESIDE.format(difference=DIFFERENCE[dataset])]
            parts += [shown(table2_tables.beside_the_paper(found, dataset))]
    return parts if found.datasets else [*parts, NOT_YET]


def render() -> str:
    """The whole page."""
    picture = figures.link(quality_by_size.NAME, "Recall@50 against file size, all methods")
    found = Measurements(lines.RESULTS)
    parts = [INTRODUCTION, picture, SHORT]
    if found.datasets:
        lost = claims.lost(found) or "- nowhere"
        parts += [claims.summary(found) + "\n", LOST, lost + "\n"]
    parts += [AIMS, shown(claims.table(claims.ours()))]
    parts += first_question()
    parts += [RQ2, figures.link(ablation.NAME, "Ablation"), shown(ablation.table())]
    parts += [DROPPING, shown(dropping.table())]
    parts += [GROUPS, figures.link(groups.NAME, "What groups keep"), shown(groups.table())]
    parts += [ESTIMATOR, figures.link(estimator.NAME, "Estimator"), shown(estimator.table())]
    parts += [RQ3, figures.link(latency.NAME, "Latency"), shown(latency.table())]
    parts += [RQ4, figures.link(hyperparameters.NAME, "G and N")]
    parts += [shown(hyperparameters.table()), GRID, shown(grid.table())]
    parts += [CLAIMS, shown(claims.table(claims.papers())), FORMS]
    parts += [folded("the printed NDCG, and ours in three forms", ndcg_forms.table())]
    parts += [UNREPRODUCED, BASES, shown(bases.table()), SIZES]
    parts += [measured_at(lines.read("sizes"), OURS), shown(sizes.table())]
    parts += [SEARCH, measured_at(lines.read("search"), "searched"), shown(search.table())]
    return "\n".join(part for part in parts if part)


if __name__ == "__main__":
    sys.exit(keep(PAGE, render))
