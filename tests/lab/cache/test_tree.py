import hypothesis
from hypothesis import strategies as st

from prober.lab.cache.tree import Node, PrefixTree
from prober.lab.page_keys import chained


def grown(*paths: str) -> tuple[PrefixTree, dict[str, list[bytes]]]:
    """A tree that holds these paths, a letter a page, added in this order; and the keys of each."""
    tree = PrefixTree()
    keys = {path: chained(b"root", [letter.encode() for letter in path]) for path in paths}
    for path in paths:
        grow(tree, keys[path], path)
    return tree, keys


def grow(tree: PrefixTree, keys: list[bytes], path: str) -> None:
    for depth in reversed(range(len(path))):
        if not tree.touch(keys[depth + 1]):
            tree.add(Node(keys[depth + 1], keys[depth], path[depth].encode(), page=0))


def held_letters(nodes: list[Node]) -> str:
    return b"".join(node.ids for node in nodes).decode()


def test_the_longest_beginning_is_found():
    """A look-up ends at the first page that is not there, and pages that paths share are there once."""
    tree, keys = grown("abcd", "abxy")
    assert len(tree) == 6
    assert held_letters(tree.match(keys["abxy"][1:])) == "abxy"
    longer = chained(b"root", [b"a", b"b", b"x", b"q", b"y"])
    assert held_letters(tree.match(longer[1:])) == "abx"
    assert tree.match(chained(b"other", [b"a"])[1:]) == []


def test_leaves_go_first_and_what_was_used_longest_ago():
    """Eviction shortens the path used longest ago from its end, and never takes a page before its followers."""
    tree, keys = grown("abcd", "abxy")
    assert held_letters(tree.evict(2)) == "dc"
    assert held_letters(tree.match(keys["abcd"][1:])) == "ab"
    assert held_letters(tree.evict(4)) == "yxba"
    assert len(tree) == tree.idle == 0


def test_held_nodes_stay():
    """A path that is held once or twice is not idle before everyone has let go of it."""
    tree, keys = grown("ab", "cd")
    path = tree.match(keys["ab"][1:])
    tree.hold(path)
    tree.hold(path)
    assert tree.idle == 2
    assert held_letters(tree.evict(2)) == "dc"
    tree.let_go(path)
    assert tree.idle == 0
    tree.let_go(path)
    assert held_letters(tree.evict(2)) == "ba"


def test_the_latest_child_of_a_prefix_is_known():
    """What follows a prefix can be found without its key, until it is evicted."""
    tree, keys = grown("abc", "abd")
    parent = keys["abc"][2]
    assert tree.child(parent).ids == b"d"
    for node in tree.evict(2):
        assert node.ids in {b"c", b"d"}
    assert tree.child(parent) is None


@hypothesis.given(
    st.lists(st.tuples(st.sampled_from(["use", "hold", "let_go", "evict"]), st.integers(0, 5)), max_size=60)
)
def test_no_page_is_ever_idle_longer_than_one_that_follows_it(steps: list[tuple[str, int]]):
    """Whatever is used, held, let go of, evicted: what is there of a path is its beginning, and held pages stay."""
    paths = ("abcd", "abce", "abxy", "pqrs", "pq", "z")
    tree, keys = grown()
    held: list[tuple[int, list[Node]]] = []
    for step, number in steps:
        path = paths[number]
        own = keys.setdefault(path, chained(b"root", [letter.encode() for letter in path]))
        if step == "use":
            grow(tree, own, path)
        elif step == "hold":
            nodes = tree.match(own[1:])
            tree.hold(nodes)
            held.append((number, nodes))
        elif step == "let_go" and held:
            tree.let_go(held.pop(number % len(held))[1])
        elif step == "evict":
            tree.evict(min(number, tree.idle))
        for place, nodes in held:
            assert tree.match(keys[paths[place]][1:])[: len(nodes)] == nodes
        for key_list in keys.values():
            there = [bool(tree.match([key])) for key in key_list[1:]]
            assert there == sorted(there, reverse=True)
