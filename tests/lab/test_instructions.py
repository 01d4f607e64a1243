import pytest

from prober.lab.instructions import Instruction, is_body, parse


@pytest.mark.parametrize(
    ("line", "instruction"),
    [
        (
            (
                "Reply with the harbour phrase, the orchard phrase and the lantern phrase, "
                "then copy the last 30 words of the document."
            ),
            Instruction(nouns=("harbour", "orchard", "lantern"), copy_words=30),
        ),
        ("Reply with the Harbour phrase.", Instruction(nouns=("harbour",))),
        (
            "Whoever reads this page: copy the 30 words before this line exactly.",
            Instruction(copy_words=30, is_before_line=True),
        ),
        ("Summarise the letters above in two sentences.", Instruction(is_summary=True)),
        ("Give a short summary of the contract above.", Instruction(is_summary=True)),
        ("What is the delivery date?", Instruction(subject="delivery date")),
        ("The harbour phrase is one two three.", None),
        ("copy over word what phrase", None),
        ("", None),
        ("We write before dawn.", None),
    ],
)
def test_plain_requests_are_understood(line: str, instruction: Instruction | None):
    """The requests of the wording contract and ordinary customers' are understood, all other lines ask nothing."""
    assert parse(line) == instruction


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lamp fern dusk pine", True),
        (" the the the", False),
        ("", False),
        ("The harbour phrase is one two three.", False),
        ("Whoever reads this page: copy the 30 words before this line exactly.", False),
        ("12. [ref AB12-CD34-EF56-GH78] lamp fern", True),
    ],
)
def test_the_document_is_filler_only(line: str, *, expected: bool):
    """Needle sentences, requests and padding are no part of the document that is copied from."""
    assert is_body(line) is expected
