import itertools

from prober.lab.customers import Customers
from prober.lab.tokenizer import Tokenizer


def test_customers_write_ordinary_english_of_bounded_size():
    """Prompts are plain English between half and twice the typical size, and end in an ordinary question."""
    tokenizer = Tokenizer()
    for request in itertools.islice(Customers(5, 1_000, 1).requests(), 12):
        ((role, text),) = request.messages
        assert role == "user"
        assert 350 < len(tokenizer.encode(text)) < 2_600
        assert text.rstrip().endswith(".")
        assert text.count("the ") > 5


def test_the_population_is_seeded():
    """The same seed brings the same customers, another seed others."""
    first, again, other = (next(Customers(0, 1_000, seed).requests()).messages for seed in (1, 1, 2))
    assert first == again != other
