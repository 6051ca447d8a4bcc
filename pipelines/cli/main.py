"""The command line: composes the commands and turns errors into exit codes.

Exit codes: 0 done, 1 failed, 2 bad input or configuration, 3 a candidate is held, 4 no snapshot to
answer from, 5 another writer is at work.
"""

from __future__ import annotations

import sys

import typer

from pipelines.cli import ask, bench, doctor, evaluate, init, server, snapshots, sync
from pipelines.cli.output import print_error, stderr
from retrieval.errors import SitequestError

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


def run() -> None:
    """Run the command line; an expected failure is one paragraph, never a traceback."""
    try:
        app(standalone_mode=True)
    except SitequestError as error:
        print_error(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        stderr.print("interrupted: nothing was published")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)


if __name__ == "__main__":
    run()
