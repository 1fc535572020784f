"""A real browser for the tests of pages, and a check of what people with a screen reader would miss."""

import shutil
from contextlib import contextmanager

import pytest

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
        yield browser
        browser.close()


def check_accessible(page, where=""):
    """axe-core finds nothing, best practices included."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    assert found == [], (where, [(each["id"], [node["html"] for node in each["nodes"]]) for each in found])
