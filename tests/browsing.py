"""A headless Chromium for tests, benchmarks and pictures; see CONTRIBUTING.md for what it needs."""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-extensions "
    "--hide-scrollbars --force-color-profile=srgb"
).split()


def chromium() -> str:
    """Return the path of Chromium; empty if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), "")


def missing() -> str:
    """Return what a test in a browser lacks here; empty if nothing."""
    if not chromium():
        return "no chromium here"
    if not shutil.which("chromedriver"):
        return "no chromedriver here"
    return "" if importlib.util.find_spec("selenium") else "selenium is not installed"


needs_browser = pytest.mark.skipif(bool(missing()), reason=missing())


class Browser:
    """One window. ``requests`` and ``errors`` are of everything since it was opened."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.requests: list[str] = []
        self.errors: list[str] = []

    def look(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Choose the size of the window and the setting of the system."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, url: str) -> None:
        """Open a page."""
        self.driver.get(url)

    def js(self, text: str, *args: Any) -> Any:
        """Run a script in the page and return what it returns."""
        return self.driver.execute_script(text, *args)

    def until(self, text: str, *args: Any, seconds: float = 30) -> Any:
        """Wait until a script returns something true, and return that."""
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, seconds, poll_frequency=0.1)
        return wait.until(lambda _: self.js(text, *args), f"never true: {text}")

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write what is seen as a PNG; the whole page, or the part in the window."""
        shot = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            shot["clip"] = {"x": 0, "y": 0, "scale": 1, **{k: size[k] for k in ("width", "height")}}
        raw = self.driver.execute_cdp_cmd("Page.captureScreenshot", shot)["data"]
        path.write_bytes(base64.b64decode(raw))

    def gather(self) -> None:
        """Take in what was requested and what went wrong since the last time."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("chrome:", "chrome-untrusted:", "data:", "blob:")):
                    self.requests.append(url)
        self.errors += [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def a_browser(folder: Path) -> Iterator[Browser]:
    """Yield a browser with a fresh profile in ``folder``."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium()
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
