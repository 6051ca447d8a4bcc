"""Fit the constants of abstention and write them beside the reader.

    python -m evaluation.calibration.fit --root .sitequest \\
        --set demo=pipelines/demo/questions.jsonl@v1 --set ucsd=evaluation/calibration/ucsd.jsonl

A set is SITE=FILE or SITE=FILE@LABEL: the site's published snapshot, or the one with that label, is
asked (mode auto, nothing stored). How and on what: README.md in this directory.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from retrieval.answer.abstain import FEATURES, FILE, Calibration
from retrieval.errors import BadInputError, SitequestError
from retrieval.index.api import Index, open_index

RIDGE = 1.0
FOLDS = 10
# The direction each feature speaks in: a weight against it is an accident of few questions.
SIGNS = np.array([-1.0 if name.endswith("missing") else 1.0 for name in FEATURES])


@dataclass(frozen=True)
class Example:
    """One question with its features and whether the snapshot answers it."""

    source: str
    question: str
    answerable: bool
    features: tuple[float, ...]


def load_set(path: Path, label: str | None) -> list[tuple[str, bool]]:
    """Return (question, answerable) of a JSONL file.

    Lines carry ``answerable``, or ``by_version`` (label → gold or null), or ``answers``. Raises
    BadInputError naming the line that carries none of them.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row = json.loads(line)
        if "answerable" in row:
            found.append((row["question"], bool(row["answerable"])))
        elif "by_version" in row:
            if label is None:
                raise BadInputError(f"{path}:{number} has versions.", "Write SITE=FILE@LABEL.")
            gold = row["by_version"].get(label)
            found.append((row["question"], bool(gold and gold["answers"])))
        elif "answers" in row:
            found.append((row["question"], bool(row["answers"])))
        else:
            raise BadInputError(f"{path}:{number} does not say whether it can be answered.")
    return found


def gather(index: Index, questions: list[tuple[str, bool]], source: str) -> list[Example]:
    """Ask each question and keep its features; one without any evidence is left out."""
    examples = []
    for number, (question, answerable) in enumerate(questions, start=1):
        response, _ = index.examine(question)
        values = response.verdict.features
        if values:
            row = tuple(values[name] for name in FEATURES)
            examples.append(Example(source, question, answerable, row))
        sys.stderr.write(f"\r{source}: {number}/{len(questions)}")
    sys.stderr.write("\n")
    return examples


def fit_logistic(x: np.ndarray, y: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """Return weights and, last, the bias (not penalised), by Newton's method.

    Both classes weigh the same, however many questions each has.
    """
    design = np.hstack([x, np.ones((len(x), 1))])
    balance = np.where(y == 1, 0.5 / max(y.mean(), 1e-9), 0.5 / max(1 - y.mean(), 1e-9))
    penalty = np.diag([ridge] * x.shape[1] + [1e-9])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (balance * (p - y)) + penalty @ weights
        hessian = (design * (balance * p * (1 - p))[:, None]).T @ design + penalty
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def fit_signed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return `fit_logistic` weights over the features whose weight has its sign, 0 for the others.

    The feature that is most wrong is left out and the rest fitted again until none is wrong.
    """
    used = np.ones(x.shape[1], dtype=bool)
    while True:
        weights = np.zeros(x.shape[1] + 1)
        weights[np.append(used, True)] = fit_logistic(x[:, used], y)
        wrong = -weights[:-1] * SIGNS
        if wrong.max() <= 0:
            return weights
        used[int(wrong.argmax())] = False


def best_threshold(p: np.ndarray, y: np.ndarray) -> float:
    """Return the threshold with the best F1 of abstaining.

    Of equal ones the one in the widest gap between scores is taken: it is the least accidental.
    """
    cuts = np.unique(np.concatenate([[0.0], p, [1.0]]))
    middles = (cuts[1:] + cuts[:-1]) / 2
    score = np.array([abstain_f1(p >= cut, y) for cut in middles])
    best = np.flatnonzero(score >= score.max() - 1e-12)
    widths = cuts[best + 1] - cuts[best]
    return float(middles[best[int(widths.argmax())]])


def abstain_f1(said: np.ndarray, y: np.ndarray) -> float:
    """Return the F1 of abstaining on unanswerable questions (0 when none is refused rightly)."""
    right = float((~said & (y == 0)).sum())
    return 2 * right / max(1.0, float((~said).sum() + (y == 0).sum()))


def balanced(said: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of the recalls of answerable and unanswerable questions."""
    return float((said[y == 1].mean() + (~said[y == 0]).mean()) / 2)


def fit(examples: list[Example], reranker: str, now: datetime) -> Calibration:
    """Fit on all examples; the scores are cross-validated, the threshold chosen inside each fold.

    All versions of one question are in one fold.
    """
    raw = np.array([e.features for e in examples])
    y = np.array([float(e.answerable) for e in examples])
    if len(set(y.tolist())) < 2:
        raise BadInputError("The sets hold only one kind of question.", "Add the other kind.")
    mean, scale = raw.mean(0), np.where(raw.std(0) > 1e-9, raw.std(0), 1.0)
    x = (raw - mean) / scale
    order = {text: at for at, text in enumerate(dict.fromkeys(e.question for e in examples))}
    folds = np.array([order[e.question] for e in examples]) % FOLDS
    said = np.zeros(len(y), dtype=bool)
    held = np.zeros(len(y))
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        weights = fit_signed(x[train], y[train])
        threshold = best_threshold(_predict(x[train], weights), y[train])
        held[test] = _predict(x[test], weights)
        said[test] = held[test] >= threshold
    weights = fit_signed(x, y)
    abstained = ~said
    scores = {
        "cv_balanced_accuracy": balanced(said, y),
        "cv_abstain_precision": float((y[abstained] == 0).mean()) if abstained.any() else 0.0,
        "cv_abstain_recall": float(abstained[y == 0].mean()),
        "cv_auc": _auc(held, y),
    }
    return Calibration(
        fitted=now.date().isoformat(),
        data={name: sum(e.source == name for e in examples) for name in _sources(examples)},
        reranker=reranker,
        features=FEATURES,
        mean=tuple(round(float(v), 6) for v in mean),
        scale=tuple(round(float(v), 6) for v in scale),
        weights=tuple(round(float(v), 6) for v in weights[:-1]),
        bias=round(float(weights[-1]), 6),
        threshold=round(best_threshold(_predict(x, weights), y), 4),
        scores={name: round(value, 4) for name, value in scores.items()},
    )


def _predict(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    p: np.ndarray = 1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1])))
    return p


def _auc(p: np.ndarray, y: np.ndarray) -> float:
    positive, negative = p[y == 1], p[y == 0]
    wins = (positive[:, None] > negative[None, :]).mean()
    ties = (positive[:, None] == negative[None, :]).mean()
    return float(wins + ties / 2)


def _sources(examples: list[Example]) -> list[str]:
    return sorted({e.source for e in examples})


def main(argv: list[str] | None = None) -> int:
    """Run the fit; return the exit code."""
    parser = argparse.ArgumentParser(description="Fit the constants of abstention.")
    parser.add_argument("--root", type=Path, required=True, help="data root with the snapshots")
    parser.add_argument("--set", action="append", required=True, metavar="SITE=FILE[@LABEL]")
    parser.add_argument("--out", type=Path, default=FILE, help="where the constants are written")
    parser.add_argument("--show-errors", action="store_true", help="list misjudged questions")
    options = parser.parse_args(argv)
    try:
        examples: list[Example] = []
        reranker = ""
        for item in options.set:
            site, _, rest = item.partition("=")
            file, _, label = rest.partition("@")
            index = open_index(options.root, site, as_of=label or None)
            questions = load_set(Path(file), label or None)
            examples += gather(index, questions, f"{site}@{label}" if label else site)
            reranker = index.reranker_sha256
        constants = fit(examples, reranker, datetime.now(UTC))
    except SitequestError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    options.out.write_text(constants.model_dump_json(indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(constants.model_dump_json(indent=1) + "\n")
    if options.show_errors:
        _show_errors(examples, constants)
    return 0


def _show_errors(examples: list[Example], constants: Calibration) -> None:
    from retrieval.answer.abstain import judge

    for e in examples:
        p = judge(dict(zip(FEATURES, e.features, strict=True)), constants).probability
        if (p >= constants.threshold) != e.answerable:
            kind = "refused" if e.answerable else "answered"
            values = " ".join(f"{v:.2f}" for v in e.features)
            sys.stderr.write(f"{kind} {p:.2f} [{values}] {e.source}: {e.question}\n")


if __name__ == "__main__":
    sys.exit(main())
