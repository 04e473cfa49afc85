# SPDX-License-Identifier: Apache-2.0
"""`headroom cache` with tools that write below TMPDIR, and --each-layer."""
import os
import unittest

from command_line import CommandLineTest, headroom, records_of

# Costs 1, plus a cost per empty cache. A cached kernel needs no header.
COMPILER = """
cost=1
pay() { if ! test -e "$1"; then cost=$((cost + $2)); mkdir -p "$(dirname "$1")"; echo compiled > "$1"; fi; }
pay "$TORCHINDUCTOR_CACHE_DIR/fxgraph/graph" 2
if ! test -e "$TORCHINDUCTOR_CACHE_DIR/ab/kernel.so"; then
  pay "$TMPDIR/torchinductor_me/precompiled_headers/h.gch" 20
  pay "$TORCHINDUCTOR_CACHE_DIR/ab/kernel.so" 4
fi
pay "$TRITON_CACHE_DIR/0/kernel" 8
printf 123456789 > "$TMPDIR/scratch-file"
mkdir -p "$TMPDIR/tool/cache"; printf '%2000s' x > "$TMPDIR/tool/cache/most"
echo cost $cost
"""


class PartsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = dict(os.environ, TMPDIR=str(self.temporary), XDG_DATA_HOME=str(self.folder / "data"),
                                TRITON_CACHE_DIR=str(self.folder / "ours"))
        self.records = self.folder / "records.json"

    def tearDown(self):
        self.assertEqual(list(self.temporary.iterdir()), [], "what is in TMPDIR goes with the run")

    def cache(self, *arguments, script=COMPILER):
        return headroom("cache", "--no-store", "--metric", "output:cost ([0-9]+)", "--unit", "s", "--name", "tool",
                        "--json", self.records, *arguments, "--", "sh", "-c", script, env=self.environment)

    def values_of(self, phase):
        """The samples of "Cold" or "Warm" runs."""
        return next(record["samples"][0]["values"] for record in records_of(self.records)
                    if record["metric"]["name"].startswith(phase))

    def without(self):
        """Returns {cache: samples of the runs without it}."""
        return {record["metric"]["extra_info"]["cache"]: record["samples"][0]["values"] for record in records_of(self.records)
                if record["metric"]["name"].startswith("Without")}

    def test_what_lies_below_tmpdir_is_cold_and_told(self):
        result = self.cache("--layer", "ccache", "--repeat", 3,
                            script='if test -e "$TMPDIR/tool/x"; then echo cost 1; else mkdir "$TMPDIR/tool"; echo cost 9; fi; '
                                   'printf %2000s x > "$TMPDIR/tool/x"')
        self.assert_exit(result, 0)
        self.assertIn("cold runs were cold: before each of the 3,", result.stdout)
        self.assertRegex(result.stdout, r"in no layer: commands left 1 file, 1.95 KiB, in TMPDIR, mostly in TMPDIR/tool; "
                                        "it was also empty before")
        self.assertEqual(self.values_of("Cold"), [9, 9, 9])
        told = [record["metric"]["extra_info"].get("in no layer") for record in records_of(self.records)]
        self.assertIn("files 1, bytes 2000, in TMPDIR/tool", told)

    def test_nothing_is_said_of_a_tmpdir_that_stays_empty(self):
        result = self.assert_exit(self.cache("--layer", "ccache", "--repeat", 1, script="echo cost 1"), 0)
        self.assertNotIn("in no layer", result.stdout)

    def test_what_each_cache_saves(self):
        result = self.assert_exit(self.cache("--layer", "inductor", "--each-layer", "--repeat", 7), 0)
        self.assertEqual((self.values_of("Cold"), self.values_of("Warm")), ([35] * 7, [1] * 7))
        # Headers alone are not needed, but must be restored, or code would pay for them.
        self.assertEqual(self.without(), {"inductor.fx_graph": [3] * 7, "inductor.headers": [1] * 7, "inductor.triton": [9] * 7,
                                          "inductor.code": [5] * 7})
        records = {record["metric"]["name"]: record for record in records_of(self.records)}
        code = records["speedup by inductor.code"]
        for value in (code["metric"]["value"], code["interval"]["low"], code["interval"]["high"]):
            self.assertAlmostEqual(value, 5)
        saved = {record["metric"]["extra_info"]["cache"]: record["metric"]["numbers"]["saves"]
                 for name, record in records.items() if name.startswith("Without")}
        self.assertEqual(saved["inductor.code"], 4)
        self.assertRegex(result.stdout, r"inductor\.code +9.*B +5.*s +5\.00x +5\.00x to 5\.00x +4.*s")
        self.assertIn("empty: inductor.aot_autograd, inductor.autotune", result.stdout)
        self.assertIn("savings do not add up", result.stdout)
        self.assertRegex(result.stdout, r"in no layer: commands left 2 files, .* TMPDIR/tool/cache;")
        self.assertFalse((self.folder / "ours").exists(), "the triton of inductor is inductor's")

    def test_triton_as_a_layer_of_its_own_in_any_order(self):
        for layers in (("inductor", "triton"), ("triton", "inductor")):
            result = self.cache(*(word for layer in layers for word in ("--layer", layer)), "--each-layer", "--repeat", 1)
            self.assert_exit(result, 0)
            self.assertEqual(self.without()["triton"], [9])
            self.assertNotIn("inductor.triton", self.without())

    def test_a_folder_at_its_place_is_as_it_was_after_each(self):
        cached = self.folder / "cached"
        cached.mkdir()
        (cached / "precious").write_text("precious")
        log = self.folder / "log"
        result = self.cache("--layer", f"folder:{cached}", "--layer", "env:MINE", "--each-layer", "--repeat", 4, script=f"""
            if test -e {cached}/x; then cost=1; else cost=9; echo $$ > {cached}/x; fi; cat {cached}/x >> {log}
            echo x >> $MINE/runs; echo cost $cost""")
        self.assert_exit(result, 0)
        self.assertEqual(self.without(), {f"folder:{cached}": [9] * 4, "env:MINE": [1] * 4})
        # The run without the cache differs.
        runs = log.read_text().split()
        for pair in (runs[i:i + 5] for i in range(0, 20, 5)):
            self.assertEqual(sorted(pair.count(run) for run in set(pair)), [1, 4])
        self.assertEqual([entry.name for entry in cached.iterdir()], ["precious"])
        self.assertEqual([entry.name for entry in self.folder.glob(".cached*")], [])

    def test_a_run_that_fails_without_a_cache_says_which(self):
        result = self.cache("--layer", "env:MINE", "--layer", "env:OTHER", "--each-layer", "--repeat", 1, script="""
            touch $MINE/x; n=$(ls $OTHER | wc -l); if test -e $MINE/second && test $n = 0; then exit 4; fi
            touch $MINE/second $OTHER/x; echo cost 1""")
        self.assert_exit(result, 1)
        self.assertIn("FAILED: tool: env:OTHER cold run of pair 1: exit code 4", result.stdout)

    def test_records_are_compared(self):
        self.assert_exit(self.cache("--layer", "inductor", "--each-layer", "--repeat", 2), 0)
        self.assert_exit(headroom("diff", self.records, self.records), 0, "tool")

    def test_names_are_for_commands(self):
        self.assert_refused(headroom("cache", "--suite", "ccache", "--name", "x", "--no-store"), "--name")


if __name__ == "__main__":
    unittest.main()
