# SPDX-License-Identifier: Apache-2.0
"""A real Chromium for tests, driven by chromedriver over the W3C WebDriver protocol: plain HTTP, no client library."""

import base64
import json
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--force-color-profile=srgb", "--lang=en"]


class Browser:
    """One window. `messages` has the page's console output and policy violations."""

    def __init__(self, profile, width=1600, height=1000):
        driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
        assert driver and chromium, "chromium and chromium-driver are needed: scripts/bootstrap test"
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.session = None
        try:
            self.base = f"http://127.0.0.1:{self._port()}"
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"binary": chromium, "args": [*FLAGS, f"--user-data-dir={profile}"]},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = f"/session/{answer['sessionId']}"
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def _port(self):
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                # Nothing else reads it, and a full pipe would block the driver.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return int(found[1])
        raise AssertionError("chromedriver did not start")

    def _call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {json.load(error)['value']['message']}") from None

    def cdp(self, command, **parameters):
        return self._call("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height):
        self.width, self.height = width, height
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, theme):
        """Sets the preferred colour scheme: light or dark."""
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, path):
        self._call("POST", f"{self.session}/url", {"url": f"file://{path}"})

    def run(self, script, *arguments):
        return self._call("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector, index=0):
        found = self._call("POST", f"{self.session}/elements", {"using": "css selector", "value": selector})
        assert len(found) > index, f"no {selector}"
        return found[index]

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText ?? e.textContent)", selector)

    def text(self, selector):
        return "\n".join(self.texts(selector))

    def show(self, element):
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        return element

    def click(self, selector, index=0):
        self._call("POST", f"{self.session}/element/{self.show(self.find(selector, index))[ELEMENT]}/click", {})

    def keys(self, selector, text):
        self._call("POST", f"{self.session}/element/{self.find(selector)[ELEMENT]}/value", {"text": text})

    def pointer(self, selector, *moves):
        """Pointer moves over an element: (x, y) from its centre, "down", "up"."""
        element = self.show(self.find(selector))
        actions = [{"type": f"pointer{move.capitalize()}", "button": 0} if isinstance(move, str) else
                   {"type": "pointerMove", "origin": element, "x": move[0], "y": move[1], "duration": 20} for move in moves]
        self._call("POST", f"{self.session}/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def screenshot(self, path, whole=False):
        """PNG of the window, or of the whole page."""
        options = {"format": "png"}
        if whole:
            height = self.run("return document.documentElement.scrollHeight")
            options |= {"captureBeyondViewport": True,
                        "clip": {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}}
        data = base64.b64decode(self.cdp("Page.captureScreenshot", **options)["data"])
        path.write_bytes(data)
        return data

    def colours(self, png):
        """The number of different colours in a picture, counted in an empty page."""
        self._call("POST", f"{self.session}/url", {"url": "about:blank"})
        return self._call("POST", f"{self.session}/execute/async", {"args": [base64.b64encode(png).decode()], "script": """
            const [data, done] = arguments;
            const image = new Image();
            image.onload = () => {
                const canvas = new OffscreenCanvas(image.width, image.height);
                const context = canvas.getContext("2d");
                context.drawImage(image, 0, 0);
                done(new Set(new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer)).size);
            };
            image.src = "data:image/png;base64," + data;"""})

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=True)["data"])

    @property
    def messages(self):
        return [entry["message"] for entry in self._call("POST", f"{self.session}/se/log", {"type": "browser"})]

    def close(self):
        if self.session:
            try:
                self._call("DELETE", self.session)
            except (OSError, AssertionError):
                pass
        self.process.terminate()
        self.process.wait(20)

