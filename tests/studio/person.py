"""Somebody at the browser, who waits for what should come."""

import time

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import Select


class Person:
    """Somebody at the browser."""

    def __init__(self, window):
        self.window = window

    def until(self, look, seconds=90):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := look():
                    return found
            except WebDriverException:  # the page is being replaced
                pass
            time.sleep(0.05)
        raise AssertionError(f"it did not come: {self.text()[-1500:]}")

    def all(self, selector):
        return self.window.find_elements("css selector", selector)

    def one(self, selector):
        return self.until(lambda: next((e for e in self.all(selector) if e.is_displayed()), None))

    def press(self, words):
        self.until(lambda: self._named("a, button, summary", words, whole=True)).click()

    def press_starting(self, words):
        self.until(lambda: self._named("a", words, whole=False)).click()

    def _named(self, selector, words, *, whole):
        """The first of some elements that is seen and has a text: one question to the browser, not two for each."""
        return self.window.execute_script(
            "const [selector, words, whole] = arguments; return [...document.querySelectorAll(selector)].find(e => "
            "e.checkVisibility() && (whole ? e.innerText.trim() === words : e.innerText.trim().startsWith(words)))",
            selector, words, whole,
        )  # fmt: skip

    def drag(self, what, where):
        place = self.one(where)
        chain = ActionChains(self.window, duration=30).click_and_hold(self.one(what)).move_by_offset(4, 4)
        chain.move_to_element(place).move_by_offset(2, 2).release().perform()

    def problems(self, axe):
        """What axe-core finds serious on the page."""
        self.window.execute_script(axe)
        found = self.window.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations"
            ".filter(v => ['serious', 'critical'].includes(v.impact)).map(v => [v.id, v.nodes.map(n => n.html)])))"
        )
        return [f"{name}: {html}" for name, html in found]

    def sees(self, words):
        self.until(lambda: words in self.text())

    def text(self):
        return self.window.find_element("css selector", "body").text

    def write(self, field, words):
        box = self.one(f"#{field}")
        box.clear()
        box.send_keys(words)

    def choose(self, field, value):
        Select(self.one(f"#{field}")).select_by_value(value)

    def open(self, studio, path):
        self.window.get(studio.address)
        self.one("#file").send_keys(str(path))
        self.until(lambda: self.window.current_url.endswith("/data"))

    def go(self, page):
        self.window.get(self.window.current_url.rpartition("/")[0] + f"/{page}")

    def download(self, words, name):
        path = self.window.downloads / name
        path.unlink(missing_ok=True)
        self.press(words)
        return self.until(lambda: path.exists() and path.read_bytes())
