"""Cron expressions are read as cron reads them."""

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.config.cron import CronError, CronTimes, parse_cron

ALL_DAY = {"minutes": (0,), "hours": (0,)}


@pytest.mark.parametrize(
    ("field", "days"),
    [
        ("0", (0,)),
        ("7", (0,)),
        ("sun", (0,)),
        ("SUN", (0,)),
        ("mon", (1,)),
        ("1-5", (1, 2, 3, 4, 5)),
        ("mon-fri", (1, 2, 3, 4, 5)),
        ("5-7", (0, 5, 6)),
        ("0,6", (0, 6)),
        ("*/2", (0, 2, 4, 6)),
        ("sat", (6,)),
        ("*", (0, 1, 2, 3, 4, 5, 6)),
    ],
)
def test_weekdays_begin_with_sunday(field: str, days: tuple[int, ...]):
    """0 and 7 are Sunday, as in cron; names mean what they say."""
    assert parse_cron(f"0 0 * * {field}").weekdays == days


def test_fields_are_ranges_lists_and_steps():
    """Minute, hour, day of the month, month, in that order."""
    assert parse_cron("*/20 8-10,22 1,15 jan-mar/2 *") == CronTimes(
        minutes=(0, 20, 40), hours=(8, 9, 10, 22), days=(1, 15), months=(1, 3), weekdays=tuple(range(7))
    )
    assert parse_cron("50/5 * * * *").minutes == (50, 55)


@pytest.mark.parametrize(
    ("nickname", "same"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@Weekly", "0 0 * * sun"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 jan *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_nicknames_stand_for_five_fields(nickname: str, same: str):
    """Those of cron."""
    assert parse_cron(nickname) == parse_cron(same)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("0 0 31 2 *", "never fires"),
        ("0 0 30 feb *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 1 * mon", "both"),
        ("@reboot", "nicknames"),
        ("0 0 * *", "five fields"),
        ("0 0 * * * *", "five fields"),
        ("", "five fields"),
        ("60 * * * *", "0 to 59"),
        ("* 24 * * *", "0 to 23"),
        ("* * 0 * *", "1 to 31"),
        ("* * * 13 *", "1 to 12"),
        ("* * * * 8", "0 to 7"),
        ("* * * * frd", "0 to 7 or sun"),
        ("* * * jan2 *", "month"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "step of 0"),
        ("*-5 * * * *", "begins a range with *"),
        ("L * * * *", "minute"),
        ("? * * * *", "minute"),
        ("-1 * * * *", "minute"),
    ],
)
def test_what_cannot_be_meant_is_refused(expression: str, why: str):
    """What never fires, what schedulers disagree on, and what is no cron expression: with the reason."""
    with pytest.raises(CronError, match=why.replace("*", r"\*")):
        parse_cron(expression)


def test_leap_days_fire():
    """The 29th of February comes."""
    assert parse_cron("0 0 29 2 *").days == (29,)


FIELDS = st.sampled_from(["*", "0", "1", "5", "*/3", "1-5", "2,4", "1-5/2", "7", "mon", "jan"])


@given(st.lists(FIELDS, min_size=5, max_size=5))
def test_what_is_accepted_can_fire(fields: list[str]):
    """No accepted expression has an empty field or a number out of range."""
    try:
        times = parse_cron(" ".join(fields))
    except CronError:
        return
    for numbers, low, high in zip(
        (times.minutes, times.hours, times.days, times.months, times.weekdays),
        (0, 0, 1, 1, 0),
        (59, 23, 31, 12, 6),
        strict=True,
    ):
        assert numbers
        assert all(low <= number <= high for number in numbers)
        assert all(one < other for one, other in itertools.pairwise(numbers))


@given(st.text(alphabet=string.printable + "äß\0", max_size=40))
def test_any_text_is_read_or_refused(text: str):
    """Nothing but a CronError comes of a text, and it quotes nothing of it."""
    try:
        parse_cron(text)
    except CronError as error:
        assert len(text) < 12 or text not in str(error)  # noqa: PT017 - either way is right
