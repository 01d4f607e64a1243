"""All courses of events that the alerts are tried with."""

from tests.deploy.alert_case import Case
from tests.deploy.alert_cases_deadman import DEADMAN
from tests.deploy.alert_cases_health import HEALTH
from tests.deploy.alert_cases_leak import LEAK

CASES: tuple[Case, ...] = (*LEAK, *DEADMAN, *HEALTH)
