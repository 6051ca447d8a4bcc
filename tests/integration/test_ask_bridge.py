"""Bridges and repeated parts over a small site: what only relations and site facts can answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval import open_index
from retrieval.config import AnswerConfig, RetrievalConfig
from retrieval.index.api import Index
from retrieval.modes.bridge import bridges
from tests.support.built import build_site
from tests.support.tiny_site import pages


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    root: Path = tmp_path_factory.mktemp("alder-bridge")
    html = pages(1)
    botany = html["/departments/botany"]
    lead = "<p>The head of department is <a href='/people/head'>Ines Carvalho</a>."
    facts = "<dl><dt>Head of department</dt><dd><a href='/people/head'>Ines Carvalho</a></dd></dl>"
    assert lead in botany
    html["/departments/botany"] = botany.replace(lead, f"{facts}<p>")
    footer = "<footer>Alder College, 4 Mill Lane, Ostley."
    switchboard = f"{footer}<p>Switchboard: 01632 960 400</p>"
    html = {path: page.replace(footer, switchboard) for path, page in html.items()}
    build_site(root, "alder", html)
    return open_index(root, "alder")


def test_the_holder_of_a_role_is_asked_instead(index: Index) -> None:
    question = "What is the telephone of the head of the Department of Botany?"
    found = index.retrieve(question)
    assert found.mode == "reasoning"
    over = found.trace.stages[0]["bridges"]
    assert [bridge["name"] for bridge in over] == ["Ines Carvalho"]
    assert over[0]["question"] == "What is the telephone of Ines Carvalho?"
    assert any("01632 960 455" in block.text for block in found.blocks[:3])
    assert "01632 960 455" in index.ask(question).answer


def test_a_question_that_names_no_relation_has_no_bridge(index: Index) -> None:
    graph = index._pinned.entities
    question = "What does the Department of Botany keep?"
    assert bridges(question, graph.gazetteer.find(question), graph, 2) == []


def test_a_fact_of_the_footer_is_found_and_cited(index: Index) -> None:
    # On eight pages every word is rare, so abstention is not what is tested here.
    config = RetrievalConfig(answer=AnswerConfig(abstain_below=0))
    willing = Index(index.store, config=config)
    answer = willing.ask("What is the number of the switchboard?")
    assert "01632 960 400" in answer.answer
    assert "01632 960 400" in answer.claims[0].citations[0].quote
