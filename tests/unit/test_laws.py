"""The laws of the house: imports go one way, and heavy libraries load when they are needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "torch", "sentence_transformers", "transformers", "spacy", "lancedb", "great_expectations",
    "scrapy", "onnxruntime", "trafilatura",
)  # fmt: skip

LOADED = f"""
import sys
{{work}}
print(*[name for name in {HEAVY!r} if name in sys.modules])
"""


@pytest.mark.parametrize(
    "work",
    [
        "import pipelines.definitions",
        "import retrieval; import retrieval.index.api",
        "import assets.sites",
        (
            "from typer.testing import CliRunner; from pipelines.cli.main import app\n"
            "assert CliRunner().invoke(app, ['--help']).exit_code == 0"
        ),
    ],
    ids=["definitions", "retrieval", "assets", "help"],
)
def test_importing_loads_no_heavy_library(work: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(work=work)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_help_of_the_command_line_loads_no_dagster() -> None:
    code = (
        "import sys; from pipelines.cli.main import app; from typer.testing import CliRunner\n"
        "CliRunner().invoke(app, ['sync', '--help']); print('dagster' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_import_contracts_hold() -> None:
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
