"""Every knob of answering, with its default and its meaning.

Scores named *fused*, *rerank* and *final* lie in 0..1 (see `retrieval.modes.fusion`). A change of a
value changes `fingerprint`, which every trace carries.
"""

from __future__ import annotations

from hashlib import sha256

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitsConfig(_Section):
    """What a question may be."""

    max_characters: int = Field(2000, ge=1, description="longest question, in characters")
    max_words: int = Field(300, ge=1, description="longest question, in words")


class FusionConfig(_Section):
    """Fusion of the sources of candidates: see `retrieval.modes.fusion` for the formula."""

    rank_constant: float = Field(20.0, gt=0, description="rank at which the rank part is halved")
    rank_share: float = Field(0.5, ge=0, le=1, description="rank part; the rest is the score part")
    weights: dict[str, float] = Field(
        {
            "dense": 1.0,
            "lexical": 0.7,
            "subquestion": 0.8,
            "pages": 0.6,
            "neighbours": 0.6,
            "entities": 1.0,
            "facts": 0.6,
            "site facts": 0.3,
        },
        description="weight of a source, by name (a source `name:n` has the weight of `name`)",
    )
    quota: int = Field(4, ge=0, description="best candidates of each source sure to be reranked")


class DirectConfig(_Section):
    """Mode direct: dense and lexical candidates."""

    dense_k: int = Field(50, ge=1, description="candidates by vector")
    lexical_k: int = Field(50, ge=0, description="candidates by BM25; 0 turns BM25 off")


class NavigationConfig(_Section):
    """Mode navigation: sub-questions, pages, linked neighbours."""

    max_subquestions: int = Field(3, ge=0, description="sub-questions beside the question itself")
    pages: int = Field(5, ge=1, description="pages kept for each (sub-)question")
    neighbours: int = Field(8, ge=0, description="linked pages added in all")
    anchor_weight: float = Field(0.5, ge=0, le=1, description="anchor words' share of a link score")
    blocks_per_page: int = Field(6, ge=1, description="quota of candidates from one page")
    subquestion_k: int = Field(20, ge=1, description="candidates by vector for a sub-question")


class ReasoningConfig(_Section):
    """Mode reasoning: entities, a bounded walk, scored blocks."""

    max_entities: int = Field(6, ge=1, description="entities taken from the question")
    neighbours: int = Field(10, ge=0, description="entities followed from each entity and hop")
    hops: int = Field(2, ge=0, le=2, description="hops over relations")
    bridges: int = Field(
        2, ge=0, description="entities asked instead of a named one and its named relation"
    )
    bridge_k: int = Field(15, ge=1, description="candidates by vector for a bridge")
    decay: float = Field(0.5, gt=0, le=1, description="weight of an entity per hop")
    max_blocks: int = Field(400, ge=1, description="blocks scored by similarity")
    keep: int = Field(50, ge=1, description="candidates kept")
    similarity: float = Field(0.55, ge=0, description="weight of similarity to the question")
    coverage: float = Field(0.30, ge=0, description="weight of covered entities")
    conciseness: float = Field(0.15, ge=0, description="weight of brevity")
    coverage_cap: float = Field(3.0, gt=0, description="entity weight that counts as full coverage")
    concise_words: int = Field(200, ge=1, description="words at which brevity counts nothing")
    same_page_penalty: float = Field(
        0.05, ge=0, description="taken off for each better block of the page"
    )


class RerankConfig(_Section):
    """The cross-encoder: how many it reads, and its share of the final score."""

    enabled: bool = Field(True, description="false ranks by the fused score alone")
    pool: int = Field(28, ge=1, description="candidates it reads for a question")
    share: float = Field(0.75, ge=0, le=1, description="its share of the final score")
    temperature: float = Field(3.0, gt=0, description="logits are divided by it before the sigmoid")
    max_words: int = Field(140, ge=8, description="words of the block's text it is given")


class ContextConfig(_Section):
    """What the reader is given."""

    blocks: int = Field(10, ge=1, description="most blocks given to the reader")
    token_budget: int = Field(1500, ge=1, description="most tokens given to the reader")
    same_page_penalty: float = Field(
        0.02, ge=0, description="taken off the final score for each better block of the page"
    )


class AnswerConfig(_Section):
    """The extractive reader."""

    read_blocks: int = Field(8, ge=1, description="blocks whose spans are candidates")
    max_spans: int = Field(32, ge=1, description="spans the cross-encoder reads")
    max_claims: int = Field(3, ge=1, description="quotes of a question for one thing")
    max_items: int = Field(30, ge=1, description="quotes of a question for a list")
    whole_rows: int = Field(
        8, ge=1, description="rows up to which a table is quoted whole when no row is singled out"
    )
    claim_margin: float = Field(
        0.12, ge=0, description="a further quote may score this much below the best"
    )
    quote_words: int = Field(80, ge=8, description="longest quote, in words")
    abstain_below: float | None = Field(
        None, description="probability of being answered below which it abstains; null = fitted"
    )


class TraceConfig(_Section):
    """The stored trace of a question."""

    store: bool = Field(True, description="write traces/<id>.json in the site's directory")
    candidates: int = Field(60, ge=1, description="candidates kept per stage")
    keep: int = Field(2000, ge=1, description="trace files kept; older ones are removed")


class RetrievalConfig(_Section):
    """All of it."""

    limits: LimitsConfig = LimitsConfig()
    fusion: FusionConfig = FusionConfig()
    direct: DirectConfig = DirectConfig()
    navigation: NavigationConfig = NavigationConfig()
    reasoning: ReasoningConfig = ReasoningConfig()
    rerank: RerankConfig = RerankConfig()
    context: ContextConfig = ContextConfig()
    answer: AnswerConfig = AnswerConfig()
    trace: TraceConfig = TraceConfig()

    @property
    def fingerprint(self) -> str:
        """Return a hash of all values (hex, 16 characters)."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:16]
