"""Identities of columns are those of single rows."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from assets.extraction.idcolumns import digest_column
from retrieval.snapshot import ids


@given(st.lists(st.tuples(*[st.text(max_size=20)] * 4, st.integers(0, 9)), max_size=5))
def test_a_column_of_fact_ids(rows: list[tuple[str, str, str, str, int]]) -> None:
    columns = ["block", "subject", "label", "value", "occurrence"]
    frame = pl.DataFrame(
        [(*parts, str(n)) for *parts, n in rows], schema=dict.fromkeys(columns, pl.String),
        orient="row",
    )  # fmt: skip
    assert digest_column(frame, "fact", columns).to_list() == [ids.fact_id(*row) for row in rows]
