"""The dashboard in a headless Chromium, served by a process of its own."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, a_browser, needs_browser
from made_runs import Made, make_run
from serve_helpers import SESSION, a_program, an_evaluation, config_wire

from lae_controller import config
from lae_controller.lock import ControllerLock
from lae_controller.service.backoff import Backoff
from lae_controller.service.client import ApiClient

pytestmark = [pytest.mark.browser, needs_browser]
pytest.importorskip("uvicorn")
pytest.importorskip("plotly")

ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
TOKEN = "0123456789abcdef0123"
READY = "return document.body.dataset.version"
LISTED = """
    const rows = [...document.querySelectorAll('#listing tbody tr')].map(row => row.textContent);
    return [rows, document.getElementById('listing-caption').textContent]"""
ROWS = "return document.querySelectorAll('#listing tbody tr').length"


@contextmanager
def serving(folder: Path, *more: str, token: str | None = None) -> Iterator[str]:
    """Yield the address of ``lae serve``."""
    argv = [sys.executable, "-m", "lae_controller", "serve", str(folder), "--port", "0", *more]
    env = ENV if token is None else {**ENV, "LAE_SERVE_TOKEN": token}
    process = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.fixture(scope="module")
def one_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with a_browser(tmp_path_factory.mktemp("browser")) as browser:
        browser.look(1200)
        yield browser


@pytest.fixture
def browser(one_browser: Browser) -> Iterator[Browser]:
    """Yield the browser; what a test that fails leaves in it is not the next one's."""
    yield one_browser
    one_browser.open("about:blank")
    one_browser.gather()
    one_browser.errors, one_browser.requests = [], []


def check_quiet(browser: Browser, url: str, allowed: tuple[str, ...] = ()) -> None:
    """Check that nothing went wrong and nobody but the server was asked for anything."""
    browser.gather()
    browser.open("about:blank")  # or it would look for a server that has ended
    errors = [it for it in browser.errors if not any(word in it for word in allowed)]
    requests = [it for it in browser.requests if not it.startswith(url)]
    asked = len(browser.requests)
    browser.errors, browser.requests = [], []
    assert errors == []
    assert requests == []
    assert asked > 4


def client_of(url: str) -> ApiClient:
    return ApiClient(url, lambda: None, random.Random(1), Backoff(tries=3))


def begun(client: ApiClient) -> str:
    wanted = config_wire(maxPrograms=9, concurrency=2)
    made = client.call("POST", f"{SESSION}/alphaEvolveExperiments", {"config": wanted})
    name = str(made["name"])
    client.call("POST", f"{name}/alphaEvolvePrograms", a_program(0.5))
    client.call("POST", f"{name}:start", {"name": name})
    return name


def acquired(client: ApiClient, name: str, browser: Browser) -> dict[str, Any]:
    """Return a program to evaluate, once there is one."""
    for _ in range(600):
        found = client.call("POST", f"{name}:acquirePrograms", {}).get("programs", [])
        if found:
            return dict(found[0])
        browser.js("return 0")
    raise AssertionError("nothing was handed out")


def submit(client: ApiClient, name: str, program: dict[str, Any], score: float) -> None:
    one = {
        "program": program["name"],
        "lockToken": program["lockToken"],
        "evaluation": an_evaluation({"steep": score}),
    }
    client.call("POST", f"{name}:submitProgramsEvaluations", {"evaluationSubmissions": [one]})


def test_an_experiment_is_watched_searched_compared_and_stopped(
    tmp_path: Path, browser: Browser
) -> None:
    with serving(tmp_path) as url:
        client = client_of(url)
        name = begun(client)
        browser.open(f"{url}/")
        browser.until("return document.querySelector('.runs a')?.textContent === 'Steeper'")
        browser.js("document.querySelector('.runs a').click()")
        browser.until(READY)

        # It shows who holds what, and renews itself when a child is told.
        program = acquired(client, name, browser)
        child = program["name"].rpartition("/")[2]
        browser.until(
            "return document.getElementById('moment').textContent.includes(arguments[0])", child
        )
        browser.until("return document.querySelector('.cards strong').textContent === '0.5'")
        submit(client, name, program, 3.25)
        browser.until("return document.querySelector('.cards strong').textContent === '3.25'")
        browser.until(f"{ROWS} >= 2")
        assert browser.js("return window.report.drawAll().then(() => 1)") == 1
        assert browser.js("return document.querySelectorAll('.plot .main-svg').length") > 5

        # Programs are searched and opened.
        search = "const it = document.querySelector('[type=search]'); it.value = arguments[0];"
        search += "it.dispatchEvent(new Event('input', {bubbles: true}));"
        browser.js(search, child)
        found, caption = browser.js(LISTED)
        assert any(row.startswith(child) for row in found)
        # Another may be told meanwhile, as one that failed as "the same program as" this one.
        assert all(child in row for row in found)
        shown, among = map(int, re.findall(r"\d+", caption))
        assert len(found) == shown < among
        browser.js(search, "no such thing")
        assert browser.js(ROWS) == 0
        browser.js(search, "")
        browser.js(
            "document.querySelector('#listing [data-program=\"' + arguments[0] + '\"]').click()",
            child,
        )
        browser.until("return document.getElementById('program').open")
        diff = browser.js("return document.querySelector('#opened .diff').textContent")
        assert re.search(r"^-.+\n(.*\n)?\+", diff, re.MULTILINE), diff
        browser.js("document.querySelector('#program .close').click()")

        # The button asks first; only a yes stops.
        assert not browser.js("return document.getElementById('stop').hidden")
        browser.js("document.getElementById('stop').click()")
        browser.js("document.querySelector('#sure button[value=no]').click()")
        assert client.call("GET", name)["state"] == "RUNNING"
        browser.js("document.getElementById('stop').click()")
        browser.js("document.getElementById('sure-yes').click()")
        browser.until("return document.getElementById('said').textContent.includes('paused')")
        assert client.call("GET", name)["state"] == "PAUSED"
        browser.until("return document.getElementById('stop').hidden")
        browser.until("return document.querySelector('.standing').textContent.includes('Paused')")
        check_quiet(browser, url)


def test_a_run_is_watched_and_the_reader_stays_where_he_was(
    tmp_path: Path, browser: Browser
) -> None:
    project = make_run(tmp_path / "made", Made(children=40, seed=3, stop=None))
    settings = config.load(project)
    journal = settings.lae_dir / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-12]))
    with serving(project) as url, ControllerLock(settings.lae_dir):
        browser.open(f"{url}/dashboard/run-1")
        before = browser.until(READY)
        told = browser.until("return document.getElementById('listing-caption').textContent")
        browser.js("return window.report.drawAll()")
        assert "Still running" in browser.js(
            "return document.querySelector('.standing').textContent"
        )
        browser.js(
            "document.querySelector('details[data-key=lead]').open = true;"
            "document.querySelector('[type=search]').value = 'g';"
            "document.querySelector('[type=search]').focus();"
            "window.kept = document.querySelector('.plot[data-figure=progress]');"
        )
        with journal.open("a") as stream:
            stream.write("".join(lines[-12:]))
        browser.until("return document.body.dataset.version !== arguments[0]", before)
        browser.until(
            "return document.getElementById('listing-caption').textContent !== arguments[0]", told
        )
        assert browser.js(
            "return document.querySelector('details[data-key=lead]').open"
            " && document.activeElement.type === 'search'"
            " && window.kept === document.querySelector('.plot[data-figure=progress]')"
            " && window.kept.isConnected"
        )
        browser.js("document.getElementById('stop').click()")
        browser.js("document.getElementById('sure-yes').click()")
        browser.until(
            "return document.getElementById('said').textContent.includes('Asked to stop')"
        )
        assert (settings.lae_dir / "stop").exists()
        check_quiet(browser, url)


def test_a_token_is_asked_for_and_kept_in_the_tab(tmp_path: Path, browser: Browser) -> None:
    project = make_run(tmp_path / "made", Made(children=3))
    with serving(project, token=TOKEN) as url:
        browser.open(f"{url}/dashboard/run-1")
        browser.until("return document.getElementById('login').open")
        enter = "document.getElementById('token').value = arguments[0];"
        enter += "document.querySelector('#login button').click()"
        browser.js(enter, "x" * 20)
        browser.until("return document.getElementById('login').open")
        assert not browser.js(READY)
        browser.js(enter, TOKEN)
        browser.until(READY)
        assert not browser.js("return document.cookie")
        assert browser.js("return localStorage.length") == 0
        check_quiet(browser, url, allowed=("403",))


def test_nothing_sticks_out_of_a_narrow_page(tmp_path: Path, browser: Browser) -> None:
    project = make_run(tmp_path / "made", Made(children=30, seed=5))
    with serving(project) as url:
        try:
            for dark in (False, True):
                browser.look(400, dark=dark)
                browser.open(f"{url}/dashboard/run-1")
                browser.until(READY)
                browser.js("return window.report.drawAll()")
                assert browser.js("return document.documentElement.scrollWidth") <= 400
                paper = browser.js("return getComputedStyle(document.body).backgroundColor")
                assert (paper == "rgb(255, 255, 255)") is not dark
        finally:
            browser.look(1200)
        check_quiet(browser, url)
