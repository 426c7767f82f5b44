"""The documents' tables of words are those of the code, and every list of words has one."""

import pytest

from damascus.domain.described import Described
from tests.rules.tables import MARKED, TABLES, documents, remade


@pytest.mark.req("D11", "T7", "W3")
def test_every_table_in_the_documents_is_that_of_the_code() -> None:
    """Write them anew: python -m tests.rules.tables"""
    assert [path.name for path in documents() if remade(path.read_text()) != path.read_text()] == []


def test_every_table_stands_in_exactly_one_document() -> None:
    shown = [found["name"] for path in documents() for found in MARKED.finditer(path.read_text())]
    assert sorted(shown) == sorted(TABLES)


def test_a_word_needs_its_sentence() -> None:
    with pytest.raises(TypeError, match="needs its sentence"):

        class Colour(Described):
            RED = "red"

    class Shape(Described):
        ROUND = "round", "it rolls"

    assert Shape("round") is Shape.ROUND
    assert (Shape.ROUND, f"{Shape.ROUND}", Shape.ROUND.means) == ("round", "round", "it rolls")
