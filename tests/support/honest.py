"""An honest target, answer by answer: forgetful, chatty, garrulous and odd as real ones are, and leaking nothing."""

import collections
import dataclasses
import hashlib
import random
import string

from prober.detect.answer import classify
from prober.detect.detectors import DETECTORS
from prober.detect.history import advance
from prober.detect.ladder import settle
from prober.detect.suspicion import name_kinds
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, History, Judgement
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.probe import Probe
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import Reading, Recall
from prober.prompt.alphabet import WORDS
from prober.prompt.garble import garble_of, repeats_opening
from prober.prompt.novelty import novelty, words_of
from prober.prompt.refusal import is_refusal_like
from prober.prompt.signature import signature
from tests.support.evidence import a_prompt, a_target, an_observation

END = NeedlePosition.END
TOKENS = 1_600
SHARED_TOKENS = 800
_TEMPLATES = (
    "The lantern phrase is {}.",
    "Sure, for the lantern phrase you gave {}.",
    "**lantern**: {}",
    "According to your text, the lantern one reads: {}.",
    "The lantern phrase reads {}.",
)
_MISSES = (
    "I cannot find the lantern phrase.",
    "There is no lantern phrase in the text that I could see.",
    "The document that you gave does not seem to hold any phrase for lantern, as far as one can tell from it.",
)
_REFUSAL = "I'm sorry, but I can't help with that request."

RATES = {
    "copy_error": 0.005,
    "miss": 0.012,
    "refusal": 0.008,
    "paraphrase": 0.2,
    "loop_behind": 0.006,
    "loop_instead": 0.0045,
    "restart": 0.004,
    "stray_script": 0.004,
    "half_character": 0.004,
    "empty": 0.004,
    "starved": 0.006,
    "server_error": 0.004,
    "busy": 0.01,
}
"""Per answer; copy errors per word."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What healthy servers differ in."""

    cached: str
    """How fresh text is reported: `none`, `zero`, `template` (64 tokens) or `all_but_one` (vLLM issue #43370)."""
    ids: str
    """`unique`, `constant`, `echo` (of the request id) or `per_frame`."""
    ends_twice: bool
    logprobs: bool
    """Of the tokens as they are; False: without the first blank."""
    is_lenient: bool
    """Merely ignores what is wrong with a request."""

    @classmethod
    def drawn(cls, rng: random.Random) -> "Habits":
        return cls(
            cached=rng.choice(("none", "zero", "template", "all_but_one")),
            ids=rng.choice(("unique", "constant", "echo", "per_frame")),
            ends_twice=rng.random() < 0.5,
            logprobs=rng.random() < 0.5,
            is_lenient=rng.random() < 0.5,
        )


class HonestTarget:
    """One run against it. `fired` counts failings, `judgements` hold all that was asked."""

    def __init__(self, seed: int, fired: collections.Counter[str]) -> None:
        self.rng = random.Random(seed)
        self.habits = Habits.drawn(self.rng)
        self.fired = fired
        self.history = History()
        self.judgements: list[Judgement] = []
        self._phrases: dict[str, tuple[str, ...]] = {}
        self._live: set[str] = set()

    def text(self) -> str:
        """Make up a prompt; returns its hash."""
        name = f"text-{len(self._phrases)}"
        self._phrases[name] = tuple(self.rng.choice(WORDS) for _ in range(6))
        self._live.update(self._phrases[name])
        return name

    def ask(self, probe: Probe, text: str, *, has_sent: bool = False, is_warm: bool = False) -> Judgement:
        """Answer one probe; `has_sent`: its tenant sent this (shared) text before; `is_warm`: it is quick therefore."""
        rng = self.rng
        observation = self._failure() or self._answer(probe, text, has_sent=has_sent, is_warm=is_warm)
        prompt = a_prompt(
            canary=Canary.of(probe.tenant.number, 0, rng.randrange(1 << 20)),
            planned_tokens=TOKENS,
            filler_words=TOKENS,
            text_sha256=text,
        )
        target = a_target()
        evidence = Evidence(
            target=target,
            probe=probe,
            prompt=prompt,
            observation=observation.without_text(),
            answer=classify(target, probe, prompt, observation),
            reading=self._read(observation, text),
            history=self.history,
        )
        found = tuple(finding for detector in DETECTORS for finding in detector(evidence))
        judgement = Judgement(evidence=evidence, findings=name_kinds(evidence, settle(evidence, found)))
        self.history = advance(self.history, judgement)
        self.judgements.append(judgement)
        return judgement

    def _fires(self, failing: str) -> bool:
        is_hit = self.rng.random() < RATES[failing]
        self.fired[failing] += is_hit
        return is_hit

    def _failure(self) -> Observation | None:
        if self._fires("server_error"):
            return an_observation(status=503 if self.rng.random() < 0.3 else 500, token_frames=0)
        if self._fires("busy"):
            return an_observation(status=429, refusal=Refusal(reason=RefusalReason.RATE), token_frames=0)
        return None

    def _answer(self, probe: Probe, text: str, *, has_sent: bool, is_warm: bool) -> Observation:
        rng, options = self.rng, probe.options
        if probe.disconnect is not None:
            return an_observation(failure=FailureKind.ABANDONED, text="The lan", is_terminated=False)
        if options.malformation is not None and not self.habits.is_lenient:
            return an_observation(status=400, refusal=Refusal(reason=RefusalReason.OTHER), token_frames=0)
        said, finish, reasoning = self._say(probe, text)
        frames = len(said.split())
        seconds = (0.1 if is_warm else 0.3) * rng.lognormvariate(0.0, 0.4)
        return an_observation(
            text=said,
            finish_reason=finish,
            usage=Usage(
                prompt_tokens=TOKENS,
                completion_tokens=0 if finish == "stop" and not said else max(1, frames),
                cached_tokens=self._cached(has_sent=has_sent),
                reasoning_tokens=reasoning,
            ),
            timeline=Timeline(first_token=seconds, end=seconds + 1.0),
            token_frames=frames,
            response_id=self._id(options.request_id),
            response_ids=frames if self.habits.ids == "per_frame" else 1,
            finish_marks=1 + self.habits.ends_twice,
            logprobs_agree=self.habits.logprobs if options.wants_logprobs else None,
            system_fingerprint=f"fp-{len(self.judgements) // 400}",
            model_reported="m",
        )

    def _say(self, probe: Probe, text: str) -> tuple[str, str, int | None]:
        """Content, finish reason, reasoning tokens."""
        options = probe.options
        if options.choices:
            return options.choices[0], "stop", None
        if options.favoured_token is not None:
            return " ".join(["bolab"] * 40), "length", None
        instead = {
            "empty": ("", "stop", None),
            "starved": ("", "length", 64),
            "refusal": (_REFUSAL, "stop", None),
            "miss": (self.rng.choice(_MISSES), "stop", None),
            "loop_instead": ("the harbour " * 40, "length", None),
        }
        for failing, answer in instead.items():
            if self._fires(failing):
                return answer
        template = self.rng.choice(_TEMPLATES) if self._fires("paraphrase") else _TEMPLATES[0]
        said = template.format(" ".join(self._copied(text)))
        oddly = {
            "restart": (f"{said}\n{said}", "stop", None),
            "stray_script": (f"{said} \N{CJK UNIFIED IDEOGRAPH-7684}", "stop", None),
            "half_character": (f"{said} \N{REPLACEMENT CHARACTER}", "length", None),
            "loop_behind": (f"{said} " + f"{said[-14:]} " * 30, "length", None),
        }
        for failing, answer in oddly.items():
            if self._fires(failing):
                return answer
        return said, "stop", None

    def _copied(self, text: str) -> list[str]:
        copied: list[str] = []
        for word in self._phrases[text]:
            if not self._fires("copy_error"):
                copied.append(word)
                continue
            place = self.rng.randrange(3)
            swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
            other = self.rng.choice(WORDS)
            copied += self.rng.choice(([other], [], [word, word], [swapped]))
        return copied

    def _cached(self, *, has_sent: bool) -> int | None:
        fresh = {"none": None, "zero": 0, "template": 64, "all_but_one": TOKENS - 1}[self.habits.cached]
        if not has_sent or self.habits.cached == "all_but_one":
            return fresh
        return SHARED_TOKENS + (fresh or 0)

    def _id(self, request_id: str | None) -> str:
        unique = f"id-{len(self.judgements)}"
        if self.habits.ids == "constant":
            return "chatcmpl"
        return f"chatcmpl-{request_id or unique}" if self.habits.ids == "echo" else unique

    def _read(self, observation: Observation, text: str) -> Reading:
        said, phrase = observation.text, self._phrases[text]
        words = words_of(said)
        novel = novelty(words)
        asked = Recall(asked=(END,), found=(END,) if " ".join(phrase) in said else ())
        return Reading(
            characters=len(said),
            words=len(words),
            sha256=hashlib.sha256(said.encode()).hexdigest(),
            recall=asked,
            novel_words=novel.novel_words,
            longest_novel_run=novel.longest_novel_run,
            is_refusal_like=is_refusal_like(said),
            garble=garble_of((said,), (words,)),
            signature=signature(words),
            letters=sum(character in string.ascii_letters for character in said),
            digits=sum(map(said.count, string.digits)),
            stray_words=sum(word in self._live and word not in phrase for word in words),
            repeats_opening=repeats_opening(said),
        )
