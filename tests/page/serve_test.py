# SPDX-License-Identifier: Apache-2.0
"""`headroom serve` in a browser: pages update with the history and running measurements without a reload."""
import os
import subprocess
import time

from page_test_case import SCREENSHOTS, PageTest, headroom, main
from command_line import HEADROOM
from site_history import Served, fill, record, run_file

LEAD = "document.querySelector('[data-kind=changes] .lead').textContent"


class ServeTest(PageTest):
    def wait_for(self, page, expression, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := page.value(expression):
                return value
            time.sleep(0.1)
        self.fail(f"{expression} does not come true: {page.value('document.body.textContent')[:2000]}")

    def test_a_page_follows_what_is_measured(self):
        store, state = self.folder / "history.sqlite", {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        fill(self.folder, store)
        with Served(store, env=state) as served:
            page = self.browser.open(served.url)
            page.value("window.kept = true")
            self.assertIn("1 of 2 series changed", page.value(LEAD))
            self.assertTrue(page.value("document.querySelector('section[data-kind=running]').hidden"))
            with subprocess.Popen([HEADROOM, "time", "--runs", "60", "--store", str(store), "sleep 0.05"], env=state,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                case = "Array.from(document.querySelectorAll('section[data-kind=running] .row-key'), (key) => key.textContent).find((text) => text.startsWith('sleep'))"
                self.wait_for(page, case)
                self.assertFalse(page.value("document.querySelector('section[data-kind=running]').hidden"))
                page.screenshot(SCREENSHOTS / "serve-running.png")
                process.wait(60)
            self.wait_for(page, "document.querySelector('section[data-kind=running]')?.hidden || null")
            # A run of another machine adds a section, which needs a reload.
            self.wait_for(page, "document.querySelectorAll('section[data-kind=machine]').length === 2")
            page.value("window.kept = true")
            self.assert_exit(headroom("history", "import", run_file(self.folder, 50, [record("softmax", 3)]), "--store", store), 0)
            self.wait_for(page, "Array.from(document.querySelectorAll('section[data-kind=machine] a'), (one) => one.textContent).includes('softmax D=64 native cpu 2t')")
            self.assertTrue(page.value("window.kept"))
            self.assertEqual(page.errors(), [])
            store.rename(self.folder / "away.sqlite")
            self.wait_for(page, "document.querySelector('.live').textContent.includes('there is no history')")
            page.screenshot(SCREENSHOTS / "serve-gone.png")
            (self.folder / "away.sqlite").rename(store)
            self.wait_for(page, "document.querySelector('.live').textContent === '' || null")
            served.interrupt()
            self.wait_for(page, "document.querySelector('.live').textContent.includes('does not answer')")
            self.assertIn("beyond noise", page.value(LEAD))


if __name__ == "__main__":
    main()
