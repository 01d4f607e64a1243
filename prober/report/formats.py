"""Every format of a report, by name. A new one is a module and a line here."""

from collections.abc import Callable, Mapping
from typing import Final

from prober.report import console, json_report, junit, markdown, page, reproduction, sarif, vendor
from prober.report.facts import Facts

Renderer = Callable[[Facts], str]

FORMATS: Final[Mapping[str, Renderer]] = {
    "console": console.render,
    "json": json_report.render,
    "junit": junit.render,
    "sarif": sarif.render,
    "html": page.render,
    "markdown": markdown.render,
    "vendor": vendor.render,
    "script": reproduction.render,
}

MEDIA_TYPES: Final[Mapping[str, str]] = {
    "console": "text/plain; charset=utf-8",
    "json": "application/json",
    "junit": "application/xml",
    "sarif": "application/sarif+json",
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "vendor": "text/markdown; charset=utf-8",
    "script": "text/x-python; charset=utf-8",
}
"""By format, as they are served."""
