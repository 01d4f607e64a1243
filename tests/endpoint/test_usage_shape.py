"""Token counts from wherever a server puts them."""

import pytest

from prober.domain.observation import Usage
from prober.endpoint.usage_shape import read_usage


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ({}, None),
        ({"usage": None}, None),
        ({"usage": {}}, None),
        ({"usage": "many"}, None),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}},
            Usage(prompt_tokens=9, completion_tokens=2),
        ),
        (
            {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}},
            Usage(prompt_tokens=9, cached_tokens=0),
        ),
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": None}}, Usage(prompt_tokens=9)),
        ({"usage": {"prompt_tokens": 9, "reasoning_tokens": 4}}, Usage(prompt_tokens=9, reasoning_tokens=4)),
        (
            {
                "usage": {
                    "prompt_tokens": 9,
                    "completion_tokens_details": {"reasoning_tokens": 3},
                    "reasoning_tokens": 4,
                }
            },
            Usage(prompt_tokens=9, reasoning_tokens=3),
        ),
        ({"usage": {"prompt_tokens": 9, "cached_tokens": 8}}, Usage(prompt_tokens=9, cached_tokens=8)),
        ({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}}, Usage(prompt_tokens=9, cached_tokens=8)),
        (
            {
                "usage": {
                    "input_tokens": 5,
                    "output_tokens": 2,
                    "cache_read_input_tokens": 3,
                    "cache_creation_input_tokens": 1,
                }
            },
            Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=3),
        ),
        (
            {
                "usage": {
                    "input_tokens": 9,
                    "input_tokens_details": {"cached_tokens": 3},
                    "output_tokens_details": {"reasoning_tokens": 4},
                }
            },
            Usage(prompt_tokens=9, cached_tokens=3, reasoning_tokens=4),
        ),
        (
            {"timings": {"cache_n": 3, "prompt_n": 6, "predicted_n": 2}},
            Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=3),
        ),
        ({"timings": {"prompt_n": 6}}, None),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2}, "timings": {"cache_n": 3, "prompt_n": 6}},
            Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=3),
        ),
        (
            {
                "usage": {"prompt_tokens": 9},
                "sglext": {"cached_tokens_details": {"device": 3, "host": 4, "storage": 0}},
            },
            Usage(prompt_tokens=9, cached_tokens=7),
        ),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": "2", "cached_tokens": True}}, None),
    ],
)
def test_usage_of_every_server(fields: dict[str, object], usage: Usage | None):
    """Every documented place is read; a count that is not reported is None and never 0."""
    assert read_usage(fields) == usage
