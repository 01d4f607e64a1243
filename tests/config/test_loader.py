"""Loading the configuration file."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from prober.config.loader import MAX_FILE_BYTES, LoadedSettings, load_settings
from prober.config.problems import InvalidConfigError
from prober.config.schema import TargetSettings
from prober.domain.errors import ConfigError

BAD = Path(__file__).parent / "bad"
PLANTED = "sk-live-9f8E7d6C5b4A"
ENVIRONMENT = {
    "A_KEY": "planted-credential-a",
    "B_KEY": "planted-credential-b",
    "EMPTY": "",
    "SPACED": "two words",
    "TOKENS": "2048",
}
DIALECTS = ("openai-chat", "workers-ai")
SCENARIOS = ("baseline", "limit_sweep")
MINIMAL = """\
version: 1
key_file: canary.key
targets:
  glm:
    url: https://api.example/v1
    dialect: openai-chat
    model: glm-5.3
    context_tokens: 1048576
    tenants:
      - {name: alpha, credential: "${A_KEY}"}
      - {name: bravo, credential: "${B_KEY}"}
"""


def load(path: Path) -> LoadedSettings:
    return load_settings(path, ENVIRONMENT, known_dialects=DIALECTS, known_scenarios=SCENARIOS)


def load_text(directory: Path, text: str) -> LoadedSettings:
    path = directory / "prober.yaml"
    path.write_text(text)
    return load(path)


def glm(loaded: LoadedSettings) -> TargetSettings:
    return loaded.settings.targets["glm"]


@pytest.mark.parametrize("path", sorted(BAD.glob("*.yaml")), ids=lambda path: path.stem)
def test_broken_file_says_exactly_what_to_change(path: Path):
    """Each broken file yields the very lines its `# expect:` comments state, and nothing that it holds."""
    expected = re.findall(r"^# expect: (.*)$", path.read_text(), re.MULTILINE)
    assert expected, "a broken file states its errors"
    with pytest.raises(InvalidConfigError) as caught:
        load(path)
    assert str(caught.value).splitlines() == [f"{path}:{line}" for line in expected]
    assert "planted" not in str(caught.value).replace(str(path), "").lower()


def test_there_is_a_broken_file_per_rule():
    """Rules without a broken file are rules without a test."""
    assert len(list(BAD.glob("*.yaml"))) >= 25


def test_smallest_file_has_all_defaults(tmp_path: Path):
    """Eleven lines are a configuration: the rest is filled in, paths are absolute, tenants numbered."""
    loaded = load_text(tmp_path, MINIMAL)
    target = glm(loaded)
    assert loaded.warnings == ()
    assert loaded.settings.key_file == tmp_path / "canary.key"
    assert loaded.settings.database.reveal() == f"sqlite+aiosqlite:///{tmp_path}/prober.db"
    assert target.scenarios == SCENARIOS
    assert [tenant.number for tenant in target.tenants] == [1, 2]
    assert [tenant.credential.reveal() for tenant in target.tenants if tenant.credential] == [
        "planted-credential-a",
        "planted-credential-b",
    ]
    assert (target.page_tokens, target.shared, target.hang_seconds) == (64, True, 330.0)


def test_problems_of_all_parts_come_at_once_in_the_files_order(tmp_path: Path):
    """One reading of the errors is enough to mend the file."""
    text = MINIMAL.replace("version: 1", "version: 9").replace("https://", "gopher://").replace("${B_KEY}", "${NOPE}")
    with pytest.raises(InvalidConfigError) as caught:
        load_text(tmp_path, text + "surprise: 1\ndatabase_url_file: missing\n")
    lines = [problem.mark.line for problem in caught.value.problems]
    assert lines == [1, 5, 11, 12, 13]


def test_numbers_may_come_from_the_environment(tmp_path: Path):
    """A substituted value is text, and still a number where one is due."""
    assert glm(load_text(tmp_path, MINIMAL.replace("1048576", "${TOKENS}"))).context_tokens == 2048


def test_defaults_and_dollar_signs_in_references(tmp_path: Path):
    """`:-` fills in for unset and for empty variables, `$$` is a dollar sign."""
    text = MINIMAL + '    build: "${NOPE:-one}-${EMPTY:-two}-${A_KEY:-three}-$${A_KEY}-$5"\n'
    assert glm(load_text(tmp_path, text)).build == "one-two-planted-credential-a-${A_KEY}-$5"


def test_credential_in_the_file_is_warned_about_without_showing_it(tmp_path: Path):
    """A plain-text credential works, and the warning names its place only."""
    loaded = load_text(tmp_path, MINIMAL.replace("${B_KEY}", PLANTED))
    [warning] = loaded.warnings
    assert warning.startswith(f"{tmp_path}/prober.yaml:11:35: targets.glm.tenants[1].credential: stands here in plain")
    assert PLANTED not in warning


def test_plain_http_is_warned_about_unless_it_stays_here(tmp_path: Path):
    """Credentials must not cross a network unencrypted unnoticed; a lab on this machine is fine."""
    away = load_text(tmp_path, MINIMAL.replace("https://api.example", "http://api.example"))
    here = load_text(tmp_path, MINIMAL.replace("https://api.example", "http://127.0.0.1:8000"))
    assert [warning.partition(": ")[2] for warning in away.warnings] == [
        "targets.glm.url: credentials and prompts would cross the network unencrypted"
    ]
    assert here.warnings == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n", "the file is empty"),
        (b"two words\n", "holds blanks"),
        (b"one\ntwo\n", "holds blanks"),
        (b"\xff\xfe", "the file is no UTF-8 text"),
        (b"x" * 70_000, "the file is larger than"),
        (b"planted-credential-a\n", "is another tenant's credential too"),
    ],
)
def test_credential_files_are_checked_like_credentials(tmp_path: Path, content: bytes, message: str):
    """What a file holds is judged at the place that names the file."""
    (tmp_path / "bravo.token").write_bytes(content)
    text = MINIMAL.replace('credential: "${B_KEY}"', "credential_file: bravo.token")
    with pytest.raises(InvalidConfigError) as caught:
        load_text(tmp_path, text)
    [problem] = caught.value.problems
    assert (problem.mark.line, problem.mark.column) == (11, 40)
    assert problem.location == ("targets", "glm", "tenants", 1, "credential_file")
    assert message in problem.message


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n"])
def test_line_ends_after_a_secret_are_dropped(tmp_path: Path, ending: str):
    """Editors and secret stores append line ends; they are no part of a secret."""
    secret = tmp_path / "bravo.token"
    secret.write_text(PLANTED + ending, newline="")
    secret.chmod(0o640)
    loaded = load_text(tmp_path, MINIMAL.replace('credential: "${B_KEY}"', "credential_file: bravo.token"))
    credential = glm(loaded).tenants[1].credential
    assert credential is not None
    assert credential.reveal() == PLANTED
    assert loaded.warnings == ()


def test_secrets_that_everyone_can_read_are_warned_about(tmp_path: Path):
    """World-readable secret and key files work, with a warning each."""
    for name in ("bravo.token", "canary.key", "database.url"):
        (tmp_path / name).write_text(PLANTED if name != "database.url" else "postgresql://u:p@db/x")
        (tmp_path / name).chmod(0o644)
    text = MINIMAL.replace('credential: "${B_KEY}"', "credential_file: bravo.token")
    loaded = load_text(tmp_path, text + "database_url_file: database.url\n")
    assert [warning.split(": ")[1] for warning in loaded.warnings] == [
        "key_file",
        "targets.glm.tenants[1].credential_file",
        "database_url_file",
    ]
    assert loaded.settings.database.reveal() == "postgresql://u:p@db/x"


def test_unreadable_secret_is_a_problem_of_its_place(tmp_path: Path):
    """A secret without permission says so; root, who may read everything, is told of the missing file instead."""
    secret = tmp_path / "bravo.token"
    if os.geteuid() != 0:
        secret.write_text(PLANTED)
        secret.chmod(0)
    with pytest.raises(InvalidConfigError, match=r"the file cannot be read: (Permission denied|No such file)"):
        load_text(tmp_path, MINIMAL.replace('credential: "${B_KEY}"', "credential_file: bravo.token"))


def test_secret_path_that_no_file_can_have_is_a_problem(tmp_path: Path):
    """A NUL in a path must not become a crash."""
    with pytest.raises(InvalidConfigError, match="no usable path"):
        load_text(tmp_path, MINIMAL.replace('credential: "${B_KEY}"', r'credential_file: "a\0b"'))
    with pytest.raises(InvalidConfigError, match="is no file"):
        load_text(tmp_path, MINIMAL + '    ca_file: "a\\0b"\n')
    with pytest.raises(InvalidConfigError, match="is no file"):
        load_text(tmp_path, MINIMAL + f"    ca_file: {'a' * 5000}\n")
    with pytest.raises(InvalidConfigError, match="version: must be 1"):
        load_text(tmp_path, MINIMAL.replace("version: 1", "version: 2").replace("canary.key", r'"a\0b"'))


def test_database_url_from_a_file_is_checked(tmp_path: Path):
    """A file that holds no database URL is a problem at the place that names the file."""
    (tmp_path / "database.url").write_text(PLANTED)
    with pytest.raises(InvalidConfigError) as caught:
        load_text(tmp_path, MINIMAL + "database_url_file: database.url\n")
    [problem] = caught.value.problems
    assert problem.location == ("database_url_file",)
    assert PLANTED not in str(caught.value)


SECOND = """\
  kimi:
    url: https://api.example/v1
    dialect: workers-ai
    model: kimi
    context_tokens: 1048576
    tenants:
      - {name: charlie, credential: "${A_KEY}"}
      - {name: alpha, credential: "${B_KEY}"}
      - {name: delta, number: 2, credential: x-delta}
"""


def test_tenants_are_numbered_by_name_over_all_targets(tmp_path: Path):
    """One name has one number everywhere, numbers given by hand are kept, and none is given twice."""
    loaded = load_text(tmp_path, MINIMAL + SECOND)
    numbers = {
        (target, tenant.name): tenant.number
        for target, settings in loaded.settings.targets.items()
        for tenant in settings.tenants
    }
    assert numbers == {
        ("glm", "alpha"): 1,
        ("glm", "bravo"): 3,
        ("kimi", "charlie"): 4,
        ("kimi", "alpha"): 1,
        ("kimi", "delta"): 2,
    }


def test_same_credential_on_two_targets_is_allowed(tmp_path: Path):
    """Two LLMs behind one account are two targets; only within one target must accounts differ."""
    assert set(load_text(tmp_path, MINIMAL + SECOND).settings.targets) == {"glm", "kimi"}


def test_anchors_and_merges_share_settings_between_targets(tmp_path: Path):
    """`<<` takes an earlier mapping's keys, and keys that stand in the mapping itself win."""
    text = MINIMAL.replace("  glm:\n", "  glm: &shared\n") + "  other:\n    <<: *shared\n    model: other\n"
    loaded = load_text(tmp_path, text)
    assert loaded.settings.targets["other"].model == "other"
    assert loaded.settings.targets["other"].context_tokens == 1048576


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is no UTF-8 text"),
        (b"#" * (MAX_FILE_BYTES + 1), "is larger than"),
        (b"a: &a [" + b"[1,2,3]," * 3 + b"]\n" + b"", "unknown key"),
        (b"version: &v [*v]\n", "nested too deeply"),
        pytest.param(b"[" * 5000, "nested too deeply", marks=pytest.mark.no_coverage),
        (
            b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d," % (n - 1) * 9 if n else b"x") for n in range(12)),
            "nested too deeply, or too large",
        ),
    ],
)
def test_hostile_files_are_refused_quickly(tmp_path: Path, content: bytes, message: str):
    """Binary, huge, self-referring and exploding files are problems, not crashes."""
    path = tmp_path / "prober.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidConfigError, match=message):
        load(path)


def test_missing_file_is_a_problem(tmp_path: Path):
    """The file's name and the system's reason are enough."""
    with pytest.raises(ConfigError, match=r"absent.yaml:1:1: cannot be read: No such file or directory"):
        load(tmp_path / "absent.yaml")


def test_byte_order_mark_is_no_fault(tmp_path: Path):
    """Files from other editors load."""
    path = tmp_path / "prober.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load(path).settings.version == 1


def places(value: object, place: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """All places in a tree of mappings and lists."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*place, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*place, index))


FULL: dict[str, object] = {
    "version": 1,
    "key_file": "canary.key",
    "database": "sqlite:///x.db",
    "database_url_file": "x",
    "targets": {
        "glm": {
            "url": "https://api.example/v1",
            "dialect": "openai-chat",
            "model": "glm",
            "context_tokens": 8192,
            "prefill_pool_tokens": 2048,
            "decode_pool_tokens": 4096,
            "page_tokens": 64,
            "overlong": "reject",
            "shared": True,
            "text_form": "word_stream",
            "ask": "end_phrase",
            "temperature": 0,
            "thinking": False,
            "physical_bound": {"active_parameters": 1e9, "gpus": 8, "peak_flops_per_gpu": 1e15, "time_scale": 1},
            "hang_seconds": 330,
            "deadline_seconds": 600,
            "build": "b",
            "proxy": "http://proxy.example:3128",
            "ca_file": "ca.pem",
            "client_cert": "c.pem",
            "client_key": "k.pem",
            "headers": {"x-a": "b"},
            "body": {"x": {"y": [1]}},
            "session_header": "x-session",
            "user_agent": "u",
            "max_in_flight": 1,
            "starts_per_period": 1,
            "period_seconds": 1,
            "max_run_tokens": 1000,
            "tenants": [
                {"name": "alpha", "number": 1, "credential": "${A_KEY}"},
                {"name": "bravo", "number": 2, "credential_file": "bravo.token"},
            ],
            "scenarios": ["baseline"],
            "settings": {"baseline_tokens": 100, "sweep_bisect": True},
        }
    },
}
PLACES = list(places(FULL))
SECRETS = st.sampled_from(
    [PLANTED, f"${{{PLANTED}}}", f"x ${{{PLANTED}", f"https://u:{PLANTED}@h/?q={PLANTED}", f"!{PLANTED}"]
)
SHAPES = st.sampled_from(["value", "key", "list", "alias", "tag", "broken"])


@pytest.mark.no_coverage
@hypothesis_settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.sampled_from(PLACES), secret=SECRETS, shape=SHAPES)
def test_planted_credential_never_shows(tmp_path: Path, place: tuple[object, ...], secret: str, shape: str):
    """Wherever a credential ends up by mistake, no error, warning or repr shows it."""
    tree = json.loads(json.dumps(FULL))
    parent = tree
    for step in place[:-1]:
        parent = parent[step]
    replacement = {"value": secret, "key": {secret: 1}, "list": [secret, {secret: secret}]}
    parent[place[-1]] = replacement.get(shape, "@@PLANTED@@")
    raw = {"alias": f"*{PLANTED}", "tag": f"!{PLANTED} x", "broken": f'"{PLANTED}\\q"'}
    text = json.dumps(tree).replace('"@@PLANTED@@"', raw.get(shape, ""))
    with pytest.raises(InvalidConfigError) as caught:
        load_text(tmp_path, text)
    is_name_of_a_target = place == ("targets",) and shape == "key"
    if not is_name_of_a_target:
        assert PLANTED not in str(caught.value) + repr(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_planted_credential_shows_in_no_repr_of_loaded_settings(tmp_path: Path):
    """Everything that may carry a secret is masked once it is loaded."""
    (tmp_path / "bravo.token").write_text(PLANTED)
    text = MINIMAL.replace('credential: "${B_KEY}"', "credential_file: bravo.token") + (
        f"    proxy: http://u:{PLANTED}@proxy.example:3128\n"
        f"    headers: {{cf-aig-authorization: {PLANTED}}}\n"
        f"    body: {{user: {PLANTED}}}\n"
        f"database: postgresql://u:{PLANTED}@db/x\n"
    )
    loaded = load_text(tmp_path, text)
    shown = (
        repr(loaded) + str(loaded.settings) + loaded.settings.model_dump_json(exclude={"targets": {"glm": {"body"}}})
    )
    assert PLANTED not in shown
    assert "planted-credential-a" not in shown


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        ("sqlite:///x/prober.db", "sqlite:///{base}/x/prober.db"),
        ("sqlite+aiosqlite:////var/prober.db", "sqlite+aiosqlite:////var/prober.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("postgresql://prober@db.example/prober", "postgresql://prober@db.example/prober"),
    ],
)
def test_relative_sqlite_paths_start_at_the_configuration(tmp_path: Path, database: str, expected: str):
    """A run from another folder must find the same database, as it finds the same key file."""
    settings = load_text(tmp_path, MINIMAL.replace("version: 1", f'version: 1\ndatabase: "{database}"')).settings

    assert settings.database.reveal() == expected.format(base=tmp_path)
