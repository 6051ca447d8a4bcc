"""`bench ask`: warm questions on a kept snapshot, seconds by step, the models' share.

Needs the snapshot that `bench first-sync` leaves for the site. One process, one question after the
other; the first questions warm up and are not counted.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from pipelines.benchmarks.data import SITES
from pipelines.benchmarks.registry import Options
from retrieval.errors import BadInputError

WARM_UP = 3
# Written for this benchmark; what they ask for matters little, that they differ does.
QUESTIONS = (
    "How many units does the honors thesis course carry?",
    "Who may enroll in the graduate seminar on linear algebra?",
    "Which courses are required before advanced organic chemistry?",
    "Is there a minor in environmental science?",
    "What are the requirements for the doctoral qualifying examination?",
    "Which professors teach in the department of philosophy?",
    "How is the admission of transfer students decided?",
    "What does the first course in statistics cover?",
    "Can a course be repeated for credit?",
    "Which electives count toward the film and media major?",
    "What is the deadline for filing a dissertation?",
    "How many upper division courses does the economics major need?",
    "Where do I find the policy on incomplete grades?",
    "Which departments offer courses on machine learning?",
    "What languages can be studied in the summer?",
    "Does the music program require an audition?",
    "Compare the master's programs in public health and public policy.",
    "Who is the chair of the linguistics department?",
    "What is the grading option for the freshman seminar?",
    "Which laboratory courses go with introductory physics?",
)


def run(options: Options) -> dict[str, Any]:
    """Measure ``--site`` (default ucsd). Raises BadInputError when its snapshot is not there."""
    from retrieval import open_index
    from retrieval.answer.trace import MODEL_STEPS, load_trace

    name = options.site or "ucsd"
    if name not in SITES:
        raise BadInputError(
            f"There is no measured site {name!r}.", f"There are: {', '.join(SITES)}."
        )
    site = SITES[name]
    root = options.home / site.name / "data"
    if not (root / site.name / "LATEST.json").exists():
        raise BadInputError(
            f"There is no snapshot of {site.name}.",
            f"Make it first: sitequest bench first-sync --site {name}.",
        )
    index = open_index(root, site.name)
    for question in QUESTIONS[:WARM_UP]:
        index.ask(question)
    walls: list[float] = []
    steps: dict[str, list[float]] = {}
    for question in QUESTIONS[WARM_UP:]:
        began = time.perf_counter()
        answer = index.ask(question)
        walls.append(time.perf_counter() - began)
        steps_taken = load_trace(root, site.name, answer.trace_id)["steps"]
        for step, seconds in steps_taken.items():
            steps.setdefault(step, []).append(seconds)
    model = sum(sum(steps.get(step, ())) for step in MODEL_STEPS)
    return {
        "site": site.name,
        "n": len(walls),
        "p50_ms": round(1000 * statistics.median(walls), 1),
        "p95_ms": round(1000 * statistics.quantiles(walls, n=20)[-1], 1),
        "steps_ms": {
            step: round(1000 * statistics.fmean(values), 2) for step, values in steps.items()
        },
        "model_share": round(model / sum(walls), 3),
    }
