"""Where things stand: tests mirror the product, files stay small, names say what a thing is."""

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = sorted((ROOT / "prober").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
MOST_LINES = 300

TESTED_ELSEWHERE = {
    # One-line properties of values, tested as the one family they are.
    "domain/evidence.py": "domain/test_values.py",
    "domain/observation.py": "domain/test_values.py",
    "domain/probe.py": "domain/test_values.py",
    "domain/reading.py": "domain/test_values.py",
    "domain/target.py": "domain/test_values.py",
    "domain/verdict.py": "domain/test_values.py",
    # Parts of one simulated cluster, which is only right or wrong as a whole: tested through its front.
    "lab/cache/prefix.py": "lab/cache/test_prefix_cache.py",
    "lab/census.py": "lab/test_cluster.py",
    "lab/crew.py": "lab/test_cluster.py",
    "lab/decode.py": "lab/test_cluster.py",
    "lab/forward.py": "lab/test_cluster.py",
    "lab/handoff.py": "lab/test_incident.py",
    "lab/keys.py": "lab/test_server.py",
    "lab/limits.py": "lab/test_cluster.py",
    "lab/prefill.py": "lab/test_cluster.py",
    "lab/records.py": "lab/test_cluster.py",
    "lab/router.py": "lab/test_answer_table.py",
    "lab/seams/cache.py": "lab/cache/test_prefix_cache.py",
    "lab/sight.py": "lab/test_llm.py",
    # What runs look like to callers, tested as callers see it.
    "service/api/run_shapes.py": "service/api/test_runs.py",
    # Rows of the queue and the desk of a replica: seen through the queue, and through a replica at work.
    "service/front_desk.py": "service/test_serve.py",
    "store/job_rows.py": "store/test_jobs.py",
    # A run against the lab is what the system tests are made of.
    "service/lab_run.py": "system/test_combinations.py",
    # What one pruning goes through, which is only right or wrong as a whole.
    "store/prunable.py": "store/test_retention.py",
    "store/pruned.py": "store/test_retention.py",
    # Parts of the lab's HTTP faces, tested over real sockets as a client sees them.
    "lab/surfaces/app.py": "lab/test_server.py",
    "lab/surfaces/cluster_facts.py": "lab/surfaces/test_inspection.py",
    "lab/surfaces/context.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/exchange.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/exposition.py": "lab/surfaces/test_inspection.py",
    "lab/surfaces/frames.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/openai_shape.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/settings.py": "lab/test_server.py",
    "lab/surfaces/sglang_errors.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/sglang_info.py": "lab/surfaces/test_inspection.py",
    "lab/surfaces/sglang_metrics.py": "lab/surfaces/test_inspection.py",
    "lab/surfaces/shape.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/surface.py": "lab/surfaces/test_openai.py",
    "lab/surfaces/workers_ai_shape.py": "lab/surfaces/test_workers_ai.py",
}
"""Module -> tests that stand for it, where it has none of its own name."""

FORBIDDEN_ANYWHERE = frozenset({"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"})
FORBIDDEN_FOR_THINGS = FORBIDDEN_ANYWHERE | {"base", "engine", "model", "models", "result", "results"}
"""Of modules and classes: an engine is the inference engine's, a model is an LLM, and a result could be anything."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: pathlib.Path, top: str) -> str:
    """Path below `prober/` or `tests/`."""
    return path.relative_to(ROOT / top).as_posix()


def functions(path: pathlib.Path) -> Iterator[Function]:
    """All functions of a file, methods included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def does_something(function: Function) -> bool:
    """Whether a body holds more than a docstring and `...`: protocols' methods do not."""
    return any(
        not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not isinstance(node, ast.Pass)
        for node in function.body
    )


def has_logic(path: pathlib.Path) -> bool:
    """Whether there is anything in a file that could be wrong."""
    return any(map(does_something, functions(path)))


def own_test(module: str) -> str:
    """Test file that mirrors a module: x/y.py -> x/test_y.py, a package's own code -> x/test_init.py."""
    folder, _, file = module.rpartition("/")
    stem = "init.py" if file == "__init__.py" else file.lstrip("_")
    return f"{folder}/test_{stem}".lstrip("/")


def words_of(name: str) -> set[str]:
    """Words of a name, in snake or camel case."""
    return set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower()))


def test_every_module_has_its_tests():
    """prober/x/y.py is tested by tests/x/test_y.py, or by the file named above: a reader never has to search."""
    tested = {name_of(path, "tests") for path in TESTS}
    modules = [name_of(path, "prober") for path in SOURCES if has_logic(path)]

    assert [module for module in modules if not {own_test(module), TESTED_ELSEWHERE.get(module)} & tested] == []


def test_exceptions_to_the_mirror_are_needed():
    """An exception whose module is gone, or has tests of its own by now, is a lie."""
    tested = {name_of(path, "tests") for path in TESTS}
    modules = {name_of(path, "prober") for path in SOURCES}

    assert [name for name in TESTED_ELSEWHERE if name not in modules or own_test(name) in tested] == []


def test_every_test_mirrors_something():
    """tests/x/ stands for prober/x/, or is one of the few folders that judge the whole."""
    whole = {"architecture", "deploy", "benchmarks", "engines", "migrations", "reliability", "support", "system", "web"}
    folders = {name_of(path, "tests").split("/")[0] for path in TESTS}

    assert folders - whole <= {path.name for path in (ROOT / "prober").iterdir() if path.is_dir()}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: name_of(path, "prober"))
def test_a_file_stays_small(path: pathlib.Path):
    """No file of the product is longer than 300 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_names_say_what_a_thing_is():
    """Nothing is called by a word that would fit anything, nor by one that means something else in this field."""
    bad = []
    for path in SOURCES:
        things = [part.removesuffix(".py") for part in path.relative_to(ROOT).parts]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        things += [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        bad += [f"{path}: {name}" for name in things if words_of(name) & FORBIDDEN_FOR_THINGS]
        bad += [f"{path}: {node.name}" for node in functions(path) if words_of(node.name) & FORBIDDEN_ANYWHERE]

    assert bad == []


@pytest.mark.parametrize("path", TESTS, ids=lambda path: name_of(path, "tests"))
def test_every_test_states_its_requirement(path: pathlib.Path):
    """A test's docstring is the requirement, in a sentence; a failure then says what was promised."""
    silent = [
        function.name
        for function in functions(path)
        if function.name.startswith("test_") and not re.search(r"[.:]$", (ast.get_docstring(function) or ""))
    ]

    assert silent == []


def test_no_test_is_left_out():
    """A test that may fail proves nothing; one that cannot run here says why, from the few places that may."""
    never = re.compile(r"\b(?:xfail|importorskip|mark\.skip)\b")
    seldom = re.compile(r"\bpytest\.skip\(|\bskipif\b")
    # Without IPv6; and, outside CI, without any PostgreSQL, Prometheus or Chromium.
    may_skip = {"lab/test_server.py", "support/browser.py", "support/postgres.py", "support/monitoring.py"}
    sources = {name_of(path, "tests"): path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    del sources["architecture/test_layout.py"]

    assert {name for name, text in sources.items() if never.search(text)} == set()
    assert {name for name, text in sources.items() if seldom.search(text)} <= may_skip
