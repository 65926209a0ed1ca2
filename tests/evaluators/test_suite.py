from __future__ import annotations

import json
from pathlib import Path

import pytest
from scored_project import PYTHON, Scored

from lae_controller.errors import ConfigError, RefusedError
from lae_controller.evaluators.frozen import restore, without_frozen
from lae_controller.evaluators.pytest_run import Canaries
from lae_controller.evaluators.suite import deal
from lae_controller.program import Reason

SETTINGS = """\
metric: passing
metric_direction: maximize
editable_files: ["*.py"]
scoring: {mode: test_gate, tests: [tests]}
"""
CODE = "LIMIT = 16\n\n\ndef small(n):\n    return n < LIMIT\n"
TESTS = """\
import pytest
from limits import small


@pytest.mark.parametrize("n", range(32))
def test_small(n):
    assert small(n) == (n < 24)


@pytest.mark.skip
def test_later():
    assert False
"""


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """One project for all: its suite is surveyed once, and no measurement changes it."""
    root = tmp_path_factory.mktemp("suite")
    return Scored(root, SETTINGS, {"limits.py": CODE, "tests/test_small.py": TESTS})


def broken(scored: Scored, code: str) -> tuple[Reason | None, str]:
    found = scored.measure({"limits.py": code})
    assert found.metric is None
    return found.reason, found.detail


def test_the_score_is_the_share_of_groups_that_pass(scored: Scored) -> None:
    groups = deal([f"tests/test_small.py::test_small[{n}]" for n in range(32)], 16, 42)
    failing = {f"tests/test_small.py::test_small[{n}]" for n in range(16, 24)}
    expected = sum(not failing & set(group) for group in groups[4:12]) / 8
    found = scored.measure()
    assert (found.metric, found.reason) == (expected, None)
    assert json.loads((scored.lae / "scoring/cases.json").read_text()) == groups
    assert "assert small(n) == (n < 24)" in found.artifacts.log_tail
    assert "test_known" not in found.artifacts.log_tail
    assert set(found.artifacts.per_class) == {f"group {n}" for n in range(4, 12)}


ALL_PASS = """\
import _pytest.reports
real = _pytest.reports.TestReport.from_item_and_call.__func__
def fake(cls, item, call):
    report = real(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
_pytest.reports.TestReport.from_item_and_call = classmethod(fake)
"""


@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [
        ("raise ValueError('not ready')\n", Reason.NO_METRIC, "ValueError: not ready"),
        (ALL_PASS + CODE, Reason.HARNESS_CHANGED, "must have failed is passed"),
    ],
)
def test_a_broken_candidate_has_no_score(
    scored: Scored, code: str, reason: Reason, said: str
) -> None:
    found = broken(scored, code)
    assert found[0] is reason
    assert said in found[1]


def test_tests_are_restored_and_what_was_added_to_them_is_gone(tmp_path: Path) -> None:
    work, base = tmp_path / "work", tmp_path / "base"
    files = {"code.py": "1", "tests/test_a.py": "real", "pyproject.toml": "[x]", "data/golden": "g"}
    scored = Scored(tmp_path / "p", SETTINGS, files)
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    changed = {**files, "code.py": "2", "tests/test_a.py": "weak", "data/golden": "x"}
    for name, text in {
        **changed,
        "conftest.py": "hook",
        "sub/pytest.ini": "",
        "new.py": "",
    }.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (work / "pyproject.toml").unlink()
    (work / "pyproject.toml").symlink_to("/dev/null")
    restore(work, base, scored.snapshot.entries, ("tests", "conftest.py", "pytest.ini",
                                                  "pyproject.toml", "data/*"))  # fmt: skip
    found = {p.relative_to(work).as_posix(): p.read_text() for p in work.rglob("*") if p.is_file()}
    assert found == {**files, "code.py": "2", "new.py": ""}
    assert not (work / "pyproject.toml").is_symlink()


def test_tests_are_not_editable(scored: Scored) -> None:
    found = without_frozen(scored.settings, ["limits.py", "conftest.py", "tests/a.py"])
    assert found == ("limits.py",)
    with pytest.raises(ConfigError, match="holds 'conftest.py', which is frozen"):
        without_frozen(scored.settings, ["conftest.py"])


def test_known_cases_are_half_and_half() -> None:
    canaries = Canaries.draw()
    assert len(canaries.passing) == 4
    names = [f"{canaries.name}::test_known[{n}]" for n in range(8)]
    right = {
        name: ("passed" if n in canaries.passing else "failed", "") for n, name in enumerate(names)
    }
    canaries.check(right)
    assert Canaries.draw() != canaries


def test_groups_are_of_one_size() -> None:
    groups = deal([f"case {n}" for n in range(37)], 16, 1)
    assert {len(group) for group in groups} == {2, 3}
    assert sorted(case for group in groups for case in group) == sorted(
        f"case {n}" for n in range(37)
    )
    assert deal(["a", "b"], 1, 1) == deal(["b", "a"], 1, 2) == [["a", "b"]]


RUNNER = """\
import os, sys
from limits import small
cases = "".join(
    f"<testcase name='case {n}'>" + ("" if small(n) == (n < 24) else "<failure/>") + "</testcase>"
    for n in range(32)
)
with open(sys.argv[1], "w") as stream:
    stream.write(f"<testsuite>{cases}</testsuite>")
sys.exit("failure" in cases)
"""


@pytest.fixture
def command(tmp_path: Path) -> Scored:
    settings = SETTINGS.replace(", tests: [tests]", "").replace('"*.py"', "limits.py")
    settings += f'run_cmd: "{PYTHON} runner.py {{junit}}"\n'
    return Scored(tmp_path, settings, {"limits.py": CODE, "runner.py": RUNNER})


def test_any_command_that_writes_junit(command: Scored) -> None:
    groups = deal([f"case {n}" for n in range(32)], 16, 42)
    failing = {f"case {n}" for n in range(16, 24)}
    assert command.measure().metric == sum(not failing & set(g) for g in groups[4:12]) / 8
    assert command.measure({"limits.py": CODE.replace("16", "24")}).metric == 1.0


@pytest.mark.parametrize(
    ("runner", "message"),
    [
        ("cp report.xml {junit}", "31 test cases make at most 15 groups of two; .* are 16"),
        ("echo '<testsuite/>' > {junit}", "no test case was found"),
        ("echo no compiler; false", r"cannot be read: No such file or directory\nno compiler"),
    ],
)
def test_tests_that_make_no_groups_are_refused(tmp_path: Path, runner: str, message: str) -> None:
    report = "".join(f"<testcase name='case {n}'/>" for n in range(31))
    settings = SETTINGS.replace(", tests: [tests]", "") + f'run_cmd: "{runner} # {{junit}}"\n'
    files = {"limits.py": CODE, "report.xml": f"<testsuite>{report}</testsuite>"}
    with pytest.raises(RefusedError, match=message):
        Scored(tmp_path, settings, files).measure()


FORGER = """\
import os, sys
def forge():
    with open(sys.argv[1], "w") as stream:
        stream.write("<testsuite>" + "".join(f"<testcase name='case {n}'/>" for n in range(32))
                     + "</testsuite>")
"""


@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [
        (FORGER + "forge()\nos._exit(0)\n", Reason.HARNESS_CHANGED, "reached for the result file"),
        (FORGER + "import atexit\natexit.register(forge)\n" + CODE, Reason.HARNESS_CHANGED, ""),
        ("raise ValueError('no')\n", Reason.NO_METRIC, ".xml cannot be read"),
    ],
)
def test_a_candidate_that_writes_the_report_has_no_score(
    command: Scored, code: str, reason: Reason, said: str
) -> None:
    found = broken(command, code)
    assert found[0] is reason
    assert said in found[1]
