from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_runs import Made, make_run

from lae_controller import build, config
from lae_controller.errors import PrerequisiteError
from lae_controller.lock import ControllerLock
from lae_controller.report_command import report as command

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

from lae_controller.views.report import make
from lae_controller.views.report.make import code, embedded, report

VOID = {"meta", "link", "input", "br", "hr", "img"}
LOADING = {"src", "href", "data", "poster", "srcset", "action", "formaction"}


class Page(HTMLParser):
    """Reads a page, and notes what is not well-formed and what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.trouble: list[str] = []
        self.loads: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.style = ""
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if len({name for name, _ in attrs}) != len(attrs):
            self.trouble.append(f"an attribute twice in {tag}")
        self.loads += [value or "" for name, value in attrs if name in LOADING]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.trouble.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
        elif not self.open or self.open[-1] != "script":
            self.words += data


def made_page(folder: Path, made: Made) -> str:
    project = make_run(folder, made)
    return report(build.unread(config.load(project), lambda _: None), "now").html


def read(html: str) -> Page:
    page = Page()
    page.feed(html.replace(make.plotly_text(), ""))  # five megabytes that hold no tag
    page.close()
    return page


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made_page(tmp_path_factory.mktemp("run"), Made(children=60, seed=3))


RUNS = {
    "three": Made(children=3),
    "none": Made(children=0),
    "only failures": Made(children=30, failing=1.0, dropped=0.0),
    "interrupted": Made(children=30, stop=None, paid=False, direction="minimize"),
    "a tree": Made(children=30, algorithm="puct", islands=1),
    "without noise": Made(children=30, sigma=0.0),
}


@pytest.mark.parametrize("name", RUNS)
def test_every_page_is_whole_and_loads_nothing(tmp_path: Path, name: str) -> None:
    check_whole(made_page(tmp_path, RUNS[name]))


def check_whole(html: str) -> None:
    page = read(html)
    assert page.trouble == []
    assert page.open == []
    assert all(target.startswith(("#", "data:,")) for target in page.loads), page.loads
    assert "@import" not in page.style
    assert "url(" not in page.style
    policy = next(
        attrs["content"]
        for tag, attrs in page.tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:", policy)


def test_the_page_is_whole_and_shows_every_section(html: str) -> None:
    check_whole(html)
    page = read(html)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for target in page.loads:
        assert target == "data:," or target.removeprefix("#") in ids
    sections = "best map lineage interventions noise failures compute children settings".split()
    assert set(sections) <= set(ids)


def test_screen_readers_are_told_what_a_chart_shows(html: str) -> None:
    page = read(html)
    charts = [attrs for _, attrs in page.tags if attrs.get("class") == "plot"]
    assert len(charts) == 9
    for attrs in charts:
        assert attrs["role"] == "group"
        assert attrs["aria-label"]
    regions = [attrs for _, attrs in page.tags if attrs.get("role") == "region"]
    assert all("aria-label" in attrs or "aria-labelledby" in attrs for attrs in regions)
    assert all(attrs.get("tabindex") == "0" for attrs in regions)
    assert [attrs["lang"] for tag, attrs in page.tags if tag == "html"] == ["en"]
    heads = [attrs for tag, attrs in page.tags if tag == "th"]
    assert all(attrs.get("scope") for attrs in heads)


def test_texts_of_children_cannot_become_code(html: str) -> None:
    page = read(html)
    assert "</script><script>alert(1)</script>" in page.words
    scripts = [attrs for tag, attrs in page.tags if tag == "script"]
    assert len(scripts) == 3
    assert "alert(1)</script>" not in html.split('id="data">')[1].split("</script>", maxsplit=1)[0]
    data = json.loads(html.split('id="data">')[1].split("</script>", maxsplit=1)[0])
    assert any("<script>alert(1)" in text for text in data["children"]["summary"])


def test_values_of_the_environment_stay_out_of_it(html: str) -> None:
    assert "API_HOST" in html
    assert "secret.example" not in html


def test_what_stands_between_backquotes_is_to_be_typed() -> None:
    assert str(code("`lae run` <b>")) == "<code>lae run</code> &lt;b&gt;"
    assert str(code("a ` alone & more")) == "a ` alone &amp; more"


def test_embedded_data_cannot_end_its_script() -> None:
    text = embedded({"a": "</script><!--\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028"}
    with pytest.raises(ValueError, match="JSON"):
        embedded([float("nan")])


def test_without_its_extra_it_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    make.plotly_text.cache_clear()
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'lae-controller\[report\]'"):
        make.plotly_text()
    make.plotly_text.cache_clear()


# -- the command -----------------------------------------------------------------------------------


def test_the_command_writes_into_the_run_and_says_where(tmp_path: Path) -> None:
    project = make_run(tmp_path, Made(children=3))
    ran = CliRunner().invoke(command, [str(project), "--json"], catch_exceptions=False)
    told = json.loads(ran.output)
    assert told["children"] == 3
    assert told["standing"] == "finished"
    written = Path(told["path"])
    assert written == config.load(project).lae_dir / "report.html"
    assert written.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_command_reports_a_run_that_goes_on(tmp_path: Path) -> None:
    project = make_run(tmp_path, Made(children=3, stop=None))
    with ControllerLock(config.load(project).lae_dir):
        ran = CliRunner().invoke(
            command, [str(project), "-o", str(tmp_path / "r.html")], catch_exceptions=False
        )
    assert ran.output == f"{tmp_path / 'r.html'}\n"
    assert "Still running" in (tmp_path / "r.html").read_text(encoding="utf-8")


# -- in a browser ----------------------------------------------------------------------------------

WATCH = """<script>
const seen = { errors: [], refused: [] };
addEventListener("error", (event) => seen.errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => seen.errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => seen.refused.push(event.blockedURI));
const error = console.error;
console.error = (...words) => { seen.errors.push(words.join(" ")); error(...words); };
</script>"""
TELL = """<script>
(async () => {
  await window.report.drawAll();
  document.querySelector("input[value=runs]").click();
  document.getElementById("theme").click();
  const search = document.querySelector("input[type=search]");
  search.value = "kept?";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  seen.none = document.querySelectorAll("#listing tbody tr").length;
  search.value = "";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector("#listing thead th:nth-child(2) button").click();
  await new Promise((done) => setTimeout(done, 300));
  seen.rows = document.querySelectorAll("#listing tbody tr").length;
  seen.first = document.querySelector("#listing tbody td").textContent;
  seen.drawn = document.querySelectorAll(".plot[data-drawn=yes] .main-svg").length;
  seen.buttons = [...new Set([...document.querySelectorAll(".modebar-btn")]
    .map((button) => button.dataset.title))];
  seen.theme = document.documentElement.dataset.theme;
  seen.loaded = performance.getEntriesByType("resource").map((entry) => entry.name)
    .filter((name) => !name.startsWith("data:") && !name.startsWith("blob:"));
  const pre = document.createElement("pre");
  pre.id = "seen";
  pre.textContent = JSON.stringify(seen);
  document.body.append(pre);
})();
</script>"""


def chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), "")


@pytest.mark.browser
@pytest.mark.skipif(not chromium(), reason="no chromium here")
def test_a_browser_draws_it_without_an_error_or_a_request(tmp_path: Path, html: str) -> None:
    page = tmp_path / "page.html"
    watched = html.replace("<title>", f"{WATCH}<title>", 1).replace("</body>", f"{TELL}</body>")
    page.write_text(watched, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    argv = [chromium(), *flags, profile, "--dump-dom", page.as_uri()]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=True)
    found = re.search(r'<pre id="seen">(.*?)</pre>', ran.stdout)
    assert found, ran.stderr[-2000:]
    seen = json.loads(found.group(1))
    assert seen["errors"] == []
    assert seen["refused"] == []
    assert seen["loaded"] == []
    assert seen["drawn"] >= 9
    assert not [title for title in seen["buttons"] if re.search("(?i)share|cloud|edit", title)]
    assert "Zoom in" in seen["buttons"]
    assert (seen["none"], seen["rows"]) == (0, 50)
    assert seen["theme"] in ("light", "dark")
    data = json.loads(html.split('id="data">')[1].split("</script>", maxsplit=1)[0])
    metrics = [metric for metric in data["children"]["metric"] if metric is not None]
    assert float(seen["first"]) == pytest.approx(max(metrics), rel=1e-4)
