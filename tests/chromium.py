"""A real browser for the tests of pages, and a check of what people with a screen reader would miss."""

import shutil
import time
from contextlib import contextmanager

import pytest

# Milliseconds that a page may take for what a test waits for: on a busy machine it takes long, not for ever.
PATIENCE = 120_000
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--allow-file-access-from-files"]


@contextmanager
def chromium():
    """Chromium, driven by playwright; where one of them is missing, the test is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=_FLAGS)
        for name in ("new_context", "new_page"):
            setattr(browser, name, _patient(getattr(browser, name)))
        yield browser
        browser.close()


def _patient(make):
    def made(**options):
        one = make(**options)
        one.set_default_timeout(PATIENCE)
        return one

    return made


def poll(page, is_so, what):
    """Wait until ``is_so()``, which asks the page."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not is_so():
        assert time.monotonic() < deadline, what
        page.wait_for_timeout(100)


def check_accessible(page, where=""):
    """axe-core finds nothing, best practices included."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    assert found == [], (where, [(each["id"], [node["html"] for node in each["nodes"]]) for each in found])
