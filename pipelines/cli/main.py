"""The command line: composes the commands and turns errors into exit codes.

Exit codes: 0 done, 1 failed, 2 bad input or configuration, 3 a candidate is held, 4 no snapshot to
answer from, 5 another writer is at work.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import metadata
from typing import Annotated

import typer
from typer._click.exceptions import ClickException  # typer has no public name for it
from typer.rich_utils import rich_format_error

from pipelines.cli import ask, bench, doctor, evaluate, init, server, snapshots, sync
from pipelines.cli.output import print_error, stderr, stdout
from retrieval.errors import BadInputError, SitequestError

app = typer.Typer(
    name="sitequest",
    help="Keeps a verifiable question-answering index in step with a website.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)

for module in (init, sync, ask, snapshots, doctor, evaluate, bench, server):
    module.register(app)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Keeps a verifiable question-answering index in step with a website."""
    if version:
        stdout.print(metadata.version("sitequest"))
        raise typer.Exit


def run() -> None:
    """Run the command line; an expected failure is one paragraph, never a traceback."""
    as_json = "--json" in sys.argv
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        sys.exit(app(standalone_mode=False))
    except SitequestError as error:
        print_error(error, as_json=as_json)
        sys.exit(error.exit_code)
    except ClickException as error:
        if as_json:
            print_error(BadInputError(error.format_message(), "See --help."), as_json=True)
        else:
            rich_format_error(error)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        stderr.print("interrupted: nothing was published")
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone; what is still in the buffer must not fail a second time at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print_error(
            SitequestError(f"{error.strerror or error}{where}.", "Check space and permissions."),
            as_json=False,
        )
        sys.exit(1)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
