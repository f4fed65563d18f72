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
from conftest import python, warm_program

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
PAGES = ["", *(f"{name}/" for name in ("results", "recipes", "reference/ask", "reference/python"))]
PAGES += [f"{path.parent.name}/{path.stem}/" for path in sorted(Path("docs").glob("[eg]*/*.md"))]
# opens each page in a frame, and writes what is wrong with it into the title
HARNESS = """<!doctype html><title>…</title><body><script>
const linear = part => (part /= 255) <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4
const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b)
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true})
function rgba(...colors) {
  canvas.clearRect(0, 0, 1, 1)
  for (canvas.fillStyle of colors) canvas.fillRect(0, 0, 1, 1)
  return canvas.getImageData(0, 0, 1, 1).data
}
function ground(node) {
  for (; node; node = node.parentElement) {
    const color = getComputedStyle(node).backgroundColor
    if (rgba(color)[3] > 250) return color
  }
  return "white"
}
function wrong(page) {
  const found = [], root = page.documentElement
  if (root.scrollWidth > root.clientWidth + 1) found.push(`${root.scrollWidth} pixels wide`)
  for (const node of page.querySelectorAll(".md-content :is(p, li, td, th, a, h1, h2, summary)")) {
    if (!node.innerText?.trim() || !node.checkVisibility() || node.matches(".headerlink")) continue
    const behind = ground(node)
    const [a, b] = [light(rgba(behind, getComputedStyle(node).color)), light(rgba(behind))]
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
    if (contrast < 4.5) found.push(`${contrast.toFixed(1)}: ${node.innerText.slice(0, 40)}`)
  }
  return [...new Set(found)]
}
async function look() {
  const found = {}
  for (const page of PAGES) for (const [width, scheme] of SHOWN) {
    const frame = document.createElement("iframe")
    localStorage.setItem("/.__palette", JSON.stringify({index: scheme == "slate" ? 2 : 1, color: {
      media: "", scheme, primary: "custom", accent: "custom"}}))
    frame.width = width; frame.height = 900; frame.src = "/" + page
    document.body.append(frame)
    await new Promise(done => frame.onload = done)
    frame.contentDocument.body.setAttribute("data-md-color-scheme", scheme)
    await new Promise(done => setTimeout(done, 50))
    const told = wrong(frame.contentDocument)
    if (told.length) found[`${page} ${width} ${scheme}`] = told
    frame.remove()
  }
  document.body.textContent = "found " + JSON.stringify(found) + " end"
}
look()
</script>"""
SHOWN = [[390, "default"], [390, "slate"], [1280, "default"], [1280, "slate"]]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, format, *values):
        pass


@pytest.mark.long
@pytest.mark.skipif(not BROWSER, reason="no Chromium is installed")
def test_pages_fit_and_can_be_read(tmp_path):
    words = ("-m", "mkdocs", "build", "-f", ".github/mkdocs.yml", "--strict")
    variables = {"NO_MKDOCS_2_WARNING": "1", "STRUCTKIT": str(warm_program(tmp_path))}
    done = python(*words, "-d", tmp_path / "site", **variables)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert {} == wrong_on(tmp_path / "site", tmp_path)


def wrong_on(site, folder):
    """What is wrong with pages of a site, by page, width and scheme."""
    text = f"const PAGES = {json.dumps(PAGES)}, SHOWN = {json.dumps(SHOWN)}\n"
    (site / "harness.html").write_text(HARNESS.replace("<script>\n", f"<script>\n{text}"))
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
