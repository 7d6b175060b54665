"""`elasticrec tune`: look for better training settings."""

from __future__ import annotations

from typing import Annotated

import typer

from elasticrec.cli._options import DEVICE, JSON, PRESET, SEED, SETTINGS


def tune(
    source: Annotated[str, typer.Argument(help="A prepared split, a table, or `goodbooks`.")],
    trials: Annotated[int, typer.Option(help="Trainings; the first has the preset's.", min=2)] = 20,
    seconds: Annotated[
        float | None, typer.Option(help="Begin no further trial after so many.", min=0)
    ] = None,
    preset: PRESET = "default",
    settings: SETTINGS = None,
    seed: SEED = 0,
    device: DEVICE = "auto",
    json: JSON = False,
) -> None:
    """Try other training settings with Optuna, and judge them on validation users.

    A trial replaces the preset's settings only if its lead is more than chance among so many
    trials; often none does. The test part is not read. Ctrl-C ends with what was tried so far.

    \b
    Example:
      elasticrec tune split.npz --trials 30
      elasticrec tune split.npz --seconds 3600 --set train.n_blocks=8
    """
    import json as to_json
    from dataclasses import asdict

    from elasticrec.cli._output import logged_to_stderr
    from elasticrec.cli._settings import configured
    from elasticrec.data.preparation import PrepareConfig, prepare
    from elasticrec.tuning import DEFAULT
    from elasticrec.tuning import tune as tune_training

    config = configured(preset, settings, seed).train
    with logged_to_stderr():
        split = prepare(source, PrepareConfig(seed=seed))
        found = tune_training(split, config, trials=trials, seconds=seconds, device=device)
    if json:
        print(to_json.dumps({**asdict(found), "choice": found.choice.as_dict()}))
        return
    own, best = found.values[DEFAULT], max(found.values.values())
    print(
        f"{config.metric} of the preset {own:.4f}, best of {len(found.values)} trials {best:.4f}, "
        f"on {found.choice.persons:,} validation users"
    )
    if not found.settings:
        print("no trial leads beyond chance: keep the settings")
        return
    lead, low = found.choice.leads[found.choice.chosen]
    words = [*(settings or []), *(f"train.{n}={v:.6g}" for n, v in found.settings.items())]
    given = "" if preset == "default" else f" --preset {preset}"
    print(f"{found.choice.chosen} leads by {100 * lead:.1f} % (at least {100 * low:.1f} %)")
    print(f"next: elasticrec fit {source} -o MODEL{given}", *(f"--set {word}" for word in words))
