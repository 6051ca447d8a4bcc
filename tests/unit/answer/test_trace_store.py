import json
import os
from pathlib import Path

import pytest

from retrieval.answer.trace import Trace, load_trace, store_trace
from retrieval.errors import BadInputError, SitequestError
from retrieval.snapshot.layout import SitePaths


def make() -> Trace:
    trace = Trace("What is the fee?", "20261130T000000-abcd", "f" * 16)
    with trace.step("embed"):
        pass
    trace.stage("candidates", sources={"dense": 3})
    return trace


def test_a_stored_trace_comes_back(tmp_path: Path) -> None:
    trace = make()
    store_trace(trace, SitePaths(tmp_path, "demo"), keep=10)
    assert trace.stored
    loaded = load_trace(tmp_path, "demo", trace.trace_id)
    assert loaded == json.loads(json.dumps(trace.as_dict()))
    assert list((tmp_path / "demo" / "traces").iterdir()) == [
        tmp_path / "demo" / "traces" / f"{trace.trace_id}.json"
    ]


def test_a_store_that_cannot_be_written_keeps_the_trace_in_memory(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file where the directory should be")
    trace = make()
    store_trace(trace, SitePaths(tmp_path, "demo"), keep=10)
    assert not trace.stored
    assert trace.storage.startswith("in memory only")


def test_old_traces_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.answer.trace.secrets.randbelow", lambda n: 0)
    paths = SitePaths(tmp_path, "demo")
    ids = []
    for second in range(5):
        trace = make()
        trace.trace_id = f"20261130T00000{second}-{os.urandom(4).hex()}"
        ids.append(trace.trace_id)
        store_trace(trace, paths, keep=3)
    assert sorted(p.stem for p in paths.traces.iterdir()) == ids[2:]


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "20261130T000000-zzzzzzzz"])
def test_a_malformed_id_is_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(BadInputError, match="not a trace id"):
        load_trace(tmp_path, "demo", bad)


def test_unknown_and_damaged_traces_are_named(tmp_path: Path) -> None:
    name = "20261130T000000-00000000"
    with pytest.raises(BadInputError, match=name):
        load_trace(tmp_path, "demo", name)
    file = tmp_path / "demo" / "traces" / f"{name}.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"trace_id": ')
    with pytest.raises(SitequestError, match="damaged"):
        load_trace(tmp_path, "demo", name)
