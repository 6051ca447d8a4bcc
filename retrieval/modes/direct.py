"""Mode direct: blocks by vector ∪ blocks by BM25."""

from __future__ import annotations

import numpy as np

from retrieval.config import DirectConfig
from retrieval.modes.candidates import Pool
from retrieval.modes.question import Question
from retrieval.modes.site import SiteView


def direct(site: SiteView, question: Question, vector: np.ndarray, config: DirectConfig) -> Pool:
    """Return the candidates of ``question``, whose embedding is ``vector``."""
    sources = {"dense": site.search.dense(vector, config.dense_k)}
    if config.lexical_k:
        sources["lexical"] = site.search.lexical(question.text, config.lexical_k)
    return Pool(sources, {"question": question.text})
