#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and size of the page of a large trace, and its frame times in the browser.

    bench/trace_page.py TRACE.json... [--headroom build/release/bin/headroom] [--runs 5]

TRACE: see bench/make_trace_replicas.py. Prints the minimum of --runs times of `headroom trace` (devices only for files over 700 MiB),
`headroom trace findings` and `headroom report`; the page's size; the time until it is drawn; and, while zooming by the wheel at 1280 x
900, the frame time (median, 99 %, longest of 240) and the number of frames over 16.7 ms (60 Hz).
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "page"))
from chromium import PATH, Chromium  # noqa: E402

FRAME_MS = 1000 / 60
ZOOM = """new Promise((done) => {
  const timeline = document.querySelector('.timeline').timeline, times = [], from = performance.now();
  let frame = 0;
  const step = () => {
    if (frame > 0) times.push(timeline.draw_ms);
    if (frame === 240) return done(times.concat(performance.now() - from));
    const inwards = frame % 120 < 60;
    timeline.wheel({ offsetX: 300 + frame * 3 % 700, offsetY: 100, deltaX: 0, deltaY: inwards ? -60 : 60, deltaMode: 0,
      shiftKey: false, preventDefault() {} });
    frame += 1;
    requestAnimationFrame(step);
  };
  timeline.show_all();
  requestAnimationFrame(step);
})"""


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    return time.perf_counter() - start


def times_of(commands, runs):
    """Returns the minimum time of each command; they run in turn, so that disturbances affect all."""
    rounds = [[seconds(command) for command in commands] for _ in range(runs)]
    return [min(column) for column in zip(*rounds)]


def browse(browser, path):
    """Returns seconds to the first picture, milliseconds of frames, and frames per second."""
    start = time.perf_counter()
    page = browser.open(path.as_uri())
    page.value("document.querySelector('.timeline').timeline.draw_ms")
    drawn = time.perf_counter() - start
    *frames, whole_ms = page.value(ZOOM)
    errors = page.errors()
    if errors:
        sys.exit(f"{path}: {errors}")
    return drawn, sorted(frames), len(frames) / whole_ms * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    parser.add_argument("--headroom", default=str(ROOT / "build" / "release" / "bin" / "headroom"))
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for trace in options.traces:
            out = pathlib.Path(folder) / "page.html"
            analysis, findings, page = times_of(
                [[options.headroom, "trace", "--no-store", trace], [options.headroom, "trace", "findings", "--no-store", trace],
                 [options.headroom, "report", trace, "-o", out]], options.runs)
            print(f"{trace.name}: {trace.stat().st_size / 1e6:.0f} MB")
            print(f"  trace {analysis:.2f} s, findings {findings:.2f} s, page {page:.2f} s: {page / analysis:.2f} x trace, "
                  f"{page / findings:.2f} x findings; {out.stat().st_size / 1e6:.2f} MB")
            if PATH is None:
                print("  no chromium: frame times not measured")
                continue
            with Chromium() as browser:
                drawn, frames, rate = browse(browser, out)
            late = sum(frame > FRAME_MS for frame in frames)
            print(f"  drawn after {drawn:.2f} s; a frame takes {frames[len(frames) // 2]:.1f} ms (99 %: "
                  f"{frames[len(frames) * 99 // 100]:.1f}, longest {frames[-1]:.1f}); {late} of {len(frames)} over {FRAME_MS:.1f} ms; "
                  f"{rate:.0f} frames a second")


if __name__ == "__main__":
    main()
