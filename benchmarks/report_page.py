"""The report of a long run: how long it takes, how large it is, how a browser copes.

    python benchmarks/report_page.py --children 10000

The run is made up (search, state and ledger are the real ones). Needs the extra ``report``; for the
second half Chromium, chromedriver and selenium. Exits 1 if making takes 10 s or the page has 15 MB.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from browsing import Browser, a_browser, missing
from made_runs import Made, make_run

from lae_controller import build, config
from lae_controller.views.report.make import report

LONGEST_S, LARGEST_MB = 10.0, 15.0

FRAMES = """
const done = arguments[arguments.length - 1];
const gaps = [], height = document.documentElement.scrollHeight - innerHeight;
document.documentElement.style.scrollBehavior = "auto";
let last = performance.now(), step = 0;
requestAnimationFrame(function next(now) {
  gaps.push(now - last);
  last = now;
  if (step++ === 120) return done(gaps.slice(1));
  scrollTo(0, height * step / 120);
  requestAnimationFrame(next);
});
"""
HOVER = """
const done = arguments[arguments.length - 1];
const plot = document.querySelector(".plot[data-figure=progress] .nsewdrag");
plot.scrollIntoView({ block: "center", behavior: "instant" });
const box = plot.getBoundingClientRect(), gaps = [];
let step = 0;
requestAnimationFrame(function next() {
  if (step++ === 60) return done(gaps);
  const at = { clientX: box.left + box.width * step / 61, clientY: box.top + box.height / 2,
    bubbles: true };
  const began = performance.now();
  plot.dispatchEvent(new MouseEvent("mousemove", at));
  gaps.push(performance.now() - began);
  requestAnimationFrame(next);
});
"""


def spread(values: list[float]) -> str:
    """Write the median, the 95th percentile and the worst of some milliseconds."""
    ordered = sorted(values)
    late = ordered[int(0.95 * len(ordered))]
    return f"median {statistics.median(ordered):.1f}, p95 {late:.1f}, worst {ordered[-1]:.1f} ms"


def browse(browser: Browser, page: Path) -> None:
    """Print how the page loads, scrolls and answers the pointer."""
    browser.look(1200)
    browser.driver.set_script_timeout(120)
    began = time.perf_counter()
    browser.open(page.as_uri())
    opened = time.perf_counter() - began
    timing: Any = browser.js("return performance.getEntriesByType('navigation')[0].toJSON()")
    print(
        f"opened after {opened:.2f} s (content loaded {timing['domContentLoadedEventEnd']:.0f} ms)"
    )
    browser.until("return document.querySelectorAll('.plot[data-drawn]').length > 0")
    print(f"frames while scrolling down: {spread(browser.driver.execute_async_script(FRAMES))}")
    print(f"pointer over the first chart: {spread(browser.driver.execute_async_script(HOVER))}")
    typed: Any = browser.js(
        "const it = document.querySelector('[type=search]'); it.value = 'rate';"
        "const began = performance.now();"
        "it.dispatchEvent(new Event('input', { bubbles: true })); return performance.now() - began"
    )
    print(f"search among all children: {typed:.0f} ms")
    browser.gather()
    print(f"errors in the console: {len(browser.errors)}")


def main() -> None:
    """Make a run, its report, and look at it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = make_run(folder, Made(children=options.children, seed=3))
        began, busy = time.perf_counter(), time.process_time()
        made = report(build.unread(config.load(project), print), "now")
        page = folder / "report.html"
        page.write_text(made.html, encoding="utf-8")
        took, busy = time.perf_counter() - began, time.process_time() - busy
        size = page.stat().st_size / 1e6
        print(f"{made.children} children: {took:.1f} s ({busy:.1f} s of processor), {size:.1f} MB")
        if missing():
            print(f"not opened: {missing()}")
        else:
            with a_browser(folder) as browser:
                browse(browser, page)
    if busy > LONGEST_S or size > LARGEST_MB:
        sys.exit(1)


if __name__ == "__main__":
    main()
