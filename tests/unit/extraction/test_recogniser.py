"""spaCy as the recogniser: what it finds, one text at a time, and without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assets.extraction.ner import SpacyNer, Span
from retrieval.errors import SitequestError

TEXTS = [
    "Jane Smith of Stanford University met with John Doe in Paris.",
    "The library is open.",
    "He was born in Berlin and taught at Harvard University until 1968.",
]


@pytest.fixture(scope="module")
def ner() -> SpacyNer:
    return SpacyNer()


def test_spans_have_our_types(ner: SpacyNer) -> None:
    spans = ner(TEXTS[:1])[0]
    found = {(TEXTS[0][s.start : s.end], s.type) for s in spans}
    assert {("Jane Smith", "PERSON"), ("Stanford University", "ORG"), ("Paris", "PLACE")} <= found


def test_a_text_is_read_the_same_in_any_company(ner: SpacyNer) -> None:
    together = ner(TEXTS * 3)
    alone = [ner([text])[0] for text in TEXTS]
    assert together == alone * 3
    assert all(isinstance(span, Span) for spans in together for span in spans)


def test_time_is_accounted_for(ner: SpacyNer) -> None:
    before = ner.seconds
    ner(TEXTS)
    assert ner.seconds > before
    assert ner.load_seconds > 0


def test_nothing_is_loaded_for_nothing() -> None:
    idle = SpacyNer()
    assert idle([]) == []
    assert idle.load_seconds == 0


def test_a_missing_model_is_named_with_its_remedy() -> None:
    with pytest.raises(SitequestError, match=r"no_such_model.*not installed.*make setup"):
        SpacyNer("no_such_model")


def test_the_recogniser_does_not_load_torch() -> None:
    code = (
        "import sys\n"
        "from assets.extraction.ner import SpacyNer\n"
        "SpacyNer()(['Jane Smith met John Doe in Paris.'])\n"
        "assert 'spacy' in sys.modules and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
