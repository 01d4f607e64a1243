"""What Argo Rollouts and Flagger do with our templates, as their documents say."""

import asyncio
import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

PATIENCE_SECONDS = 10.0
"""Both tools give up on a request after so long, unless told otherwise."""


def filled(template: object, arguments: Mapping[str, str]) -> Any:  # noqa: ANN401 - YAML
    """Put Argo's arguments in; one that is not given fails the test."""
    text = re.sub(r"\{\{args\.(\w+)\}\}", lambda match: arguments[match[1]], json.dumps(template))
    assert "{{" not in text.replace('"{$}"', "")
    return json.loads(text)


def arguments_of(template: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Defaults of the template, and what a rollout gives; all others are missing."""
    defaults = {each["name"]: each["value"] for each in template["spec"]["args"] if "value" in each}
    names = {each["name"] for each in template["spec"]["args"]}
    assert set(given) <= names
    return {**defaults, **given}


@dataclasses.dataclass
class WebMetric:
    """A web metric of Argo Rollouts (docs/analysis/web.md, docs/features/analysis.md there)."""

    metric: Mapping[str, Any]
    phases: list[str] = dataclasses.field(default_factory=list)
    slowest: float = 0.0

    async def measured(self, interval: float) -> str:
        """Measure until the metric is decided, with another interval than the template's; gives its phase."""
        async with httpx.AsyncClient(timeout=self.metric["provider"]["web"]["timeoutSeconds"]) as client:
            while True:
                self.phases.append(await self._measure(client))
                counts = {phase: self.phases.count(phase) for phase in ("Failed", "Inconclusive", "Error")}
                if counts["Failed"] > self.metric["failureLimit"]:
                    return "Failed"
                if counts["Inconclusive"] > self.metric["inconclusiveLimit"]:
                    return "Inconclusive"
                if counts["Error"] > self.metric["consecutiveErrorLimit"]:
                    return "Error"
                if len(self.phases) - counts["Error"] >= self.metric["count"]:
                    return "Successful"
                await asyncio.sleep(interval)

    async def _measure(self, client: httpx.AsyncClient) -> str:
        web = self.metric["provider"]["web"]
        headers = {each["key"]: each["value"] for each in web["headers"]}
        before = asyncio.get_running_loop().time()
        answer = await client.request(web["method"], web["url"], headers=headers, json=web["jsonBody"])
        self.slowest = max(self.slowest, asyncio.get_running_loop().time() - before)
        if not answer.is_success:
            return "Error"
        assert web["jsonPath"] == "{$}"
        facts = answer.json()
        is_success = _holds(self.metric["successCondition"], facts)
        is_failure = _holds(self.metric["failureCondition"], facts)
        assert not (is_success and is_failure)
        return "Successful" if is_success else "Failed" if is_failure else "Inconclusive"


def _holds(condition: str, facts: Mapping[str, Any]) -> bool:
    """Evaluate the little of Argo's expressions that our templates use: equalities, joined by `||`."""
    found = []
    for term in condition.split("||"):
        match = re.fullmatch(r'result\.(\w+) == "(\w+)"', term.strip())
        assert match, term
        found.append(facts[match[1]] == match[2])
    return any(found)


@dataclasses.dataclass
class Canary:
    """Flagger's webhooks of one canary (docs/gitbook/usage/webhooks.md there)."""

    webhooks: Sequence[Mapping[str, Any]]
    checksum: str
    gate: str
    """Address that the webhooks' own stands for."""

    async def call(self, kind: str) -> httpx.Response:
        """Send the webhook of a kind, as Flagger would in its present phase."""
        (webhook,) = [each for each in self.webhooks if each["type"] == kind]
        event = {
            "name": "chat",
            "namespace": "serving",
            "phase": "Progressing",
            "checksum": self.checksum,
            "metadata": webhook["metadata"],
        }
        address = self.gate + "/" + webhook["url"].rpartition("/")[2]
        async with httpx.AsyncClient(timeout=float(webhook["timeout"].rstrip("s"))) as client:
            return await client.post(address, json=event)

    async def ended(self, seconds: float) -> str:
        """Go on as Flagger does until it promotes or rolls back; `waiting` where neither comes in time."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if (await self.call("rollback")).is_success:
                        return "rolled back"
                    if (await self.call("confirm-promotion")).status_code == httpx.codes.OK:
                        return "promoted"
                    await asyncio.sleep(0.3)
        except TimeoutError:
            return "waiting"
