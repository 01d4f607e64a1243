import hypothesis
from hypothesis import strategies as st

from prober.lab.page_keys import chained, namespace

texts = st.text(max_size=6)


@hypothesis.given(st.tuples(texts, texts), st.tuples(texts, texts))
@hypothesis.example(("ab", "c"), ("a", "bc"))
@hypothesis.example(("a", ""), ("", "a"))
def test_namespaces_differ_wherever_tenant_or_salt_do(one: tuple[str, str], other: tuple[str, str]):
    """Two pairs of tenant and salt have the same namespace only when both parts are equal."""
    assert (namespace(*one) == namespace(*other)) == (one == other)


@hypothesis.given(
    st.lists(st.sampled_from([b"p", b"q"]), max_size=8), st.lists(st.sampled_from([b"p", b"q"]), max_size=8)
)
def test_keys_are_equal_as_far_as_contents_are(one: list[bytes], other: list[bytes]):
    """A page's key equals another's only where every page up to it is the same."""
    keys = [chained(b"root", pages) for pages in (one, other)]
    assert [len(each) for each in keys] == [len(one) + 1, len(other) + 1]
    for place, (left, right) in enumerate(zip(*keys, strict=False)):
        assert (left == right) == (one[:place] == other[:place])


def test_keys_hang_on_their_root():
    """The same pages under another namespace have other keys."""
    assert not set(chained(namespace("a", ""), [b"p", b"q"])) & set(chained(namespace("b", ""), [b"p", b"q"]))
