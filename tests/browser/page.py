#!/usr/bin/env python3
"""Plays with a report in headless Chromium: `page.py REPORT.html`, of a run over several settings and at least three epsilons.

Standard library alone, over the pipe of the DevTools protocol. Exits with 1 and the names of what failed; skips where no
Chromium is found, unless PRIVATEER_BROWSER=required.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --remote-debugging-pipe --force-color-profile=srgb"
).split()
PHONE = (390, 844)
DESK = (1280, 900)


class Browser:
    """One tab of a headless browser."""

    def __init__(self, program: str, profile: str) -> None:
        (there, self.commands), (self.replies, back) = os.pipe(), os.pipe()
        # The browser reads from file descriptor 3 and writes to 4.
        there, back = (self.moved(end) for end in (there, back))
        wired = f'exec "$@" 3<&{there} 4>&{back} {there}<&- {back}>&-'
        self.process = subprocess.Popen(
            ["bash", "-c", wired, "-", program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(there, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = next(found for found in self.call("Target.getTargets")["targetInfos"] if found["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    @staticmethod
    def moved(end: int) -> int:
        high = fcntl.fcntl(end, fcntl.F_DUPFD, 10)
        os.close(end)
        return high

    def message(self) -> dict:
        while b"\0" not in self.rest:
            more = os.read(self.replies, 1 << 20)
            if not more:
                sys.exit("the browser ended early")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method: str, **params: object) -> dict:
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.commands, json.dumps(request).encode() + b"\0")
        while (reply := self.message()).get("id") != self.number:
            self.events.append(reply)
        if "error" in reply:
            sys.exit(f"{method}: {reply['error']}")
        return reply["result"]

    def wait(self, event: str) -> None:
        while all(found.get("method") != event for found in self.events):
            self.events.append(self.message())

    def open(self, page: Path, size: tuple[int, int], scheme: str = "light", scripts: bool = True) -> None:
        width, height = size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait("Page.loadEventFired")

    def value(self, expression: str) -> object:
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in found:
            return f"raised: {found['exceptionDetails'].get('exception', {}).get('description')}"
        return found["result"].get("value")

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def middle(self, element: str) -> tuple[float, float]:
        box = self.value(f"(e => {{ e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); const b = e.getBoundingClientRect(); "
                         f"return [b.x + b.width / 2, b.y + b.height / 2]; }})({element})")
        return box[0], box[1]

    def complaints(self) -> list[str]:
        """Returns errors on the console, and requests that leave the page."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(f"console: {params['args']}")
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:", "blob:")):
                found.append(f"a request to {params['request']['url']}")
        return found


def main() -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        if os.environ.get("PRIVATEER_BROWSER") == "required":
            sys.exit("no Chromium is found")
        print("skipped: no Chromium")
        return
    page = Path(sys.argv[1])
    failed: list[str] = []

    def check(holds: object, what: str) -> None:
        if holds is not True:
            failed.append(f"{what}: {holds!r}")

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            play(browser, page, check)
        finally:
            browser.process.kill()
            browser.process.wait()
    print("\n".join(failed) if failed else f"{page.name}: loads, hides, chooses, reads and copies")
    sys.exit(1 if failed else 0)


def play(browser: Browser, page: Path, check) -> None:
    value = browser.value
    # The first screen of a phone: two sentences of at most 40 words, and the whole first figure below them.
    browser.open(page, PHONE)
    words = value("document.querySelector('.answer').textContent.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length")
    check(0 < words <= 40, f"the answer has {words} words")
    bottom = value("document.querySelector('.panels svg').getBoundingClientRect().bottom")
    check(bottom <= PHONE[1], f"the first figure ends at {bottom} px of a phone's {PHONE[1]}")
    check(value("document.documentElement.scrollWidth <= innerWidth"), "no sideways scrolling on a phone")

    for scheme in ("dark", "light"):
        browser.open(page, DESK, scheme)
        paper = value("getComputedStyle(document.body).backgroundColor")
        check((paper == "rgb(255, 255, 255)") == (scheme == "light"), f"the paper is {paper} in {scheme}")

    # A real click on the legend hides the curve, a second one shows it.
    legend = "[...document.querySelectorAll('figure')].find(f => !f.hidden && f.querySelector('.legend'))"
    series = f"{legend}.querySelector('g.series').style.display"
    place = browser.middle(f"{legend}.querySelector('.legend button')")
    pressed = f"{legend}.querySelector('.legend button').getAttribute('aria-pressed')"
    check((value(series), value(pressed)) == ("", "true"), "a curve is shown first")
    browser.click(*place)
    check((value(series), value(pressed)) == ("none", "false"), "a click hides a curve")
    check(value(f"[...{legend}.querySelectorAll('g.series')].some(s => s.style.display === '')"), "a click hides one curve alone")
    check(value(f"!drawing({legend}).text.includes('>' + {legend}.querySelector('.legend li').textContent.trim() + '<')"),
          "a hidden curve is not copied")
    browser.click(*browser.middle(f"{legend}.querySelector('.legend button')"))
    check((value(series), value(pressed)) == ("", "true"), "a second click shows it")

    # The choice of the swept key changes the figure.
    group = "document.querySelector('.choice').parentElement"
    shown = f"[...{group}.querySelectorAll('figure[data-x]')].filter(f => f.offsetParent).map(f => f.dataset.x).join()"
    first = value(shown)
    browser.middle(".choice select".join(("document.querySelector('", "')")))
    value("document.querySelector('.choice select').focus()")
    browser.key("ArrowDown")
    second = value(shown)
    check(first != second and "," not in first + second, f"the choice changes the figure: {first} and {second}")
    check(value(f"{group}.querySelector('select').value === '{second}'"), "the choice names its figure")

    # Near a point its numbers are shown: the setting, epsilon, the value with its interval.
    line = "[...document.querySelectorAll('figure')].find(f => f.offsetParent && f.querySelector('.series path[fill]') && " \
           "[...titles].some(([p, t]) => f.contains(p) && / to /.test(t) && p.tagName === 'path'))"
    point = f"[...titles.keys()].find(p => {line}.contains(p) && / to /.test(titles.get(p)))"
    x, y = browser.middle(point)
    check(value("document.querySelector('.reading').hidden"), "nothing is read at first")
    browser.move(x + 3, y - 3)
    told = value("document.querySelector('.reading').hidden ? '' : document.querySelector('.reading').textContent")
    close = value(f"[...titles].filter(([p]) => {{ const b = p.getBoundingClientRect(); return Math.hypot("
                  f"b.x + b.width / 2 - {x}, b.y + b.height / 2 - {y}) < 15; }}).map(([, t]) => t)")
    check(told in close and ("ε" in told or "epsilon" in told) and any(c.isdigit() for c in told), f"hovering reads {told!r} of {close}")
    check(value("document.querySelectorAll('.panels title').length === 0"), "the browser's own titles are replaced")
    browser.move(1, 1)
    check(value("document.querySelector('.reading').hidden"), "nothing is read away from the figure")
    value(f"{line}.querySelector('.panels svg').focus()")
    browser.key("ArrowRight")
    one = value("document.querySelector('.reading').textContent")
    browser.key("ArrowRight")
    two = value("document.querySelector('.reading').textContent")
    check(one != two and not value("document.querySelector('.reading').hidden"), f"arrow keys read the points: {one!r}, {two!r}")

    # Copies: a drawing that a browser can draw, as SVG and as PNG, and the table.
    size = value(f"picture({line}).then(blob => blob.type + ' ' + (20000 < blob.size))")
    check(size == "image/png true", f"the picture is {size}")
    check(value(f"new DOMParser().parseFromString(drawing({line}).text, 'image/svg+xml').querySelector('parsererror') === null"),
          "the copied SVG parses")
    value("navigator.clipboard.write = ([item]) => item.getType('text/plain').then(blob => blob.text()).then(t => { window.copied = t; })")
    for name, parts in (("Copy as CSV", (",", "±")), ("Copy as LaTeX", ("\\begin{tabular}", "$\\pm$"))):
        browser.click(*browser.middle(f"[...document.querySelectorAll('button')].find(b => b.textContent === '{name}')"))
        text = value("new Promise(done => setTimeout(() => done(window.copied), 100))") or ""
        rows = value("document.querySelector('table.stack').rows.length")
        check(all(part in text for part in parts) and rows <= text.count("\n"), f"{name} gives {text[:80]!r}")

    # For readers who cannot see or use a mouse.
    check(value("[...document.querySelectorAll('.panels svg')].every(s => s.getAttribute('role') && s.getAttribute('aria-label'))"),
          "every figure has a role and a label")
    check(value("[...document.querySelectorAll('button, select, .sortable')].every(e => e.tabIndex === 0)"), "the keyboard reaches all")
    check(browser.complaints() == [], f"the page is quiet: {browser.complaints()}")

    # Without scripts everything is there.
    browser.open(page, DESK, scripts=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    check(value("[...document.querySelectorAll('figure')].every(f => f.offsetParent)"), "all figures stand without scripts")
    check(value("0 < document.querySelectorAll('.panels title').length"), "points have titles without scripts")
    check(browser.complaints() == [], f"the page is quiet without scripts: {browser.complaints()}")


if __name__ == "__main__":
    main()
