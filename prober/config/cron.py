"""Five-field cron expressions, read as cron reads them (POSIX crontab; Vixie cron's names, steps and @nicknames)."""

import dataclasses
import re
from collections.abc import Mapping

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
"""By cron's numbers: 0 is Sunday, and so is 7."""

LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_ITEM = re.compile(r"(?P<first>\*|[0-9]{1,2}|[a-z]{3})(?:-(?P<last>[0-9]{1,2}|[a-z]{3}))?(?:/(?P<step>[0-9]{1,2}))?")
_EXAMPLE = "five fields (minute hour day-of-month month day-of-week) or a nickname such as @hourly"


class CronError(ValueError):
    """The expression cannot be used. The message says why and quotes nothing of it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CronTimes:
    """The minutes, hours, days of the month, months and weekdays (0: Sunday, to 6) at which a schedule fires."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]


def parse_cron(expression: str) -> CronTimes:
    """Read an expression.

    Raises:
        CronError: it is none, would never fire, or means different things to different schedulers.
    """
    text = expression.strip().lower()
    if text.startswith("@"):
        if text not in NICKNAMES:
            raise CronError(f"must be {_EXAMPLE}; the nicknames are {', '.join(NICKNAMES)}")
        text = NICKNAMES[text]
    fields = text.split()
    if len(fields) != 5:  # noqa: PLR2004 - what cron has
        raise CronError(f"must be {_EXAMPLE}")
    minute, hour, day, month, weekday = fields
    times = CronTimes(
        minutes=_numbers(minute, "minute", 0, 59),
        hours=_numbers(hour, "hour", 0, 23),
        days=_numbers(day, "day-of-month", 1, 31),
        months=_numbers(month, "month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
        weekdays=_weekdays(weekday),
    )
    if not day.startswith("*") and not weekday.startswith("*"):
        raise CronError(
            "restricts both day-of-month and day-of-week: cron fires when either fits, most other schedulers when "
            "both do; write two schedules"
        )
    if not any(day <= LONGEST_MONTHS[month - 1] for day in times.days for month in times.months):
        raise CronError("never fires: none of its months has such a day")
    return times


def _weekdays(field: str) -> tuple[int, ...]:
    names = {name: number for number, name in enumerate(WEEKDAYS)}
    # Seven is Sunday too, so that 5-7 is Friday to Sunday; what * means must not count it twice.
    last = 6 if field.startswith("*") else 7
    return tuple(sorted({number % 7 for number in _numbers(field, "day-of-week", 0, last, names)}))


def _numbers(field: str, name: str, low: int, high: int, names: Mapping[str, int] | None = None) -> tuple[int, ...]:
    found: set[int] = set()
    for item in field.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise CronError(f"its {name} must be made of numbers, names, ranges, lists and steps, or be *")
        found.update(_span(match, name, low, high, names or {}))
    return tuple(sorted(found))


def _span(match: re.Match[str], name: str, low: int, high: int, names: Mapping[str, int]) -> range:
    first, last, step = match["first"], match["last"], match["step"]
    if first == "*":
        if last is not None:
            raise CronError(f"its {name} begins a range with *")
        begin, end = low, high
    else:
        begin = _number(first, name, low, high, names)
        # Vixie cron: N/S runs from N to the end.
        end = _number(last, name, low, high, names) if last is not None else high if step is not None else begin
    if end < begin:
        raise CronError(f"its {name} has a range that ends before it begins")
    if step is not None and int(step) == 0:
        raise CronError(f"its {name} has a step of 0")
    return range(begin, end + 1, int(step or 1))


def _number(text: str, name: str, low: int, high: int, names: Mapping[str, int]) -> int:
    number = names.get(text, -1) if text.isalpha() else int(text)
    if not low <= number <= high:
        known = f" or {', '.join(names)}" if names else ""
        raise CronError(f"its {name} must be {low} to {high}{known}")
    return number
