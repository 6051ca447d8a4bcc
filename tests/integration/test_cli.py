"""The command line as a person meets it: JSON, exit codes, one-paragraph errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pipelines.siteserver.server import SiteServer
from tests.integration.demo_index import DemoIndex, demo_index

__all__ = ["demo_index"]


def assert_error(done, code: int, *words: str) -> None:  # type: ignore[no-untyped-def]
    """One paragraph with a remedy on stderr, the exit code, and never a traceback."""
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert "error:" in done.stderr
    # A terminal's width breaks lines anywhere, also within a path.
    told = "".join(done.stderr.split())
    for word in words:
        assert "".join(word.split()) in told


def test_ask_prints_the_documented_json(demo_index: DemoIndex) -> None:
    done = demo_index.cli("ask", "How much deposit do overseas students pay?", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {
        "question", "answer", "abstained", "mode", "claims", "snapshot_id", "trace_id",
        "reader_tokens", "seconds",
    } <= set(answer)  # fmt: skip
    citation = answer["claims"][0]["citations"][0]
    assert {
        "block_id", "lineage_id", "url", "heading_path", "quote", "entities", "fetched_at",
    } <= set(citation)  # fmt: skip


@pytest.mark.parametrize("reference", ["v1", "2999-01-01"])
def test_as_of_takes_labels_and_dates(demo_index: DemoIndex, reference: str) -> None:
    done = demo_index.cli("ask", "Who leads the library?", "--as-of", reference, "--json")
    assert done.returncode == 0, done.stderr
    expected = demo_index.first if reference == "v1" else demo_index.second
    assert json.loads(done.stdout)["snapshot_id"] == expected.manifest.id


@pytest.mark.parametrize("mode", ["direct", "navigation", "reasoning"])
def test_a_forced_mode_is_honoured(demo_index: DemoIndex, mode: str) -> None:
    done = demo_index.cli("ask", "What does the museum show?", "--mode", mode, "--json")
    assert json.loads(done.stdout)["mode"] == mode


def test_snapshots_diff_and_status(demo_index: DemoIndex) -> None:
    listed = json.loads(demo_index.cli("snapshots", "--json").stdout)
    assert [item["label"] for item in listed] == ["v1", "v2"]
    assert [item["published"] for item in listed] == [False, True]
    difference = json.loads(demo_index.cli("diff", "v1", "v2", "--json").stdout)
    assert difference["counts"]["pages"]["added"] >= 3
    assert difference["counts"]["facts"]["added"] > 0
    status = json.loads(demo_index.cli("status", "--json").stdout)
    assert status[0]["published"] == demo_index.second.manifest.id
    assert status[0]["pages_live"] == 75


def test_doctor_finds_everything_in_order(demo_index: DemoIndex) -> None:
    done = demo_index.cli("doctor", "--json")
    findings = json.loads(done.stdout)
    assert done.returncode == 0, findings
    assert {finding["status"] for finding in findings} == {"ok"}


def test_eval_on_an_existing_snapshot(demo_index: DemoIndex) -> None:
    from pipelines.demo.site import QUESTIONS_PATH

    done = demo_index.cli(
        "eval", "--snapshot", "v2", "--questions", str(QUESTIONS_PATH), "--json", "--limit", "20"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["snapshot"] == demo_index.second.manifest.id
    overall = report["systems"]["sitequest"]["all"]
    assert overall["n"] == 20
    assert overall["span_recall@10"] > 0.7


def test_eval_without_the_snapshot_says_how_to_get_it(demo_index: DemoIndex) -> None:
    from pipelines.demo.site import QUESTIONS_PATH

    done = demo_index.cli("eval", "--snapshot", "v9", "--questions", str(QUESTIONS_PATH))
    assert_error(done, 4, "v9", "sitequest sync demo --label v9")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ask", ""], 2, ["question"]),
        (["ask", "   "], 2, ["question"]),
        (["ask", "図書館は何時に開きますか"], 2, ["letters", "English"]),
        (["ask", "Who?", "--as-of", "20200101T000000Z-abcdef"], 4, ["20200101T000000Z-abcdef"]),
        (["ask", "Who?", "--as-of", "2001-01-01"], 4, ["2001-01-01"]),
        (["ask", "Who?", "--site", "nowhere"], 2, ["nowhere", "demo"]),
        (["diff", "v1", "v7"], 4, ["v7"]),
        (["bench", "no-such"], 2, ["no-such"]),
        (["init", "not a url"], 2, ["address"]),
        (["sync", "--config", "missing.yaml"], 2, ["missing.yaml"]),
    ],
)
def test_bad_input(
    demo_index: DemoIndex, arguments: list[str], code: int, words: list[str]
) -> None:
    assert_error(demo_index.cli(*arguments), code, *words)


def test_init_writes_a_configuration_that_loads(demo_index: DemoIndex, tmp_path: Path) -> None:
    from pipelines.settings import load_settings

    target = tmp_path / "sites.yaml"
    done = demo_index.cli("init", "https://www.alder.example/start", "-o", str(target), "--json")
    assert json.loads(done.stdout)["site"] == "alder"
    site = load_settings(target).site("alder")
    assert site.crawl.seeds == ["https://www.alder.example/start"]
    again = demo_index.cli("init", "https://www.alder.example/", "-o", str(target))
    assert_error(again, 2, "--force")


SITES = "root: data\nsites:\n  bad:\n    seeds: [{seed}]\n    host_map: {{bad.example: '{at}'}}\n"


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ({"/robots.txt": "User-agent: *\nDisallow: /\n", "/": "<p>x</p>"}, ["robots.txt"]),
        ({"/": b"%PDF-1.4 nothing else"}, ["HTML"]),
        ({"/": ""}, []),
        ({}, ["missing"]),
    ],
    ids=["robots-forbids-all", "only-pdf", "empty-page", "nothing-there"],
)
def test_a_site_with_nothing_to_index(
    demo_index: DemoIndex, tmp_path: Path, serve_site, pages: dict, words: list[str]
) -> None:  # type: ignore[no-untyped-def]
    server: SiteServer = serve_site(pages)
    config = tmp_path / "sites.yaml"
    config.write_text(SITES.format(seed="http://bad.example/", at=server.url))
    done = demo_index.cli("sync", config=config)
    assert done.returncode in (1, 2, 3)
    assert_error(done, done.returncode, *words)
    assert not (tmp_path / "data/bad/LATEST.json").exists()
    assert not list((tmp_path / "data/bad").glob("staging/*"))


def test_an_unreachable_host(demo_index: DemoIndex, tmp_path: Path) -> None:
    config = tmp_path / "sites.yaml"
    config.write_text(SITES.format(seed="http://bad.example/", at="http://127.0.0.1:9"))
    assert_error(demo_index.cli("sync", config=config), 1, "bad.example")
    doctor = demo_index.cli("doctor", "--json", config=config)
    assert doctor.returncode == 1
    failed = [f for f in json.loads(doctor.stdout) if f["status"] == "fail"]
    assert failed
    assert all(finding["remedy"] for finding in failed)


def test_a_corrupt_manifest_is_named(demo_index: DemoIndex, tmp_path: Path) -> None:
    import shutil

    root = tmp_path / "root"
    shutil.copytree(demo_index.config.parent, root, ignore=shutil.ignore_patterns("dagster"))
    manifest = root / "demo" / "snapshots" / demo_index.second.manifest.id / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_text("{")
    latest = (root / "demo/LATEST.json").read_bytes()
    for command in (["ask", "Who leads the library?"], ["sync"]):
        done = demo_index.cli(*command, config=root / "sites.yaml")
        assert_error(done, 1, "manifest.json")
    assert (root / "demo/LATEST.json").read_bytes() == latest


def test_a_model_file_with_another_hash_is_refused(demo_index: DemoIndex, tmp_path: Path) -> None:
    import shutil

    from retrieval.models.pins import locate, pinned

    source = locate(pinned("bge-small-en-v1.5"))
    copied = tmp_path / "model"
    shutil.copytree(source, copied)
    weights = copied / "model.onnx"
    weights.chmod(0o644)
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    config = demo_index.config.parent / "other.yaml"
    config.write_text(
        demo_index.config.read_text()
        + f"models:\n  embedder: {{kind: onnx, name: bge-small-en-v1.5, path: '{copied}'}}\n"
    )
    done = demo_index.cli("ask", "Who leads the library?", config=config)
    assert_error(done, 1, "model.onnx", "bge-small-en-v1.5", "pip install")
    config.unlink()


EVIL = (
    "<title>Gate\x1b[31m fees</title><h1>Gate fees</h1>"
    "<p>The gate fee is 12 pounds \x1b]0;PWNED\x07 per term [bold]now[/bold] \u202eevil.</p>"
)


def test_crawled_text_is_shown_and_never_obeyed(
    demo_index: DemoIndex, tmp_path: Path, serve_site
) -> None:  # type: ignore[no-untyped-def]
    """Also: a site's name may hold a '-'."""
    server: SiteServer = serve_site({"/": EVIL})
    config = tmp_path / "sites.yaml"
    text = SITES.format(seed="http://bad.example/", at=server.url)
    config.write_text(text.replace("  bad:", "  my-bad:"))
    done = demo_index.cli("sync", config=config)
    assert done.returncode == 0, done.stderr
    answer = demo_index.cli("ask", "How much is the gate fee?", config=config)
    assert answer.returncode == 0, answer.stderr
    assert "12 pounds" in answer.stdout
    assert "[bold]now[/bold]" in answer.stdout
    for stream in (answer.stdout, answer.stderr, done.stdout, done.stderr):
        assert not {"\x1b", "\x07", "\u202e"} & set(stream)


@pytest.mark.parametrize(
    "arguments", [["ask"], ["ask", "x", "--mode", "bogus"], ["eval"], ["diff", "v1"]]
)
def test_usage_errors_are_json_too(demo_index: DemoIndex, arguments: list[str]) -> None:
    done = demo_index.cli(*arguments, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["exit_code"] == 2


def test_a_terminated_sync_says_so_and_leaves_nothing(tmp_path: Path, serve_site) -> None:  # type: ignore[no-untyped-def]
    import signal
    import subprocess
    import time

    from pipelines.siteserver.faults import Fault

    server: SiteServer = serve_site({"/": "<h1>Slow</h1>", "/robots.txt": ""})
    server.set_faults(Fault(kind="latency", path="/$", seconds=60))
    config = tmp_path / "sites.yaml"
    config.write_text(SITES.format(seed="http://bad.example/", at=server.url))
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli.main", "sync", "-q", "-c", str(config)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not [entry for entry in server.requests() if entry.path == "/robots.txt"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert "Traceback" not in told
    assert not list((tmp_path / "data/bad").glob("staging/*"))


@pytest.mark.parametrize(
    ("file", "cut"),
    [("pages.parquet", 100), ("entities.parquet", 1000), ("facts.parquet", 500),
     ("search/vectors.npy", 1000), ("../../LATEST.json", 5)],
)  # fmt: skip
def test_a_damaged_file_is_named(
    demo_index: DemoIndex, tmp_path: Path, file: str, cut: int
) -> None:
    import shutil

    root = tmp_path / "root"
    shutil.copytree(demo_index.config.parent, root, ignore=shutil.ignore_patterns("dagster"))
    damaged = root / "demo" / "snapshots" / demo_index.second.manifest.id / file
    damaged.chmod(0o644)
    with damaged.open("r+b") as opened:
        opened.truncate(cut)
    done = demo_index.cli("ask", "Who leads the library?", config=root / "sites.yaml")
    assert_error(done, 1, "remedy")
    told = "".join(done.stderr.split())
    assert Path(file).name in told or "search" in told
