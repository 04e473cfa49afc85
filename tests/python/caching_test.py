# SPDX-License-Identifier: Apache-2.0
"""headroom.cache, and what `headroom cache` says of TMPDIR and of each cache, by programs that pretend to compile."""
import os

import sys
import tempfile
import time
import unittest

import headroom as hr
from scratch import HEADROOM, ScratchTest

COMPILER = """
import os, pathlib, time
def build():
    total = 0.0
    for place, cost in ((pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) / "fxgraph" / "graph", .03),
                        (pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) / "ab" / "kernel.so", .06),
                        (pathlib.Path(os.environ["TMPDIR"]) / "torchinductor_me" / "precompiled_headers" / "h.gch", .12),
                        (pathlib.Path(os.environ["TMPDIR"]) / "somewhere" / "else", 0.01)):
        if not place.exists():
            time.sleep(cost)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("compiled")
if __name__ == "__main__":
    build()
"""


class Cache(ScratchTest):
    def setUp(self):
        super().setUp()
        self.write("compiler.py", COMPILER)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def test_a_function_and_what_each_cache_saves(self):
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        import compiler  # of this folder
        self.addCleanup(sys.modules.pop, "compiler")
        cached = hr.cache(compiler.build, layers=["inductor"], repeat=2, each_layer=True)
        self.assertGreater(cached.cold_s, .2)
        self.assertLess(cached.warm_s, .1)
        self.assertGreater(cached.speed_up, 2)
        self.assertEqual(set(cached.without_s), {"inductor.fx_graph", "inductor.aot_autograd", "inductor.headers", "inductor.code"})
        self.assertGreater(cached.without_s["inductor.headers"], .12)
        self.assertGreater(cached.without_s["inductor.code"], .06)
        self.assertLess(cached.without_s["inductor.code"], .12)
        self.assertIn("with inductor.headers alone cold", repr(cached))

    def test_a_command(self):
        cached = hr.cache([sys.executable, "compiler.py"], layers=["inductor"], repeat=1, name="mine")
        self.assertGreater(cached.cold_s, cached.warm_s)
        self.assertIsNone(cached.interval)
        self.assertEqual(set(cached.records["experiment"]), {"mine"})

    def test_what_outlives_the_layers_is_told(self):
        result = self.call(HEADROOM, "cache", "--layer", "inductor", "--repeat", "2", "--each-layer", "--no-store", "--",
                           sys.executable, "compiler.py")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("in no layer: commands left 1 files", result.stdout)
        self.assertIn("cold was cold", result.stdout)
        self.assertRegex(result.stdout, r"inductor.headers +\d")
        self.assertIn("they do not add up", result.stdout)

    def test_functions_that_cannot_be_found(self):
        with self.assertRaisesRegex(ValueError, "cannot be found by another process"):
            hr.cache(lambda: 1)

        def inner():
            pass
        with self.assertRaisesRegex(ValueError, "not one within another"):
            hr.cache(inner)

    def test_a_run_that_fails(self):
        self.write("broken.py", "def build():\n    raise ValueError('no compiler')\n")
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        import broken
        self.addCleanup(sys.modules.pop, "broken")
        with self.assertRaises(hr.CommandFailed):
            hr.cache(broken.build, layers=["inductor"], repeat=1)

    def test_no_temporary_files_stay(self):
        before = set(os.listdir(tempfile.gettempdir()))
        hr.cache([sys.executable, "compiler.py"], layers=["inductor"], repeat=1)
        time.sleep(.1)
        left = {name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("headroom")}
        self.assertEqual(left, set())

if __name__ == "__main__":

    unittest.main()
