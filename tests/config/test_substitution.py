"""References to the environment."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.config.document import Document
from prober.config.substitution import Substitution

ENVIRONMENT = {"NAME": "value", "EMPTY": "", "lower": "small", "NESTED": "${NAME}"}


def substituted(text: str) -> tuple[object, list[str]]:
    document = Document(content={"a": {"b": [text, 5, None]}}, keys={}, values={}, problems=[])
    substitution = Substitution(document, ENVIRONMENT)
    content = substitution.apply()
    return content["a"]["b"][0], [problem.message for problem in substitution.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${NAME}", "value"),
        ("<${NAME}${lower}>", "<valuesmall>"),
        ("${NOPE:-}", ""),
        ("${NOPE:-a:-b}", "a:-b"),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY}", ""),
        ("$$", "$"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$value"),
        ("$NAME 5$", "$NAME 5$"),
        ("${NESTED}", "${NAME}"),
    ],
)
def test_references_are_replaced_once(text: str, expected: str):
    """Values come from the environment as they are: what they hold is never looked into again."""
    assert substituted(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${NOPE}", "the environment variable NOPE is not set"),
        ("${nope}", "the environment variable named here is not set"),
        ("${", "a reference is written ${NAME} or ${NAME:-default}; write $$ for a dollar sign"),
        ("${1A}", "a reference is written ${NAME} or ${NAME:-default}; write $$ for a dollar sign"),
        ("${NAME-x}", "a reference is written ${NAME} or ${NAME:-default}; write $$ for a dollar sign"),
    ],
)
def test_references_that_cannot_be_filled_are_problems(text: str, message: str):
    """Unset variables and broken references say what to write."""
    assert substituted(text)[1] == [message]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=st.text(alphabet="${}:-NAMEx ", max_size=20))
def test_any_text_is_replaced_or_a_problem(text: str):
    """No text crashes, and text without a dollar sign stays as it is."""
    replaced, problems = substituted(text)
    assert isinstance(replaced, str)
    assert "$" in text or (replaced == text and not problems)
