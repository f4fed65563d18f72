"""The site in a real browser: no page is wider than a phone, and words stand out from their ground.

Skipped where no Chromium is installed. The pages of commands are alike, so one stands for them.
"""

import json
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import python

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
PAGES = ["", *(f"{name}/" for name in ("results", "recipes", "reference/ask", "reference/python"))]
PAGES += [f"{path.parent.name}/{path.stem}/" for path in sorted(Path("docs").glob("[eg]*/*.md"))]
HARNESS = Path(__file__).with_name("browser.html")
SHOWN = [[390, "default"], [390, "slate"], [1280, "default"], [1280, "slate"]]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, format, *values):
        pass


@pytest.mark.long
@pytest.mark.skipif(not BROWSER, reason="no Chromium is installed")
def test_pages_fit_and_can_be_read(tmp_path):
    words = ("-m", "mkdocs", "build", "-f", ".github/mkdocs.yml", "--strict")
    done = python(*words, "-d", tmp_path / "site", NO_MKDOCS_2_WARNING="1")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert {} == wrong_on(tmp_path / "site", tmp_path)


def wrong_on(site, folder):
    """What is wrong with pages of a site, by page, width and scheme."""
    text = f"const PAGES = {json.dumps(PAGES)}, SHOWN = {json.dumps(SHOWN)}\n"
    page = HARNESS.read_text("utf-8").replace("/* PAGES, SHOWN */\n", text)
    (site / "harness.html").write_text(page, "utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        flags = "--headless=new --no-sandbox --disable-gpu --window-size=1400,1000 --dump-dom"
        flags += f" --virtual-time-budget=600000 --user-data-dir={folder}/profile"
        address = f"http://127.0.0.1:{server.server_port}/harness.html"
        command = [BROWSER, *flags.split(), address]
        page = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
    finally:
        server.shutdown()
    [found] = re.findall(r"<body>found (.*) end", page)
    return json.loads(found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
