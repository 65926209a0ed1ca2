"""The dashboard without a browser: who may see and stop what, and what is sent."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_runs import Made, make_run
from serve_helpers import SESSION, Answer, a_config, a_program, call, running_service

from lae_controller import config
from lae_controller.errors import ConfigError
from lae_controller.lock import ControllerLock
from lae_controller.service.content import read_content
from lae_controller.service.evaluations import Scored
from lae_controller.service.names import Child
from lae_controller.service.serve_config import load_serve
from lae_controller.service.service import Service
from lae_controller.service.states import ExperimentState

pytest.importorskip("jinja2")
pytest.importorskip("plotly")
pytest.importorskip("starlette")

from lae_controller.service.app import make_app
from lae_controller.service.dashboard import MARK, Dashboard

TOKEN = "0123456789abcdef0123"
DATA = "/dashboard/data"
HERE = {MARK: "1"}
LACKS = {"children": {"metric": []}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), Made(children=12, seed=4))


@pytest.fixture
def service(tmp_path: Path, project: Path) -> Iterator[Service]:
    with running_service(tmp_path, watch=(str(project),)) as service:
        yield service


def ask(
    service: Service,
    path: str,
    method: str = "GET",
    token: str | None = None,
    **headers: str,
) -> Answer:
    app = make_app(service, "127.0.0.1", token)
    return call(app, method, path, None, {k.replace("_", "-"): v for k, v in headers.items()})


def experiment(service: Service) -> Any:
    book = service.registry.create(SESSION, a_config())
    served = service.registry.get(Child(SESSION, book.created.id))
    content = read_content(a_program()["content"], "python")
    served.experiment.seed(content, Scored({"steep": 0.5})).result()
    return served


# -- what is sent ----------------------------------------------------------------------------------


def test_runs_and_experiments_are_listed(service: Service, project: Path) -> None:
    served = experiment(service)
    html = ask(service, f"{DATA}/runs").json["html"]
    assert '<a href="/dashboard/run-1">project</a>' in html
    assert str(project) in html
    assert f'<a href="/dashboard/{served.folder.name}">Steeper</a>' in html
    assert "Created, and not started yet." in html


def test_the_sections_are_those_of_the_report(service: Service, project: Path) -> None:
    from lae_controller import build
    from lae_controller.views.report.make import report

    view = ask(service, f"{DATA}/runs/run-1").json
    page = report(build.unread(config.load(project), lambda _: None), "now").html
    data = json.loads(page.split('id="data">')[1].split("</script>", maxsplit=1)[0])
    assert view["data"] == data
    assert view["title"] == "val_acc of project"
    assert "<script" not in view["html"]
    assert " style=" not in view["html"]
    for section in "now leaders best map lineage interventions failures compute children".split():
        assert f'<h2 id="{section}">' in view["html"]


def test_a_program_is_shown_with_its_fate(service: Service) -> None:
    view = ask(service, f"{DATA}/runs/run-1").json
    child = view["data"]["children"]["id"][-1]
    html = ask(service, f"{DATA}/runs/run-1/programs/{child}").json["html"]
    assert f'<h2 id="program-title">{child}</h2>' in html
    assert "Against its parent" in html
    assert "<script>" not in html


@pytest.mark.parametrize("child", ["g9-i9-a9", "..", "%2e%2e%2fbase", "<b>"])
def test_a_program_that_is_not_there_is_not_found(service: Service, child: str) -> None:
    answer = ask(service, f"{DATA}/runs/run-1/programs/{child}")
    assert (answer.status, answer.error["status"]) == (404, "NOT_FOUND")


def test_what_has_nothing_to_show_says_why(tmp_path: Path, project: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "loop.run.yaml").write_text((project / "loop.run.yaml").read_text())
    with running_service(tmp_path, watch=(str(fresh),)) as service:
        served = experiment(service)
        html = ask(service, f"{DATA}/runs/run-1").json["html"]
        assert "no run there yet" in html
        view = ask(service, f"{DATA}/runs/{served.folder.name}").json
        assert "The search has not begun" in view["html"]
        assert view["data"] is None
        assert ask(service, f"{DATA}/runs/run-2").status == 404


def test_a_baseline_that_is_told_on_some_islands_is_waited_for(tmp_path: Path) -> None:
    project = make_run(tmp_path / "made", Made(children=0, stop=None))
    journal = config.load(project).lae_dir / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    for told in range(len(lines)):
        journal.write_text("".join(lines[: told + 1]))
        with running_service(tmp_path / str(told), watch=(str(project),)) as service:
            view = ask(service, f"{DATA}/runs/run-1").json
        assert (view["data"] is None) is (told < len(lines) - 1)


def events_of(service: Service, key: str, most: int) -> list[tuple[str, Any]]:
    """Return the first events of a run."""
    found: list[tuple[str, Any]] = []

    async def gather() -> None:
        news = Dashboard(service.board)._run_news(key)
        while len(found) < most:
            text = await anext(news)
            for part in text.split("\n\n")[:-1]:
                name, value = part.split("\n")
                found.append(
                    (name.removeprefix("event: "), json.loads(value.removeprefix("data: ")))
                )
            await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(gather(), 60))
    return found


def test_events_tell_what_runs_and_when_there_is_news(service: Service) -> None:
    served = experiment(service)
    service.registry.start(served)[1].result()
    key = served.folder.name
    deadline = time.monotonic() + 120
    handed: list[Any] = []
    while not handed:
        assert time.monotonic() < deadline
        handed = served.experiment.acquire(1)[0]
    child = handed[0].program.id
    events = dict(events_of(service, key, 2))
    assert events["now"]["can_stop"] is True
    assert child in events["now"]["html"]
    assert "1 with clients" in events["now"]["html"]
    served.experiment.submit(child, handed[0].token, Scored({"steep": 3.25})).result()
    while (
        3.25 not in (ask(service, f"{DATA}/runs/{key}").json["data"] or LACKS)["children"]["metric"]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    while dict(events_of(service, key, 2))["view"]["version"] == events["view"]["version"]:
        assert time.monotonic() < deadline  # what was seen half a second ago is shown again


# -- stopping --------------------------------------------------------------------------------------


def test_stop_pauses_an_experiment(service: Service) -> None:
    served = experiment(service)
    service.registry.start(served)[1].result()
    path = f"{DATA}/runs/{served.folder.name}:stop"
    assert "paused" in ask(service, path, "POST", **HERE).json["said"]
    assert served.experiment.state is ExperimentState.PAUSED
    again = ask(service, path, "POST", **HERE)
    assert (again.status, again.error["status"]) == (400, "FAILED_PRECONDITION")


def test_stop_asks_the_controller_of_a_run(service: Service, project: Path) -> None:
    lae = config.load(project).lae_dir
    path = f"{DATA}/runs/run-1:stop"
    idle = ask(service, path, "POST", **HERE)
    assert (idle.status, idle.error["status"]) == (400, "FAILED_PRECONDITION")
    assert not (lae / "stop").exists()
    with ControllerLock(lae):
        assert "Asked to stop" in ask(service, path, "POST", **HERE).json["said"]
        assert (lae / "stop").read_text() == "asked\n"
    (lae / "stop").unlink()


FOREIGN = [
    {},  # a form of another site: no header of ours
    {**HERE, "origin": "http://127.0.0.1:3000"},  # a page on another port of this machine
    {**HERE, "origin": "null"},
    {**HERE, "origin": "https://evil.example"},
    {**HERE, "sec_fetch_site": "cross-site"},
    {**HERE, "sec_fetch_site": "same-site"},
    {**HERE, "host": "evil.example"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_page_of_another_site_stops_nothing(service: Service, headers: dict[str, str]) -> None:
    served = experiment(service)
    service.registry.start(served)[1].result()
    answer = ask(service, f"{DATA}/runs/{served.folder.name}:stop", "POST", **headers)
    assert (answer.status, answer.error["status"]) == (403, "PERMISSION_DENIED")
    assert served.experiment.state is ExperimentState.RUNNING


def test_a_page_of_another_site_reads_nothing(service: Service) -> None:
    for headers in FOREIGN[1:]:
        assert ask(service, f"{DATA}/runs", **headers).status == 403
    same = {"origin": "http://127.0.0.1:8080", "sec_fetch_site": "same-origin"}
    assert ask(service, f"{DATA}/runs", **same).status == 200


def test_random_requests_neither_break_nor_change_anything(
    service: Service, tmp_path: Path
) -> None:
    served = experiment(service)
    service.registry.start(served)[1].result()
    app = make_app(service, "127.0.0.1", None)
    rng = random.Random(11)
    parts = [
        *"dashboard data runs programs static events run-1 run-1:stop :stop .. . %00 %ff é".split(),
        served.folder.name,
        "x" * 400,
        "g0-i0-a0",
        "",
    ]
    right = [f"{DATA}/runs", f"{DATA}/runs/run-1", f"{DATA}/runs/run-1/programs/g0-i0-a0"]
    journal = (served.folder / "journal.jsonl").read_bytes()
    statuses = set()
    for _ in range(1_000):
        path = "/dashboard/data/" + "/".join(rng.choices(parts, k=rng.randint(0, 4)))
        path = rng.choice([path, *right])
        if path.rstrip("/").endswith("/events"):
            continue  # it would never end
        query = rng.choice(["", "", "?a=1", "?run=%00", "?run=1&run=2"])
        method = rng.choice(["GET", "GET", "POST", "PUT", "DELETE", "HEAD"])
        body = rng.choice([None, b"{", b"\xff" * 90, b"[]"])
        marked = rng.choice([{}, HERE]) if method != "POST" else {}
        answer = call(app, method, path + query, body, marked)
        statuses.add(answer.status)
        assert answer.status < 500, (method, path, answer.raw)
    assert statuses >= {200, 400, 403, 404}
    assert served.experiment.state is ExperimentState.RUNNING
    assert (served.folder / "journal.jsonl").read_bytes().startswith(journal)
    assert not list(tmp_path.rglob("stop"))


# -- who may see it --------------------------------------------------------------------------------


def test_with_a_token_the_page_is_open_and_its_data_are_not(service: Service) -> None:
    for path in ("/", "/dashboard", "/dashboard/run-1", "/dashboard/static/live.js"):
        assert ask(service, path, token=TOKEN).status in (200, 307)
    for path in (f"{DATA}/runs", f"{DATA}/runs/run-1", f"{DATA}/events"):
        assert ask(service, path, token=TOKEN).status == 403
    key = {"authorization": f"Bearer {TOKEN}"}
    assert ask(service, f"{DATA}/runs", token=TOKEN, **key).status == 200
    assert ask(service, f"{DATA}/runs/run-1:stop", "POST", token=TOKEN, **HERE).status == 403


def test_every_reply_has_a_strict_policy_and_no_cookie(service: Service) -> None:
    for path in ("/dashboard", "/dashboard/static/style.css", f"{DATA}/runs", f"{DATA}/runs/run-1"):
        headers = ask(service, path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


def test_a_browser_that_has_a_file_is_told_so(service: Service) -> None:
    first = ask(service, "/dashboard/static/plotly.js")
    assert len(first.raw) > 1_000_000
    again = ask(service, "/dashboard/static/plotly.js", if_none_match=first.headers["etag"])
    assert (again.status, again.raw) == (304, b"")
    assert ask(service, "/dashboard/static/..%2flive.js").status == 404


# -- what serve is pointed at ----------------------------------------------------------------------


def test_serve_watches_the_run_it_is_pointed_at(project: Path, tmp_path: Path) -> None:
    run = str(project / "loop.run.yaml")
    lae = config.load(project).lae_dir
    (lae / "project").write_text(f"{run}\n")
    for path in (project, project / "loop.run.yaml", lae):
        settings = load_serve(path)
        assert settings.watch == (run,)
        assert settings.folder == project
    assert load_serve(tmp_path).watch == ()
    (tmp_path / "serve.yaml").write_text(f"watch: [{project}]\n")
    assert load_serve(tmp_path).watch == (str(project),)
    missing = load_serve(tmp_path).folder / "nowhere"
    with pytest.raises(ConfigError, match="nowhere"), running_service(missing, watch=("x",)):
        pass
