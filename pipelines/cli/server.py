"""`site-server` and `dagster`: serve a site for trying things out; open Dagster's UI."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import ConfigOption, JsonOption, settings_of
from pipelines.cli.output import print_json, stderr
from retrieval.errors import BadInputError, SitequestError

if TYPE_CHECKING:
    from pipelines.siteserver.source import SiteSource


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command("site-server")(site_server)
    app.command("dagster")(dagster)


def site_server(
    roots: Annotated[
        list[str] | None,
        typer.Argument(help="VERSION=DIRECTORY of unpacked sites; nothing: the demo site."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port (0: a free one).")
    ] = 8000,
    version: Annotated[str | None, typer.Option("--version", help="Version served first.")] = None,
    admin_port: Annotated[
        int,
        typer.Option(
            "--admin-port", min=0, max=65535, help="Port of the admin address (0: a free one)."
        ),
    ] = 0,
    validators: Annotated[
        bool, typer.Option("--validators/--no-validators", help="Send ETag and Last-Modified.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Serve the demo site, or unpacked sites in several versions, until interrupted.

    The admin address printed at the start switches the version and injects faults.
    """
    from pipelines.siteserver.representation import Validators
    from pipelines.siteserver.server import SiteServer

    source = _source(roots or [])
    first = version or source.versions[0]
    if first not in source.versions:
        raise BadInputError(
            f"There is no version {first!r}.", f"Versions: {', '.join(source.versions)}."
        )
    sent = Validators() if validators else Validators(etag="none", last_modified=False)
    server = SiteServer(source, first, host, port, admin_port=admin_port, validators=sent)
    try:
        server.start()
    except OSError as error:
        raise SitequestError(
            f"Cannot listen on {host}:{port}: {error.strerror}.", "Choose another --port."
        ) from error
    try:
        facts = {
            "url": server.url,
            "admin": server.admin_url,
            "admin_token": server.admin_token,
            "versions": list(source.versions),
        }
        if as_json:
            print_json(facts)
            sys.stdout.flush()
        else:
            for key, value in facts.items():
                stderr.print(f"{key}: {value}", markup=False)
            stderr.print("Ctrl-C ends it.")
        while True:
            time.sleep(3600)
    finally:
        server.stop()


def _source(roots: list[str]) -> SiteSource:
    if not roots:
        from pipelines.demo.site import DemoSource

        return DemoSource()
    from pipelines.siteserver.source import DirectorySource

    versions: dict[str, Path] = {}
    for item in roots:
        name, _, directory = item.rpartition("=")
        path = Path(directory)
        if not path.is_dir():
            raise BadInputError(f"There is no directory {directory}.", "Give VERSION=DIRECTORY.")
        versions[name or path.resolve().name] = path
    return DirectorySource(versions)


def dagster(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the UI.")] = 3000,
    config: ConfigOption = None,
) -> None:
    """Open Dagster's UI with its daemon (schedules, sensors) until interrupted."""
    from pipelines.instance import dagster_command, prepare_home
    from pipelines.settings import CONFIG_ENV, find_config

    settings = settings_of(config)
    environment = {
        **os.environ,
        **prepare_home(settings.root),
        CONFIG_ENV: str(find_config(config).resolve()),
    }
    stderr.print(f"Dagster's UI: http://127.0.0.1:{port}  (Ctrl-C ends it)", markup=False)
    command = dagster_command(
        "dev", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", str(port)
    )
    process = subprocess.Popen(command, env=environment, cwd=settings.root)
    try:
        code = process.wait()
    finally:
        if process.poll() is None:
            # Interrupted or terminated: the services below must not outlive this process.
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
    if code not in (0, 130, -2):
        raise SitequestError(f"Dagster ended with exit code {code}.", "Is the port free?")
