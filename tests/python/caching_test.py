# SPDX-License-Identifier: Apache-2.0
"""headroom.cache, with pretended compilations."""
import importlib
import os
import sys
import time
import unittest
from unittest import mock

import headroom as hr
from scratch import ScratchTest

# "Compiling" advances a fake clock by the stated time. Only cache names matter.
COMPILER = """
import os, pathlib, time
INDUCTOR, TEMPORARY = (pathlib.Path(os.environ.get(name, "/none")) for name in ("TORCHINDUCTOR_CACHE_DIR", "TMPDIR"))
clock = 100.0
def build():
    global clock
    time.perf_counter = lambda: clock
    print("a compiler may print")
    clock += 1
    for place, cost in ((INDUCTOR / "fxgraph" / "graph", 2), (INDUCTOR / "ab" / "kernel.so", 4),
                        (TEMPORARY / "torchinductor_me" / "precompiled_headers" / "h.gch", 8),
                        (TEMPORARY / "somewhere" / "else", 16)):
        if not place.exists():
            clock += cost
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("compiled")
time.perf_counter = lambda: clock
class Model:
    @staticmethod
    def build():
        build()
if __name__ == "__main__":
    build()
"""


class Cache(ScratchTest):
    def setUp(self):
        super().setUp()
        self.write("compiler.py", COMPILER)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def imported(self, name, folder):
        """Imports `name` from `folder` for this test."""
        sys.path.insert(0, str(folder))
        self.addCleanup(sys.path.remove, str(folder))
        self.addCleanup(sys.modules.pop, name)
        self.addCleanup(setattr, time, "perf_counter", time.perf_counter)
        return importlib.import_module(name)

    def test_a_time_cuts_the_pairs(self):
        cached = hr.cache(["true"], layers=["env:MINE"], repeat=10_000, max_time=.2)
        self.assertGreater(cached.cold_s, 0)
        self.assertLess(max(row["samples"] for row in cached.records.rows()), 10_000)
        with self.assertRaisesRegex(hr.CommandFailed, "not reached within --max-time 5"):
            hr.cache(["sleep", "6"], layers=["env:MINE"], max_time=5)

    def test_a_function_and_what_each_cache_saves(self):
        cached = hr.cache("compiler:build", layers=["inductor"], repeat=2, each_layer=True)
        self.assertEqual((cached.cold_s, cached.warm_s), (31, 1))
        self.assertAlmostEqual(cached.speed_up, 31)
        self.assertEqual(cached.without_s, {"inductor.fx_graph": 3, "inductor.headers": 9, "inductor.code": 5})
        self.assertEqual(cached.saved_s, {"inductor.fx_graph": 2, "inductor.headers": 8, "inductor.code": 4})
        self.assertIn("inductor.headers saves 8 s: without it alone 9 s", repr(cached))
        self.assertEqual(set(cached.records["experiment"]), {"build"})

    def test_a_function_that_is_loaded_from_elsewhere(self):
        os.chdir("/")
        compiler = self.imported("compiler", self.folder)
        for function, name in ((compiler.build, "build"), (compiler.Model.build, "Model.build")):
            cached = hr.cache(function, layers=["inductor"], repeat=1)
            self.assertEqual((cached.cold_s, cached.warm_s, cached.interval), (31, 1, None))
            self.assertEqual(set(cached.records["experiment"]), {name})

    def test_a_function_of_the_script_itself(self):
        self.write("script.py", COMPILER + """
    import headroom as hr
    print(hr.cache(build, layers=["inductor"], repeat=1))
""")
        self.assert_exit(self.call(sys.executable, "script.py"), 0, "cold 31 s, warm 1 s: 31 x as fast")

    def test_a_command(self):
        cached = hr.cache([sys.executable, "compiler.py"], layers=["inductor"], repeat=1, name="mine")
        self.assertGreater(cached.cold_s, 0)
        self.assertIsNone(cached.interval)
        self.assertEqual(cached.without_s, {})
        self.assertEqual(set(cached.records["experiment"]), {"mine"})

    def test_what_cannot_be_a_target(self):
        for target in ("compiler.py", "python3 compiler.py", ":build", "compiler:"):
            self.assertRaisesRegex(ValueError, "a command is a list of words", hr.cache, target)
        with self.assertRaisesRegex(hr.CommandFailed, "compiler has no function bild"):
            hr.cache("compiler:bild", layers=["inductor"], repeat=1)

    def test_functions_that_cannot_be_found(self):
        self.assertRaisesRegex(ValueError, "another process cannot find", hr.cache, lambda: 1)

        def inner():
            pass
        self.assertRaisesRegex(ValueError, "at the top level", hr.cache, inner)

    def test_a_run_that_fails(self):
        self.write("broken.py", "def build():\n    raise ValueError('no compiler')\n")
        self.assertRaisesRegex(hr.CommandFailed, "no compiler", hr.cache, "broken:build", layers=["inductor"], repeat=1)

    def test_no_temporary_files_stay(self):
        (self.folder / "tmp").mkdir()
        with mock.patch.dict(os.environ, TMPDIR=str(self.folder / "tmp")):
            hr.cache("compiler:build", layers=["inductor"], repeat=1)
        self.assertEqual(os.listdir(self.folder / "tmp"), [])


if __name__ == "__main__":
    unittest.main()
