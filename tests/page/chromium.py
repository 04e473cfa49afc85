# SPDX-License-Identifier: Apache-2.0
"""Drives a headless chromium over a pair of pipes; no port, no other library.

    with Chromium() as browser:
        page = browser.open("file:///...", width=1280)
        page.value("document.title")
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATH = shutil.which("chromium") or shutil.which("chromium-browser")
# Messages go in by descriptor 3 and come out by 4.
PLACE_PIPES = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(word), fcntl.F_DUPFD, 10) for word in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
OPTIONS = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--mute-audio",
           "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--force-color-profile=srgb", "--disable-dev-shm-usage"]


class Chromium:
    def __init__(self, patience_s=60):
        self.patience_s = patience_s
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True) if sys.version_info >= (3, 10) \
            else tempfile.TemporaryDirectory()
        requests, self.writes = os.pipe()
        self.reads, replies = os.pipe()
        # Root cannot use the sandbox.
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        with open(os.path.join(self.folder.name, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PLACE_PIPES, str(requests), str(replies), PATH, *OPTIONS, *root,
                 f"--user-data-dir={self.folder.name}/profile", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(requests, replies), start_new_session=True)
        os.close(requests)
        os.close(replies)
        fcntl.fcntl(self.reads, fcntl.F_SETFL, os.O_NONBLOCK)
        self.pending, self.events, self.last_id = b"", [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        os.close(self.writes)
        os.close(self.reads)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def message(self, end):
        """Returns the next message, or raises an error with chromium's output."""
        while b"\0" not in self.pending:
            if not select.select([self.reads], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("chromium does not answer; it said:\n" + self.said())
            more = os.read(self.reads, 1 << 20)
            if not more:
                raise RuntimeError("chromium ended; it said:\n" + self.said())
            self.pending += more
        text, _, self.pending = self.pending.partition(b"\0")
        return json.loads(text)

    def said(self):
        with open(os.path.join(self.folder.name, "log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-3000:]

    def call(self, method, session=None, **parameters):
        self.last_id += 1
        request = {"id": self.last_id, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.writes, data):]
        end = time.monotonic() + self.patience_s
        while True:
            message = self.message(end)
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, url, width=1280, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.dark(dark)
        page.go(url)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def events(self, *names):
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event.get("method") in names]

    def go(self, url):
        before = len(self.events("Page.loadEventFired"))
        self.call("Page.navigate", url=url)
        end = time.monotonic() + self.browser.patience_s
        while len(self.events("Page.loadEventFired")) == before:
            self.browser.events.append(self.browser.message(end))
        self.settle()

    def settle(self):
        """Waits until the page is drawn: charts are sized during layout."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, is_dark, media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def value(self, expression):
        """Evaluates an expression and returns its JSON value; awaits promises."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=KEYS.get(name, 0), **more)
        self.settle()

    def errors(self):
        """Returns the page's errors: exceptions, logged errors, policy violations."""
        exceptions = [str(event["exceptionDetails"]) for event in self.events("Runtime.exceptionThrown")]
        logged = [str(event["args"]) for event in self.events("Runtime.consoleAPICalled") if event["type"] in ("error", "assert")]
        entries = [event["entry"]["text"] for event in self.events("Log.entryAdded") if event["entry"]["level"] == "error"]
        return exceptions + logged + entries

    def screenshot(self, path, height=None):
        """Saves the page as PNG, or its first pixels."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        image = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(image["data"]))


KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
