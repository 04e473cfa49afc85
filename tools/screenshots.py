#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes screenshots of the sample pages (tools/sample_pages.py): NAME-WIDTH-THEME.png, 1280 and 390 pixels wide, light and dark.

    tools/screenshots.py FOLDER             programs: HEADROOM_BIN, else build/release/bin
    tools/screenshots.py --docs             only docs/images/trace.png and report.png
"""
import collections
import pathlib
import struct
import sys
import tempfile
import zlib

from sample_pages import ROOT, test_module, write_pages

WIDTHS = (1280, 390)
IMAGES = {"trace": ("trace.png", 900), "run": ("report.png", 930)}  # page: file of docs/images, height
CHANNELS = {2: 3, 6: 4}


def pixels_of(png):
    """Returns width, height and the RGB of each pixel of an 8-bit PNG without interlace."""
    place, chunks = 8, collections.defaultdict(bytes)
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        chunks[kind] += png[place + 8:place + 8 + length]
        place += length + 12
    width, height, _, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    each, data = CHANNELS[colours], zlib.decompress(chunks[b"IDAT"])
    stride, above, pixels = width * each, bytearray(width * each), []
    for y in range(height):
        how, line = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride if how else 0):
            left, up, corner = line[x - each] if x >= each else 0, above[x], above[x - each] if x >= each else 0
            if how == 4:
                guess = left + up - corner
                nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            else:
                nearest = (0, left, up, (left + up) // 2)[how]
            line[x] = (line[x] + nearest) & 255
        pixels += [bytes(line[x:x + 3]) for x in range(0, stride, each)]
        above = line
    return width, height, pixels


def small_png(png):
    """The same image in the 256 colours that lose least."""
    width, height, pixels = pixels_of(png)
    counts = collections.Counter(pixels)
    palette = []
    for colour, _ in counts.most_common():  # the most frequent, but none close to another
        if len(palette) < 256 and all(sum(abs(a - b) for a, b in zip(colour, kept)) > 18 for kept in palette):
            palette.append(colour)
    nearest = {colour: min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(colour, palette[i]))) for colour in counts}
    lines = b"".join(b"\0" + bytes(nearest[pixel] for pixel in pixels[y * width:(y + 1) * width]) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + \
        chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def write_images(browser, pages):
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    for name, (file, height) in IMAGES.items():
        page = browser.open(pages[name].as_uri(), width=WIDTHS[0], height=height)
        page.screenshot(folder / file, height)
        (folder / file).write_bytes(small_png((folder / file).read_bytes()))
        print(folder / file, (folder / file).stat().st_size)


def main(folder):
    chromium = test_module("chromium")
    if chromium.PATH is None:
        sys.exit("screenshots: no chromium; install the packages of packages/test.txt")
    with tempfile.TemporaryDirectory() as made, chromium.Chromium() as browser:
        pages = write_pages(pathlib.Path(made))
        if folder is None:
            return write_images(browser, pages)
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in pages.items():
            page = browser.open(path.as_uri())
            for width in WIDTHS:
                page.resize(width)
                for theme in ("light", "dark"):
                    page.dark(theme == "dark")
                    page.settle()
                    page.screenshot(folder / f"{name}-{width}-{theme}.png")


if __name__ == "__main__":
    if len(sys.argv) != 2 or (sys.argv[1].startswith("-") and sys.argv[1] != "--docs"):
        sys.exit(__doc__.strip())
    main(None if sys.argv[1] == "--docs" else pathlib.Path(sys.argv[1]))
