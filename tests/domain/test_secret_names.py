"""Which variables a command reads from outside."""

import pytest

from damascus.domain.secret_names import variables_in


@pytest.mark.req("A2.3")
@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("pytest tests/test_a.py", []),
        ("STRIPE=$STRIPE_KEY pytest", ["STRIPE_KEY"]),
        ('curl -H "key: ${API_KEY}" $BASE_URL', ["API_KEY", "BASE_URL"]),
        ("echo '$NOT_READ' \\$NOR_THIS", []),
        ('echo "it\'s $READ_ONE"', ["READ_ONE"]),
        ("PORT=80; curl localhost:$PORT", []),
        ("for NAME in a b; do echo $NAME; done", []),
        ("echo ${WITH_DEFAULT:-x} ${OTHER-y} $lower $1 $?", []),
        ("cd $HOME && ls $TMPDIR $DAMASCUS_PORT", []),
        ("echo $TWICE $TWICE", ["TWICE"]),
    ],
)
def test_the_names_that_it_reads(command: str, names: list[str]) -> None:
    assert variables_in(command) == names
