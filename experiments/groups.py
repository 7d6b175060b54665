"""What the search keeps of each group: popularity groups as a heat map, clusters as a scatter.

    python -m experiments.groups run --dataset yelp2018 --gpu
    python -m experiments.groups run --smoke
    python -m experiments.groups draw

The paper's figure: RULE-P and RULE-C at 10 MB on Yelp2018, where 59 blocks fit. A line holds the
composition found; of clusters also 50 items each in the plane of the first two principal
components, where they were made. The paper sees popular groups get more blocks, and near clusters
get similar compositions; both are put in numbers here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from experiments import figures, lines, study, study_command
from experiments.command import make_app
from experiments.jobs import run_all
from experiments.study import Studied, StudyTask, Variant

NAME = "groups"
SIZE = 10
SHOWN = 50
"""Items drawn of each cluster."""
SHUFFLES = 2_000
VARIANTS = (
    Variant("RULE-P", space={"kind": "popularity"}),
    Variant("RULE-C", space={"kind": "cluster", "pca": True}),
)
app = make_app(__doc__)


def work(task: StudyTask) -> str:
    """Search a task's variants, append their lines, and say them in short."""
    said = [study.record(task, each, **kept_of(each)) for each in study.studied(task)]
    return f"{task}: " + ", ".join(said)


def kept_of(found: Studied) -> dict[str, Any]:
    """The composition found, its groups' sizes, and of clusters some items in the plane."""
    from elasticrec.space.clustering import principal_components
    from elasticrec.space.regroup import load_groups

    groups, composition = load_groups(found.ready.folder), found.found.composition
    out: dict[str, Any] = {
        "depths": composition.depths.tolist(),
        "neighbours": composition.neighbours.tolist(),
        "blocks": int(composition.kept.sum()),
        "group_sizes": groups.sizes.tolist(),
    }
    if groups.kind == "cluster":
        plane = principal_components(found.ready.folder.table().items, 2)
        rng = np.random.default_rng(0)
        points = []
        for start, stop in zip(groups.bounds[:-1], groups.bounds[1:], strict=True):
            some = rng.permutation(np.arange(start, stop))[:SHOWN]
            points.append(np.round(plane[np.sort(some)], 4).tolist())
        out["points"] = points
        means = [
            plane[a:b].mean(axis=0)
            for a, b in zip(groups.bounds[:-1], groups.bounds[1:], strict=True)
        ]
        out["centres"] = np.round(np.array(means), 5).tolist()
    return out


def run_smoke() -> str:
    """The table of a tiny made world; nothing is recorded."""
    with tempfile.TemporaryDirectory() as place:
        session = study_command.smoke_session(Path(place))
        run_all(study.tasks(NAME, session, "goodbooks", {"rule-printed": VARIANTS}, (SIZE,)), work)
        return table(session.results)


study_command.add_run(app, NAME, "yelp2018", lambda _: VARIANTS, (SIZE,), work, run_smoke)


def popularity_trend(line: dict[str, Any]) -> float:
    """Rank correlation of a group's popularity with what it keeps: 1 if the popular keep most."""
    from elasticrec.rule.estimator.correlation import spearman

    kept = _bytes_kept(line)
    if np.ptp(kept) == 0:
        return 0.0  # all alike: no trend
    return spearman(-np.arange(len(kept), dtype=np.float64), kept)


def _bytes_kept(line: dict[str, Any]) -> np.ndarray:
    """(G,) planes per block summed, and bytes of neighbours, of one item of each group."""
    depths = np.array(line["depths"], dtype=np.float64)
    return np.asarray(depths.sum(axis=1) + 2.5 * np.array(line["neighbours"]))


def nearness(line: dict[str, Any]) -> tuple[float, float]:
    """Rank correlation of clusters' distance with their compositions' difference, and its p.

    Pairs of clusters are no independent sample, so p is the share of random assignments of the
    compositions to the clusters that correlate as much or more (Mantel's test).
    """
    from elasticrec.rule.estimator.correlation import spearman

    centres, depths = np.array(line["centres"]), np.array(line["depths"], dtype=np.float64)
    G = len(centres)
    pairs = np.triu_indices(G, 1)
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)[pairs]
    unlike = np.abs(depths[:, None] - depths[None]).sum(axis=2)
    if np.ptp(unlike[pairs]) == 0:
        return 0.0, 1.0
    found = spearman(apart, unlike[pairs])
    rng = np.random.default_rng(0)
    shuffled = []
    for _ in range(SHUFFLES):
        order = rng.permutation(G)
        shuffled.append(spearman(apart, unlike[order][:, order][pairs]))
    return found, float((1 + np.sum(np.array(shuffled) >= found)) / (1 + SHUFFLES))


def by_start(results: Path | None = None) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """The lines by data set, start and variant, over seeds."""
    out: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for line in lines.read_from(results or lines.RESULTS, NAME):
        out.setdefault((line["dataset"], line["method"], line["variant"]), []).append(line)
    starts, names = study_command.STARTS, [variant.name for variant in VARIANTS]
    order = sorted(out, key=lambda key: (key[0], starts.index(key[1]), names.index(key[2])))
    return {key: out[key] for key in order}


def table(results: Path | None = None) -> str:
    """Whether the popular keep more, and near clusters the same, in numbers; in Markdown."""
    rows = [
        "| data set | start | groups | blocks kept | correlation | p | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    for (dataset, start, variant), found in by_start(results).items():
        blocks = mean(line["blocks"] for line in found)
        if variant == "RULE-P":
            value, p = mean(popularity_trend(line) for line in found), "–"
            word = "popularity with bytes kept"
        else:
            pairs = [nearness(line) for line in found]
            value, p = mean(each for each, _ in pairs), ", ".join(f"{q:.3f}" for _, q in pairs)
            word = "distance with difference"
        rows.append(
            f"| {dataset} | {start} | {variant} | {blocks:.0f} | {word} {value:+.2f} | {p} "
            f"| {len(found)} |"
        )
    return "\n".join(rows)


def claims() -> dict[str, list[tuple[str, str, bool]]]:
    """By variant: data set, start and whether the paper's claim held for every seed."""
    out: dict[str, list[tuple[str, str, bool]]] = {"RULE-P": [], "RULE-C": []}
    for (dataset, start, variant), found in sorted(by_start().items()):
        if variant == "RULE-P":
            held = all(popularity_trend(line) > 0.5 for line in found)
        else:
            held = all(r > 0 and p < 0.05 for r, p in map(nearness, found))
        out[variant].append((dataset, start, held))
    return out


@app.command()
def draw() -> None:
    """Print the table and write docs/figures/groups.svg."""
    print(table())
    draw_figure()


def draw_figure() -> bool:
    """Whether there was anything to draw: a row per start, seed 0, popularity left."""
    found = by_start()
    keys = [
        key
        for key in dict.fromkeys(k[:2] for k in found)
        if all((*key, v.name) in found for v in VARIANTS)
    ]
    if not keys:
        print("nothing measured yet")
        return False
    from matplotlib import colormaps

    with figures.panels(NAME, 2, len(keys), width=4.8, height=3.4) as axes:
        for row, key in zip(axes, keys, strict=True):
            popular, clusters = (found[(*key, variant.name)][0] for variant in VARIANTS)
            depths = np.array(popular["depths"])
            shown = figures.shade(np.where(depths > 8, 8, depths), row[0], vmin=0, vmax=8)
            row[0].set_yticks(
                range(len(depths)), [f"{n}" for n in (depths > 0).sum(axis=1)], fontsize=6
            )
            row[0].set_ylabel("group, the most popular on top: its blocks")
            row[0].set_xlabel("block")
            row[0].set_title(f"{key[0]}, {key[1]}: popularity", loc="left", fontweight="bold")
            row[0].figure.colorbar(shown, ax=row[0], label="depth", shrink=0.8)
            for g, points in enumerate(clusters["points"]):
                x, y = np.array(points).T
                row[1].scatter(x, y, s=4, color=colormaps["tab20"](g % 20), rasterized=True)
                kept = int((np.array(clusters["depths"][g]) > 0).sum())
                row[1].annotate(str(kept), clusters["centres"][g], fontsize=7, fontweight="bold")
            row[1].set_title("clusters, and blocks kept by each", loc="left", fontweight="bold")
    return True


if __name__ == "__main__":
    app()
