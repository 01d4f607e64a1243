"""The HTML report: one file that needs nothing else, no script, no address; light and dark."""

import functools
import importlib.resources

import jinja2

from prober.report import reproduction
from prober.report.advice import advice_on, note_on
from prober.report.attribution import attributions, sentence
from prober.report.drawing import pictures_of
from prober.report.facts import Facts
from prober.report.pictures.svg import stylesheet
from prober.report.wording import MEANINGS, bound_words, certainty, count_words, seconds_words, spending_words

MOST_FINDINGS = 200
MOST_PROBES = 500


def render(facts: Facts) -> str:
    """Render as one HTML document."""
    return _template().render(
        facts=facts,
        report=facts.report,
        run=facts.report.run,
        target=facts.report.run.campaign.target,
        verdict=facts.report.verdict,
        meaning=MEANINGS[facts.outcome],
        counts=count_words(facts.report.verdict),
        bound=bound_words(facts.report.verdict),
        spent=spending_words(facts.report.spent),
        pictures=pictures_of(facts),
        picture_style=stylesheet(),
        page_style=_text("page.css"),
        program=reproduction.render(facts) if reproduction.reproduction_of(facts).steps else "",
        most_findings=MOST_FINDINGS,
        most_probes=MOST_PROBES,
        advice_on=advice_on,
        note_on=note_on,
        certainty=certainty,
        seconds_words=seconds_words,
        told=lambda finding: [sentence(each) for each in attributions(facts.report, finding)],
    )


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("prober.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html")


def _text(name: str) -> str:
    return importlib.resources.files("prober.report").joinpath("templates", name).read_text(encoding="utf-8")
