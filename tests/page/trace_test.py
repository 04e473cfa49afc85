# SPDX-License-Identifier: Apache-2.0
"""A trace in a browser: its slices are its events, and navigation reaches findings and all events."""
import json

from page_test_case import SCREENSHOTS, PageTest, headroom, main
from trace_files import document, kernel, launch, op, write_trace

NAMES = ["<script>window.hostile = 1</script>", "</script><script>window.hostile = 2</script>", "a\u2028b", "k" * 3000]
TIMELINE = "document.querySelector('.timeline').timeline"
# [[track, [[lane], ...]], ...]; a slice is [name, start in us, duration in us, events].
SLICES = f"""(({{ rows, model }}) => rows.filter((row) => row.track).map((row) => [row.title, row.track.lanes.map((lane) =>
    Array.from({{ length: lane.size }}, (_, i) => [model.names[lane.name[i]], lane.start[i] / 1000, lane.duration(i) / 1000,
    lane.count[i]]))]))({TIMELINE})"""
SPOKEN = "document.querySelector('.spoken').textContent"
SPAN = f"[{TIMELINE}.view.from, {TIMELINE}.view.to]"
BOX = "(({x, y}) => [x, y])(document.querySelector('.timeline canvas').getBoundingClientRect())"
# Number of pixels of approximately that colour.
PIXELS = """((wanted) => { const canvas = document.querySelector('.timeline canvas');
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 250 && Math.abs(data[i] - wanted[0]) + Math.abs(data[i + 1] - wanted[1]) + Math.abs(data[i + 2] - wanted[2]) < 9) ++count;
    return count; })"""


def loading_events(steps=4):
    """Steps of 100 ms: the host waits 60 ms for input, the device works for 30 ms."""
    events = []
    for i in range(steps):
        start = 1_000_000 + 100_000 * i
        events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 900, "tid": 900, "ts": start, "dur": 100_000},
                   {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 900,
                    "tid": 900, "ts": start + 10, "dur": 60_000},
                   op("aten::mm", start + 60_100, 100), launch(start + 60_110, 20, i + 1, "cudaLaunchKernel"),
                   kernel("gemm", start + 60_200, 30_000, i + 1), op("aten::item", start + 60_300, 30_000),
                   launch(start + 60_310, 29_900, 1000 + i, "cudaStreamSynchronize")]
    return events


class TraceTest(PageTest):
    def trace_page(self, events, *arguments, **how):
        path = write_trace(self.folder / "trace.json", events)
        return self.open(self.report(path, *arguments), **how)

    def test_slices_are_the_events_of_the_trace(self):
        events = loading_events(3)
        page = self.trace_page(events)
        tracks = dict(page.value(SLICES))
        self.assertEqual(list(tracks), ["steps", "device 0, stream 7", "thread 900, process 900"])
        told = sorted(tuple(one) for name in list(tracks)[1:] for lane in tracks[name] for one in lane)
        first = min(event["ts"] for event in events)
        self.assertEqual(told, sorted((event["name"], event["ts"] - first, event["dur"], 1) for event in events))
        # An enclosing slice is above its children.
        depths = {slice[0]: depth for depth, lane in enumerate(tracks["thread 900, process 900"]) for slice in lane}
        self.assertEqual([depths[name] for name in ("ProfilerStep#1", "aten::item", "cudaStreamSynchronize")], [0, 1, 2])
        page.value("document.querySelector('details.numbers').open = true")
        page.settle()
        durations = page.value("Array.from(document.querySelectorAll('.longest tbody tr'), (row) => Number(row.cells[1].firstChild.value))")
        self.assertEqual(durations, sorted((event["dur"] * 1000 for event in events), reverse=True))

    KEY = """Object.fromEntries(Array.from(document.querySelectorAll('.key > div'), (one) =>
        [one.querySelector('dt').textContent, Number(one.querySelector('data')?.value ?? NaN)]))"""

    def test_key_numbers_are_those_of_the_trace(self):
        events = loading_events()
        for event in events:
            if event["name"] == "aten::mm":
                event["args"] = {"Input Dims": [[1024, 512], [512, 2048]], "Input type": ["float", "float"], "Concrete Inputs": ["", ""]}
        page = self.trace_page(events)
        self.assertEqual(page.value("document.querySelector('h1').textContent"), "Trace of trace.json")
        key = page.value(self.KEY)
        self.assertEqual(key["step"], 100e6)
        self.assertAlmostEqual(key["GPU busy"], 0.3, places=6)
        self.assertEqual(key["exposed communication"], 0)
        self.assertAlmostEqual(key["achieved"] / (2 * 1024 * 512 * 2048 / 0.1), 1, places=6)
        self.assertIn("21.5 GFLOP/s", page.value("document.querySelector('.key').textContent"))
        top = page.value("document.querySelector('.key').getBoundingClientRect().bottom")
        self.assertLess(top, page.value("document.querySelector('.findings').getBoundingClientRect().top"))
        # Without shapes no operator has a known cost.
        self.assertNotIn("achieved", self.trace_page(loading_events()).value(self.KEY))

    def test_the_busy_share_stands_above_the_tracks(self):
        # Streams overlap: [0, 30) and [20, 40) of each 100 us.
        events = [kernel("a", 100 * i, 30, 2 * i + 1) for i in range(10)] + [kernel("b", 100 * i + 20, 20, 2 * i + 2, stream=8) for i in range(10)]
        page = self.trace_page(events)
        rows = page.value(f"{TIMELINE}.rows.map((row) => row.title)")
        self.assertEqual(rows[0], "GPU 0 busy, 0 to 100 %")
        share = f"(([from, to]) => {TIMELINE}.rows[0].busy.share(from, to))"
        for (begin, end), expected in (((0, 1_000_000), 0.4), ((0, 30_000), 1), ((10_000, 60_000), 0.6), ((40_000, 100_000), 0), ((-50_000, 50_000), 0.4),
                                       ((900_000, 2_000_000), 40 / 1100)):
            self.assertAlmostEqual(page.value(f"{share}([{begin}, {end}])"), expected, places=9)
        x, y = page.value(BOX)
        at = page.value(f"{TIMELINE}.painter.x(15_000)")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + at, y=y + 40)
        page.settle()
        self.assertRegex(page.value("document.querySelector('.timeline-tip').textContent"), r"^GPU busy 100 % of ")

    def test_a_finding_leads_to_its_time(self):
        page = self.trace_page(loading_events())
        report = headroom("trace", self.folder / "trace.json", "--json", "-", "--no-store")
        finding = json.loads(report.stdout)["trace"]["tables"]["findings"][0]
        lead = page.value("document.querySelector('.findings .lead').textContent")
        self.assertTrue(lead.startswith("Data loading: 60"), lead)
        self.assertIn(finding["fix"], page.value("document.querySelector('.findings').textContent"))
        page.value("document.querySelector('.findings .go').click()")
        page.settle()
        low, high = page.value(SPAN)
        self.assertLess(low, finding["at_ns"] - 1_000_000_000)
        self.assertGreater(high, finding["at_ns"] - 1_000_000_000)
        self.assertAlmostEqual(high - low, 100_000_000, delta=1000)  # one step
        self.assertEqual(page.value("document.activeElement.tagName"), "CANVAS")
        self.assertIn("Data loading", page.value(SPOKEN))

    def test_wheel_keys_and_dragging_zoom_and_move(self):
        page = self.trace_page(loading_events())
        whole = page.value(SPAN)
        x, y = page.value(BOX)
        around = f"{TIMELINE}.painter.time(600)"
        before = page.value(around)
        page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x + 600, y=y + 60, deltaX=0, deltaY=-300)
        page.settle()
        low, high = page.value(SPAN)
        self.assertLess(high - low, 0.7 * (whole[1] - whole[0]))
        self.assertAlmostEqual(page.value(around), before, delta=(high - low) / 500)  # the point under the cursor stays
        page.call("Input.dispatchMouseEvent", type="mousePressed", x=x + 600, y=y + 60, button="left", clickCount=1)
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 500, y=y + 60, button="left")
        page.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 500, y=y + 60, button="left", clickCount=1)
        page.settle()
        moved = page.value(SPAN)
        self.assertGreater(moved[0], low)
        self.assertAlmostEqual(moved[1] - moved[0], high - low, delta=1)
        page.value("document.querySelector('.timeline canvas').focus()")
        page.key("d")
        self.assertGreater(page.value(SPAN)[0], moved[0])
        page.key("w")
        self.assertLess(page.value(f"{TIMELINE}.view.span"), high - low)
        page.key("0")
        self.assertEqual(page.value(SPAN), whole)
        for _ in range(60):
            page.key("+")
        self.assertAlmostEqual(page.value(f"{TIMELINE}.view.span"), 20, delta=1)  # ns
        self.assertLess(page.value(f"{TIMELINE}.draw_ms"), 500)

    def test_arrows_go_through_slices_and_say_them(self):
        page = self.trace_page(loading_events())
        page.value("document.querySelector('.timeline canvas').focus()")
        page.key("ArrowDown")
        self.assertIn("ProfilerStep#", page.value(SPOKEN))
        page.key("Home")
        page.key("ArrowDown")
        first = page.value(SPOKEN)
        self.assertRegex(first, r"^gemm: 30\.0 ms, from \d+ ms; device 0, stream 7$")
        self.assertEqual(page.value("document.querySelector('.timeline-readout').textContent"), first)
        page.key("ArrowLeft")
        self.assertNotEqual(page.value(SPOKEN), first)
        page.key("Enter")
        low, high = page.value(SPAN)
        self.assertAlmostEqual(high - low, 45_000_000, delta=10)
        page.key("Escape")
        self.assertEqual(page.value(SPOKEN), "")

    def test_pointing_tells_a_slice(self):
        page = self.trace_page(loading_events(1))
        x, y = page.value(BOX)
        at = page.value(f"{TIMELINE}.painter.x(75_000_000)")  # within the kernel
        row = page.value(f"{TIMELINE}.rows.find((row) => row.title.includes('stream')).top + 24")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + at, y=y + row + 8)
        page.settle()
        self.assertEqual(page.value("document.querySelector('.timeline-tip').hidden"), False)
        self.assertEqual(page.value("document.querySelector('.timeline-tip').textContent"), "gemm: 30.0 ms, from 60.2 ms")

    def test_names_are_found(self):
        page = self.trace_page(loading_events())
        blue = page.value(PIXELS + "([13, 87, 159])")
        self.assertGreater(blue, 1000)  # kernels
        find = "((field, text) => { field.value = text; field.dispatchEvent(new Event('input')); })(document.querySelector('.timeline input'), %s)"
        page.value(find % "'ATEN item'")
        page.settle()
        self.assertEqual(page.value("document.querySelector('.timeline .status').textContent"), "4 slices of 1 name, 120 ms")
        self.assertEqual(page.value(PIXELS + "([13, 87, 159])"), 0)
        page.value("document.querySelector('.timeline input').focus()")
        said = []
        for _ in range(5):
            page.key("Enter", "\r")
            said.append(page.value(SPOKEN))
        self.assertEqual(len(set(said)), 4)
        self.assertEqual(said[0], said[4])
        page.value(find % "'nothing has it'")
        self.assertIn("no slice", page.value("document.querySelector('.timeline .status').textContent"))
        page.value(find % "''")
        page.settle()
        self.assertEqual(page.value(PIXELS + "([13, 87, 159])"), blue)

    def test_a_flame_graph_shows_what_was_called_within_what(self):
        page = self.trace_page(loading_events() + [
            {"ph": "X", "cat": "python_function", "name": "nn.Module: Net_0", "pid": 900, "tid": 900, "ts": 1_060_050, "dur": 35_000}])
        labels = "Array.from(document.querySelectorAll('.flame .mark'), (mark) => mark.getAttribute('aria-label'))"
        said = page.value(labels)
        self.assertIn("ProfilerStep: host 400 ms, devices 120 ms, 100 % of all, 4 calls", said)
        self.assertIn("nn.Module: Net_0: host 35.0 ms, devices 30.0 ms, 8.75 % of all, 1 call", said)
        mark = "Array.from(document.querySelectorAll('.flame .mark')).find((mark) => mark.getAttribute('aria-label').startsWith('nn.Module'))"
        width = f"{mark}.querySelector('rect').getBBox().width"
        narrow = page.value(width)
        page.value(f"{mark}.focus()")
        page.key("Enter", "\r")
        self.assertGreater(page.value(width), 5 * narrow)
        self.assertTrue(page.value("document.activeElement.getAttribute('aria-label')").startswith("nn.Module"))
        page.key("Enter", "\r")
        self.assertLess(page.value(width), 5 * narrow)
        pick = "Array.from(document.querySelectorAll('.flames .chip')).find((chip) => chip.textContent === '%s').click()"
        page.value(pick % "by module")
        page.settle()
        self.assertEqual(page.value(labels)[1:], ["Net_0: host 35.0 ms, devices 30.0 ms, 100 % of all, 1 call"])
        page.value(pick % "device time")
        page.settle()
        self.assertIn("90.0 ms of device time was launched elsewhere", page.value("document.querySelector('.flames .note').textContent"))

    def test_ranks_stand_under_each_other_and_close(self):
        for rank in (0, 1):
            write_trace(self.folder / "job" / f"rank{rank}.json", loading_events(2), rank=rank)
        page = self.open(self.report(self.folder / "job"))
        titles = "Array.from(document.querySelectorAll('.timeline-labels button:not([hidden])'), (label) => label.textContent)"
        self.assertEqual([title for title in page.value(titles) if title.startswith("rank")], ["rank 0", "rank 1"])
        before = len(page.value(titles))
        page.value("document.querySelector('.timeline-rank').click()")
        page.settle()
        self.assertEqual(len(page.value(titles)), before // 2 + 1)
        self.assertEqual(page.value("document.querySelector('.timeline-rank').getAttribute('aria-expanded')"), "false")

    def test_names_of_strangers_stay_names(self):
        events = loading_events(1) + [kernel(name, 2_000_000 + 1000 * i, 900, 100 + i, stream=8) for i, name in enumerate(NAMES)]
        page = self.trace_page(events)
        names = page.value(f"{TIMELINE}.model.names")
        for name in NAMES[:3]:
            self.assertIn(name, names)
        self.assertTrue([name for name in names if name.startswith("kkkk") and "…" in name and len(name) < 1100])
        page.value("document.querySelector('details.numbers').open = true")
        page.settle()
        self.assertIsNone(page.value("window.hostile"))
        self.assertEqual(page.value("document.querySelectorAll('main script').length"), 0)
        page.resize(390)
        page.settle()
        self.assertLessEqual(page.value("document.documentElement.scrollWidth"), 390)

    def test_it_fits_and_is_coloured_by_the_theme(self):
        page = self.trace_page(loading_events())
        self.assert_fits(page, "trace")
        page.resize(1280)
        blues = {}
        for dark, colour in ((False, [13, 87, 159]), (True, [56, 131, 210])):
            page.dark(dark)
            page.settle()
            blues[dark] = page.value(PIXELS + f"({colour})")
        self.assertGreater(blues[False], 1000)
        self.assertAlmostEqual(blues[True], blues[False], delta=0.01 * blues[False])  # texts are black or white
        # Printing uses the light theme.
        page.dark(True, media="print")
        page.settle()
        self.assertGreaterEqual(page.value(PIXELS + "([13, 87, 159])"), blues[False])
        page.screenshot(SCREENSHOTS / "trace-print.png")

    def test_an_empty_trace_is_a_page(self):
        page = self.trace_page([op("aten::mm", 5, 0)])
        self.assertEqual(len(page.value(SLICES)), 1)
        page.value("document.querySelector('.timeline canvas').focus()")
        page.key("ArrowDown")
        self.assertIn("aten::mm: 0 ns", page.value(SPOKEN))

    def test_what_cannot_be_read_makes_no_page(self):
        good = write_trace(self.folder / "good.json", loading_events(1))
        broken = self.write_file("broken.json", json.dumps(document([]))[:-4])
        out = self.folder / "page.html"
        self.assert_refused(headroom("report", good, broken, "-o", out), "broken.json")
        self.assertFalse(out.exists())
        self.assert_refused(headroom("report", good, "-o", good), "good.json", "not a headroom page")
        self.assertEqual(len(json.loads(good.read_text())["traceEvents"]), 7)

    def test_the_same_traces_give_the_same_page(self):
        path = write_trace(self.folder / "trace.json.gz", loading_events())
        first = self.report(path).read_bytes()
        self.assertEqual(self.report(path, "--threads", "1").read_bytes(), first)


if __name__ == "__main__":
    main()
