from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.calibration.fit import (
    Example,
    abstain_f1,
    best_threshold,
    fit,
    fit_logistic,
    load_set,
)
from retrieval.answer.abstain import FEATURES, calibration, judge
from retrieval.errors import BadInputError
from retrieval.modes.coverage import Lexis, names_missing
from retrieval.modes.question import read_question, stems


def test_the_shipped_constants_say_when_and_on_what_they_were_fitted() -> None:
    constants = calibration()
    assert constants.features == FEATURES
    assert len(constants.weights) == len(constants.mean) == len(constants.scale) == len(FEATURES)
    assert sum(constants.data.values()) >= 160
    assert len(constants.reranker) == 64
    assert 0 < constants.threshold < 1


def test_more_evidence_never_lowers_the_probability() -> None:
    weak = dict.fromkeys(FEATURES, 0.0) | {
        "block_logit": -8.0,
        "span_logit": -8.0,
        "similarity": 0.75,
    }
    strong = weak | {
        "block_logit": 6.0,
        "span_logit": 6.0,
        "similarity": 1.1,
        "coverage": 1.0,
        "span_coverage": 1.0,
    }
    assert judge(weak, calibration()).probability < calibration().threshold
    assert judge(strong, calibration()).probability > calibration().threshold


def examples(noise: float) -> list[Example]:
    rng = np.random.default_rng(7)
    rows = []
    for number in range(80):
        answerable = number % 2 == 0
        values = rng.normal(0, noise, len(FEATURES))
        values[0] += 3.0 if answerable else -3.0
        rows.append(Example("made", f"q{number}", answerable, tuple(values)))
    return rows


def test_the_fit_separates_what_can_be_separated() -> None:
    constants = fit(examples(1.0), "sha", datetime(2026, 1, 1, tzinfo=UTC))
    assert constants.scores["cv_balanced_accuracy"] > 0.95
    assert constants.data == {"made": 80}
    assert constants.weights[0] == max(constants.weights)


def test_the_fit_needs_both_kinds() -> None:
    with pytest.raises(BadInputError):
        fit([e for e in examples(1.0) if e.answerable], "sha", datetime(2026, 1, 1, tzinfo=UTC))


def test_the_bias_is_not_penalised() -> None:
    weights = fit_logistic(np.zeros((4, 2)), np.array([1.0, 1.0, 1.0, 0.0]))
    assert np.allclose(weights, 0, atol=1e-6)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=4, max_size=40))
def test_the_threshold_is_no_worse_than_any_cut_between_scores(rows) -> None:
    p, y = np.array([r[0] for r in rows]), np.array([float(r[1]) for r in rows])
    if len(set(y)) < 2:
        return
    cut = best_threshold(p, y)

    def quality(at: float) -> float:
        return abstain_f1(p >= at, y)

    assert all(quality(cut) >= quality(at) - 1e-9 for at in np.linspace(0.001, 0.999, 50))


def test_question_sets_are_read_in_their_three_forms(tmp_path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(
        '{"question": "a", "answerable": false}\n'
        '{"question": "b", "by_version": {"v1": null, "v2": {"answers": [["x"]]}}}\n'
        '{"question": "c", "answers": []}\n'
    )
    assert load_set(file, "v2") == [("a", False), ("b", True), ("c", False)]
    assert load_set(file, "v1")[1] == ("b", False)
    with pytest.raises(BadInputError, match=r"q\.jsonl:2"):
        load_set(file, None)


def test_coverage_weighs_rare_words_more() -> None:
    idf = {"fee": 1.0, "glasshouse": 4.0}
    lexis = Lexis.of(read_question("What is the fee of the glasshouse?"), lambda w: idf[w])
    assert lexis.coverage(stems("the fees")) == pytest.approx(0.2)
    assert lexis.coverage(stems("Glasshouses and fees")) == pytest.approx(1.0)
    assert lexis.heaviest_missing(stems("fees")) == pytest.approx(0.8)
    assert Lexis.of(read_question("what is it"), lambda w: 1.0).coverage(stems("x")) == 0.0


def test_names_count_as_a_whole() -> None:
    question = read_question("Does Owen Marsh work with Helen Cole?")
    assert names_missing(question, stems("Owen Marsh and Helen Brown")) == 0.5
