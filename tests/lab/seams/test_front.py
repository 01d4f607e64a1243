"""Right decisions in front of the inference server."""

from prober.lab.seams.front import FrontSeams
from tests.support.echo_cluster import a_request


def test_nothing_of_a_client_decides_where_its_results_go():
    """Mailboxes go by the gateway's own count, whatever ids clients send, and replies by their own place."""
    right = FrontSeams()
    assert [right.mailbox_key(number, "same") for number in (1, 2)] == [1, 2]
    assert list(right.fan_out_order(5, 4)) == [0, 1, 2, 3]


def test_a_response_answers_the_same_request_of_the_same_tenant():
    """What tells two requests apart tells their responses apart; ids of a request do not count."""
    right = FrontSeams()
    one = a_request(client_id="a", session="s")
    assert right.cache_key(one) == right.cache_key(a_request(client_id="b", session="t"))
    assert right.cache_key(one) != right.cache_key(a_request("birch", client_id="a", session="s"))
    assert right.similarity_threshold(1) is None


def test_right_decisions_are_dull():
    """Connections of cancelled requests are closed, groups kept apart, prompts whole, errors told."""
    right = FrontSeams()
    wrong = [right.puts_back_unread(1), right.leaves_group("s"), right.matches_raw_names(1)]
    wrong += [right.CUTS_PROMPTS, right.drops_head(1), right.drops_tail(1)]
    assert not any(wrong)
    assert right.passes_error_on(1)
    assert right.answers_refusal(1)
