from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assets.parsing.split import halve, size, split_words
from assets.parsing.words import count_words

WORDS = st.lists(
    st.sampled_from(["one", "two.", 'three!"', "汉字。", "四", "x" * 70, "a,", "end;"]), max_size=80
)
TEXTS = st.builds(lambda words, gap: gap.join(words), WORDS, st.sampled_from([" ", "\n", " \n "]))


@given(TEXTS, st.integers(1, 30), st.booleans())
def test_parts_fit_and_give_the_text_again(text: str, limit: int, lines: bool) -> None:
    parts = split_words(text, limit, lines=lines)
    assert "".join(sep + part for sep, part in parts) == text
    assert all(not sep.strip() for sep, _ in parts)
    assert all(size(part) <= limit for _, part in parts) or text.strip() == ""


@given(TEXTS.filter(lambda text: len(text.strip()) > 1))
def test_halves_are_shorter_and_lose_no_character(text: str) -> None:
    first, second = halve(text.strip())
    assert first
    assert second
    assert "".join((first + second).split()) == "".join(text.split())


def test_sentences_stay_whole_and_parts_are_even() -> None:
    sentence = "This sentence has exactly eight words in it. "
    parts = [part for _, part in split_words((sentence * 25).strip(), 150)]
    assert len(parts) == 2
    assert all(part.endswith("it.") for part in parts)
    assert abs(size(parts[0]) - size(parts[1])) <= 8


def test_code_is_cut_at_lines() -> None:
    code = "\n".join(f"    value_{n} = compute(n, {n})" for n in range(100)) + "\n"
    parts = split_words(code, 50, lines=True)
    assert "".join(sep + part for sep, part in parts) == code
    assert all(part.startswith("    value_") for _, part in parts)


def test_cjk_characters_count_one_each() -> None:
    assert count_words("汉字 and かな") == 5
    assert count_words("한국어 문장") == 2
    assert count_words("  plain  words ") == 2
