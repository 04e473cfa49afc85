# SPDX-License-Identifier: Apache-2.0
"""Colours of pages, computed from the style sheets: kinds and series stay apart, also for colour blindness, and texts are readable."""
import itertools
import math
import pathlib
import re
import unittest

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "src" / "headroom_pages" / "assets"
SHADES = (0, 0.12, 0.24)  # towards the paper, as in timeline/painter.js
# Machado, Oliveira, Fernandes, IEEE TVCG 15(6), 2009, severity 1, on linear RGB.
BLINDNESS = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))}


def linear(colour):
    parts = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def oklab(rgb):
    """Ottosson, "A perceptual color space for image processing", 2020."""
    lms = times(((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
                 (0.0883024619, 0.2817188376, 0.6299787005)), rgb)
    return times(((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
                  (0.0259040371, 0.7827717662, -0.8086757660)), [max(one, 0) ** (1 / 3) for one in lms])


def seen(colour, blindness=None):
    rgb = linear(colour)
    return oklab(rgb if blindness is None else [min(1, max(0, part)) for part in times(BLINDNESS[blindness], rgb)])


def contrast(a, b):
    """As in WCAG 2."""
    low, high = sorted(sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), linear(one))) for one in (a, b))
    return (high + 0.05) / (low + 0.05)


def mixed(colour, paper, share):
    parts = ((int(colour[i:i + 2], 16), int(paper[i:i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def themes():
    """Returns {theme: {variable: colour}}; checks that the switch and the system's dark theme are the same."""
    text = "".join((ASSETS / name).read_text(encoding="utf-8").split("@media print")[0] for name in ("page.css", "timeline.css"))
    colours = {}
    for theme, selector in (("light", r":root"), ("dark", r':root\[data-theme="dark"\]'), ("system", r':root:not\(\[data-theme="light"\]\)')):
        blocks = re.findall(r"(?m)^ *" + selector + r" \{([^}]*)\}", text)
        colours[theme] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", "".join(blocks)))
    assert colours.pop("system") == colours["dark"]
    return {"light": colours["light"], "dark": {**colours["light"], **colours["dark"]}}


class ColoursTest(unittest.TestCase):
    def each(self, prefix):
        for theme, colours in themes().items():
            own = {name: colour for name, colour in colours.items() if name.startswith(prefix)}
            self.assertGreater(len(own), 5)
            yield theme, colours["paper"], own

    def assert_apart(self, prefix, least, least_for_the_blind):
        for theme, _, own in self.each(prefix):
            for (a, first), (b, other) in itertools.combinations(own.items(), 2):
                with self.subTest(f"{theme}: {a}, {b}"):
                    self.assertGreaterEqual(math.dist(seen(first), seen(other)), least)
                    for blindness in BLINDNESS:
                        self.assertGreaterEqual(math.dist(seen(first, blindness), seen(other, blindness)), least_for_the_blind, blindness)

    def test_series_stay_apart(self):
        self.assert_apart("mark-", 0.14, 0.085)

    def test_kinds_of_the_timeline_stay_apart(self):
        self.assert_apart("kind-", 0.12, 0.075)

    def test_shades_of_a_kind_are_not_another_kind(self):
        for theme, paper, own in self.each("kind-"):
            shades = {name: [seen(mixed(colour, paper, share)) for share in SHADES] for name, colour in own.items()}
            for (a, first), (b, other) in itertools.combinations(shades.items(), 2):
                with self.subTest(f"{theme}: {a}, {b}"):
                    self.assertGreaterEqual(min(math.dist(x, y) for x in first for y in other), 0.07)

    def test_marks_stand_out_from_the_paper(self):
        for prefix in ("mark-", "kind-"):
            for theme, paper, own in self.each(prefix):
                for name, colour in own.items():
                    with self.subTest(f"{theme}: {name}"):
                        self.assertGreaterEqual(contrast(colour, paper), 1.6 if name == "kind-other" else 3)

    def test_texts_are_readable(self):
        for theme, colours in themes().items():
            for name in ("ink", "faint", "good", "bad"):
                for ground in ("paper", "band"):
                    with self.subTest(f"{theme}: {name} on {ground}"):
                        self.assertGreaterEqual(contrast(colours[name], colours[ground]), 4.5)
            for kind in ("operator", "call", "python", "annotation", "other"):  # black text of the flame graph
                with self.subTest(f"{theme}: {kind}"):
                    self.assertGreaterEqual(contrast(colours["kind-" + kind], "#000000"), 4.5)


if __name__ == "__main__":
    unittest.main()
