"""Models for others: `serve` and `token`, `publish` and `keys`, `push` and `pull`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, Typer


def serve(
    models: Annotated[
        list[str] | None,
        Argument(help="Model folders, folders of them, or addresses.", metavar="MODEL..."),
    ] = None,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on.")] = 8000,
    keys: Annotated[
        Path | None,
        Option(help="The file with the keys of tokens; else $ELASTICREC_TOKEN_KEYS."),
    ] = None,
    poll: Annotated[float, Option(help="Seconds between looks for new versions.")] = 5.0,
    demo: Annotated[
        bool, Option("--demo", help="Serve the model that comes with the package.")
    ] = False,
) -> None:
    """Serve streams over HTTP, with a page that ranks in the browser.

    \b
    Example:
      elasticrec serve models/books --port 8000
      elasticrec serve s3://bucket/models
      curl -o watch.elastic 'localhost:8000/models/books/stream.elastic?budget=5MB'
    """
    from elasticrec.files import demo_folder

    # Before the imports below, so that a missing demo is named first.
    listed = (*(models or ()), *((demo_folder() / "models",) if demo else ()))
    from elasticrec.serve.connections import run_service
    from elasticrec.serve.middleware import ServeConfig

    run_service(ServeConfig(listed, keys=keys, poll_seconds=poll), host=host, port=port)


def _new_key(wanted: bool) -> None:
    if wanted:
        from elasticrec.serve.tokens import new_key

        print(new_key())
        raise Exit()


def token(
    model: Annotated[str, Argument(help="The name of the model.")],
    user: Annotated[str, Argument(help="The user's original id.")],
    expires: Annotated[
        str, Option(help="How long it is valid: 90s, 15m, 12h or 30d.", metavar="TIME")
    ] = "1h",
    keys: Annotated[
        Path | None,
        Option(help="The file with the keys, whose first signs; else $ELASTICREC_TOKEN_KEYS."),
    ] = None,
    new_key: Annotated[  # noqa: ARG001
        bool,
        Option("--new-key", callback=_new_key, is_eager=True, help="Print a new key instead."),
    ] = False,
) -> None:
    """Print a token that opens one user's vector of one model.

    \b
    Example:
      elasticrec token --new-key > keys.txt
      elasticrec token books 42 --expires 15m --keys keys.txt
    """
    from elasticrec.serve.tokens import Keys, parse_seconds

    print(Keys.load(keys).sign(model, user, parse_seconds(expires)))


def publish(
    model: Annotated[str, Argument(help="The model folder.", metavar="MODEL")],
    place: Annotated[
        str, Argument(help="The folder, or an address such as s3://bucket/site.", metavar="DIR")
    ],
    name: Annotated[
        str | None, Option(help="The model's name; by default that of its folder.")
    ] = None,
    sign: Annotated[
        Path | None, Option(help="Sign the stream with this private key (`elasticrec keys new`).")
    ] = None,
    keep: Annotated[int, Option(help="Versions of each file that stay in the folder.")] = 3,
) -> None:
    """Write the stream, and a page that ranks in the browser, as static files.

    \b
    Example:
      elasticrec publish models/books site
      elasticrec publish models/books s3://bucket/site
      curl -r 0-4999999 https://cdn.example/models/books/stream-0123456789abcdef.elastic
    """
    from elasticrec.serve.page import published
    from elasticrec.stream.publish import publish as write

    key = None
    if sign is not None:
        from elasticrec.stream.side_files import load_key

        key = load_key(sign)
    entry = write(model, place, name=name, page=published(), key=key, keep=keep)
    path = f"{place.rstrip('/')}/{entry['files']['stream']}"
    print(f"{path}: {entry['bytes']:,} bytes, sha256 {entry['sha256']}")


keys = Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make keys that sign streams, so that devices refuse what others publish.",
)


@keys.command()
def new(
    output: Annotated[Path, Option("--output", "-o", help="The private key to write.")],
) -> None:
    """Write a new private key (readable by its owner alone), and its public key beside it.

    \b
    Example:
      elasticrec keys new -o publisher.key
    """
    from elasticrec.files import check_writable
    from elasticrec.stream.side_files import new_key

    check_writable(output)
    public = new_key(output)
    print(f"{output}: keep it secret; give {public} to devices")


REPOSITORY = Annotated[str, Argument(help="Its name in the hub: owner/name.")]
HUB = Annotated[
    Path | None,
    Option(help="The hub folder; by default that of Hugging Face's tools.", metavar="FOLDER"),
]


def push(
    model: Annotated[Path, Argument(help="A finished model folder.")],
    repository: REPOSITORY,
    hub: HUB = None,
) -> None:
    """Put a model into a hub folder, as Hugging Face's tools keep models.

    A team shares the folder, or uploads what is in it: a model folder is a repository with a model
    card. It holds who took what, so it must stay as private as the data; `elasticrec publish`
    writes what everyone may see.

    \b
    Example:
      elasticrec push MODEL shop/books --hub ../hub
    """
    from elasticrec.hub import push as push_model

    version = push_model(model, repository, hub)
    print(f"{repository} is version {version}; it holds who took what: keep it private")


def pull(
    repository: REPOSITORY,
    output: Annotated[Path, Option("--output", "-o", help="The model folder to write.")],
    hub: HUB = None,
    version: Annotated[str, Option(help="A version that `push` printed, or a ref.")] = "main",
) -> None:
    """Copy a model out of a hub folder, every part checked against its hash.

    \b
    Example:
      elasticrec pull shop/books -o MODEL --hub ../hub
    """
    from elasticrec.hub import pull as pull_model

    model = pull_model(repository, output, hub, version=version)
    print(f"{output}: {model.about.get('name')}, model {model.id[:16]}")
