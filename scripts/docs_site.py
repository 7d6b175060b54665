"""The documentation site's pages: docs/, the READMEs of the rooms, and the executed notebooks.

mkdocs calls the functions `on_…`. Pages are written for readers of the repository; here their links
lead to the site's own page where there is one, and to the repository otherwise.
"""

from __future__ import annotations

import json
import os
import re
from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/elasticrec/elasticrec"
OURS = re.compile(r"https://[a-z.]+\.com/elasticrec/elasticrec/(?:(?:blob|tree)/)?main/")
"""How pages that are shown elsewhere, such as the README, name files of the repository."""
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
LONG = 20
"""Lines of an output from which it is folded."""
FENCE = re.compile(r"(^```.*?^```$)", flags=re.MULTILINE | re.DOTALL)


def pages() -> dict[str, str]:
    """Places on the site by place in the repository, of all pages."""
    found = {
        "README.md": "index.md",
        "docs/index.md": "index.md",
        "CONTRIBUTING.md": "contributing.md",
        "CHANGELOG.md": "changelog.md",
        "SECURITY.md": "reporting.md",
        "experiments/README.md": "experiments.md",
        "benchmarks/README.md": "benchmarks.md",
    }
    for path in sorted(ROOT.glob("device/*/README.md")):
        found[f"device/{path.parent.name}/README.md"] = f"device/{path.parent.name}.md"
    for path in sorted(ROOT.glob("examples/notebooks/*.ipynb")):
        found[f"examples/notebooks/{path.name}"] = f"notebooks/{path.stem}.md"
    for path in sorted(ROOT.glob("docs/**/*.md")):
        place = path.relative_to(ROOT / "docs").as_posix()
        found.setdefault(f"docs/{place}", place)
    return found


def navigation() -> list[dict[str, Any]]:
    """The site's parts and their pages."""
    places = set(pages().values())
    devices = sorted(place for place in places if place.startswith("device/"))
    parts = {
        "Start": ["index.md", "getting-started.md", "notebooks/own-data.md",
                  "notebooks/browser.md", "notebooks/sizes.md"],
        "Concepts": ["concepts.md", "compression.md", "ordering.md", "privacy.md", "security.md",
                     "paper.md"],
        "Recipes": ["recipes.md", "data.md", "scale.md", "deploy.md"],
        "Runtimes": ["runtimes.md", "stream-format.md", *devices],
        "Reference": ["api.md", "cli.md", "http-api.md"],
        "Results": ["results.md", "results/table2.md", "results/protocol.md", "results/formats.md",
                    "results/orders.md", "results/rule.md", "results/rivals.md",
                    "results/privacy.md",
                    "results/first-release.md", "experiments.md", "benchmarks.md"],
        "Project": ["contributing.md", "changelog.md", "reporting.md"],
    }  # fmt: skip
    listed = {place for part in parts.values() for place in part}
    parts["Project"] += sorted(places - listed)
    return [{name: [p for p in part if p in places]} for name, part in parts.items()]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The settings with the navigation."""
    config["nav"] = navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages of docs/, and those that lie elsewhere."""
    from mkdocs.structure.files import File

    files.remove(files.src_uris["index.md"])
    for source, place in pages().items():
        if source.startswith("docs/"):
            continue
        text = (ROOT / source).read_text(encoding="utf-8")
        text = notebook(json.loads(text)) if source.endswith(".ipynb") else text
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """The text of a page with links that hold on the site."""
    places = pages()
    source = next(key for key, place in places.items() if place == page.file.src_uri)
    parts = FENCE.split(markdown)  # code stays as it is
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda m: _led(m, source, places), part)
        for part in parts
    )


def _led(link: re.Match[str], source: str, places: dict[str, str]) -> str:
    """One link of a page, led to the site or to the repository."""
    target, _, anchor = link[2].partition("#")
    ours = OURS.match(target)
    if (not target and anchor) or (not ours and "://" in target):
        return link[0]
    name = target[ours.end() :] if ours else _joined(source, target)
    anchor = f"#{anchor}" if anchor else ""
    here = PurePosixPath(places[source]).parent
    if name in places:
        led = os.path.relpath(places[name], here) + anchor
    elif name.startswith("docs/") and (ROOT / name).is_file():
        led = os.path.relpath(name.removeprefix("docs/"), here)
    else:
        kind = "tree" if (ROOT / name).is_dir() else "blob"
        led = f"{REPOSITORY}/{kind}/main/{name}{anchor}"
    return f"{link[1]}{led}{link[3]}"


def _joined(source: str, target: str) -> str:
    """The place in the repository of a link's target."""
    return os.path.normpath((PurePosixPath(source).parent / target).as_posix())


def notebook(content: dict[str, Any]) -> str:
    """A notebook and its outputs as one page."""
    parts = []
    for cell in content["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [shown for output in cell["outputs"] if (shown := _output(output))]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    """What a cell gave, as it is shown below it."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    if "image/svg+xml" in data:
        svg = "".join(data["image/svg+xml"])
        return f"<figure>{svg[svg.index('<svg') :]}</figure>"
    lines = "".join(data["text/plain"]).rstrip().splitlines()
    if not lines:
        return ""
    shown = f'<pre class="output"><code>{escape(chr(10).join(lines))}</code></pre>'
    if len(lines) <= LONG:
        return shown
    last = f"{len(lines)} lines, the last: {escape(lines[-1])}"
    return f"<details><summary>{last}</summary>{shown}</details>"
