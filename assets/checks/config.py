"""What a candidate may lose or gain against its parent before a person has to look."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ChecksConfig(BaseModel):
    """Limits of the checks of one site.

    The brake holds a candidate that lost more than a share of what its parent had; growth only
    warns. Shares are of the parent's count.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_drop: dict[str, float] = Field(
        {
            "live_pages": 0.25,
            "kept_blocks": 0.35,
            "kept_words": 0.35,
            "facts": 0.5,
            "entities": 0.5,
            "content_links": 0.5,
        },
        description="largest share that may be lost, by count; a greater loss holds the candidate",
    )
    max_growth: dict[str, float] = Field(
        {"live_pages": 1.0, "kept_blocks": 1.5},
        description="largest share that may be gained without a warning, by count",
    )
    min_base: int = Field(
        5, ge=1, description="a count below this in the parent is too small to judge a change of it"
    )
    max_block_tokens: int = Field(
        510,
        ge=1,
        description="most tokens of a kept text (the embedder's limit, specials left out)",
    )
    shown: int = Field(3, ge=1, description="examples named in the detail of a failed check")
