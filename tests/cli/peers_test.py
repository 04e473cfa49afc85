# SPDX-License-Identifier: Apache-2.0
"""`headroom run --peer`: right and wrong functions of shared libraries."""
import pathlib
import re
import unittest

from command_line import BIN, BRIEF, CommandLineTest, clean_environment, headroom, records_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = BIN / "peer_functions.so"
RUN = ["--hot", "--no-limits", "--no-store", "--processes", "1", "-a", "D=64"]


class PeersTest(CommandLineTest):
    def run_with(self, *arguments, code=0, **options):
        """Returns (outcome, reason, record) by (experiment, dtype, backend)."""
        path = self.folder / "records.json"
        path.unlink(missing_ok=True)
        result = headroom("run", *RUN, *BRIEF, *arguments, "--json", path, **options)
        self.shown = result.stdout
        self.assert_exit(result, code)
        return {(r["model"]["name"], dict(r["axes"])["dtype"], r["model"]["backend"]):
                (r["outcome"]["kind"], r["outcome"].get("reason", ""), r) for r in records_of(path)
                if r["metric"]["name"] == "latency" or r["outcome"]["kind"] != "measured"}

    def test_good_ones_are_verified_beside_native(self):
        found = self.run_with("gemv", "gather_gemv", "layer_norm", "-a", "BS=4", "--peer", f"{LIBRARY}:good")
        cases = [(name, dtype) for name in ("gemv", "gather_gemv") for dtype in ("int8", "bf16")] + [("layer_norm", "bf16")]
        self.assertEqual(set(found), {(*case, backend) for case in cases for backend in ("native", "good")})
        for case, (kind, reason, record) in found.items():
            self.assertEqual((kind, record["verified"]), ("measured", True), f"{case} {reason}")
        self.assertIn("ratio", found["gemv", "bf16", "good"][2])
        self.assertEqual(found["gemv", "bf16", "good"][2]["model"]["extra_info"]["isa"], "peer_functions.so:good")

    def test_several_with_names_dtypes_and_threads(self):
        found = self.run_with(
            "gemv", "--threads", "2", "--peer", f"{LIBRARY}:packed", "--peer", f"{LIBRARY}:whole,name=one,threads=own",
            "--peer", f"{LIBRARY}:good,dtype=bf16,name=two", "--peer", f"{LIBRARY}:bf16_only")
        for name in ("packed", "one", "two", "bf16_only"):
            self.assertEqual(found["gemv", "bf16", name][0], "measured", found["gemv", "bf16", name][1])
        for name in ("packed", "one"):
            self.assertEqual(found["gemv", "int8", name][0], "measured", found["gemv", "int8", name][1])
        self.assertIn("dtype=bf16", found["gemv", "int8", "two"][1])
        self.assertEqual(found["gemv", "int8", "bf16_only"][:2],
                         ("skipped", "peer_functions.so:bf16_only does not support this operation, dtype or shape"))
        self.assertIn("prepared ahead", str(found["gemv", "bf16", "packed"][2]["model"]["extra_info"]))

    def test_what_cannot_be_prepared_is_skipped(self):
        kind, reason, _ = self.run_with("layer_norm", "-a", "BS=4", "--peer", f"{LIBRARY}:packed")["layer_norm", "bf16", "packed"]
        self.assertEqual(kind, "skipped")
        self.assertIn("packed_prepare returned null", reason)

    def test_bad_ones_are_rows_and_the_others_go_on(self):
        names = ["crashes", "lies", "fails", "writes_behind", "writes_before", "writes_later"]
        peers = [word for name in names for word in ("--peer", f"{LIBRARY}:{name}")]
        found = self.run_with("gemv", "-a", "dtype=bf16", *peers, "--peer", f"{LIBRARY}:good", code=1)
        for name in ("native", "good"):
            self.assertEqual(found["gemv", "bf16", name][0], "measured", found["gemv", "bf16", name][1])
        said = {"crashes": "Segmentation fault|SIGSEGV", "lies": "wrong answer", "fails": "it returned 42",
                "writes_behind": "writes outside of y: 4 bytes .* 0 bytes after its end",
                "writes_before": "writes outside of y: 2 bytes .* 16 bytes before its start",
                "writes_later": "writes outside of y: 2 bytes .* 6 bytes after its end"}
        for name, words in said.items():
            kind, reason, _ = found["gemv", "bf16", name]
            self.assertEqual(kind, "failed", f"{name}: {reason}")
            self.assertRegex(reason, words)

    def test_one_that_stops_computing_is_found_after_its_samples(self):
        names = ["stops", "stops_later", "noisy", "good"]
        peers = [word for name in names for word in ("--peer", f"{LIBRARY}:{name}")]
        for threads in ("1", "2"):
            found = self.run_with("gemv", "-a", "dtype=bf16", *peers, "--threads", threads, code=1)
            for name in ("native", "noisy", "good"):
                kind, reason, record = found["gemv", "bf16", name]
                self.assertEqual((kind, record["verified"]), ("measured", True), f"{name}: {reason}")
            for name in ("stops", "stops_later"):
                kind, reason, record = found["gemv", "bf16", name]
                self.assertEqual((kind, record["verified"]), ("failed", False), name)
                self.assertRegex(reason, "after its samples: wrong answer at index 0 of 64: -?nan")

    def test_one_that_stops_computing_in_the_second_process_is_found(self):
        mark = self.folder / "mark"
        found = self.run_with("gemv", "-a", "dtype=bf16", "--processes", "2", "--peer", f"{LIBRARY}:stops_in_the_second_process",
                              code=1, env=clean_environment(PEER_MARK=str(mark)))
        self.assertTrue(mark.is_dir())
        self.assertEqual(found["gemv", "bf16", "native"][0], "measured")
        kind, reason, _ = found["gemv", "bf16", "stops_in_the_second_process"]
        self.assertEqual(kind, "failed", reason)
        self.assertIn("after its samples: wrong answer", reason)

    def test_one_that_stops_computing_is_flagged_where_wrong_answers_are_kept(self):
        _, reason, record = self.run_with("gemv", "-a", "dtype=bf16", "--keep-wrong", "--peer", f"{LIBRARY}:stops", code=1)["gemv", "bf16", "stops"]
        self.assertTrue(record["kept_wrong"])
        self.assertFalse(record["verified"])
        self.assertIn("after its samples: wrong answer", reason)

    def test_what_one_changes_of_its_threads_is_restored_and_named(self):
        changes = {"rounds_up": "the rounding mode", "flushes_to_zero": "flush to zero", "blocks_signals": "the signal mask",
                   "lowers_its_priority": "the priority"}
        peers = [word for name in (*changes, "needs_defaults") for word in ("--peer", f"{LIBRARY}:{name}")]
        for threads in ("1", "2"):
            found = self.run_with("gemv", "-a", "dtype=bf16", *peers, "--threads", threads)
            for name in ("native", "needs_defaults", *changes):
                kind, reason, record = found["gemv", "bf16", name]
                self.assertEqual((kind, record["verified"]), ("measured", True), f"{name}: {reason}")
                said = [note for note in record.get("notes", []) if "headroom restored it" in str(note)]
                if name in changes:
                    self.assertEqual(len(said), 1, record)
                    self.assertRegex(said[0], f"^{name} changed {changes[name]}")
                    self.assertEqual(self.shown.count(said[0]), 1, self.shown)
                else:
                    self.assertEqual(said, [], name)

    def test_what_one_changes_when_it_is_loaded_is_restored_and_named(self):
        found = self.run_with("gemv", "-a", "dtype=bf16", "--peer", f"{BIN}/rounding_peer.so:needs_defaults", "--peer", f"{LIBRARY}:good")
        for name in ("native", "needs_defaults", "good"):
            self.assertEqual(found["gemv", "bf16", name][0], "measured", found["gemv", "bf16", name][1])
        self.assertEqual(re.findall(r"(\w+) changed the rounding mode", self.shown), ["needs_defaults"])

    def test_one_that_hangs_is_ended(self):
        found = self.run_with("gemv", "-a", "dtype=bf16", "--timeout", "2s", "--peer", f"{LIBRARY}:hangs", code=1)
        self.assertEqual(found["gemv", "bf16", "native"][0], "measured")
        self.assertEqual(found["gemv", "bf16", "hangs"][0], "failed")
        self.assertIn("2", found["gemv", "bf16", "hangs"][1])
        self.assert_nothing_runs()

    def refused(self, peer, *words):
        self.assert_refused(headroom("run", "gemv", *RUN, *BRIEF, "--peer", peer), "--peer", *words)

    def test_what_is_no_peer_is_refused(self):
        self.refused("libmine", "expected PATH:SYMBOL")
        self.refused(f"{LIBRARY}:", "expected PATH:SYMBOL")
        self.refused(f"{self.folder}/none.so:f", "no file")
        self.refused(f"{LIBRARY}:god", "exports no function 'god'", "did you mean 'good'")
        self.refused(f"{LIBRARY}:good,dtype=f64", "'dtype=f64' is not an option")
        self.refused(f"{LIBRARY}:good,name=native", "backend 'native' exists already")
        self.refused(f"{LIBRARY}:good,name=a b", "cannot name a backend")

    def test_what_is_no_library_is_refused(self):
        text = self.write_file("text.so", "no library\n")
        self.refused(f"{text}:f", "is not a shared library")
        self.refused(f"{self.folder}:f", str(self.folder))
        whole = LIBRARY.read_bytes()
        damaged = self.folder / "damaged.so"
        damaged.write_bytes(whole[:40])
        self.refused(f"{damaged}:f", "is truncated")
        foreign = 243 if whole[18:20] != b"\xf3\x00" else 62
        damaged.write_bytes(whole[:18] + foreign.to_bytes(2, "little") + whole[20:])
        self.refused(f"{damaged}:good", "is for ", "build the library for the machine that runs it")
        damaged.write_bytes(whole[: len(whole) // 2])
        self.refused(f"{damaged}:good", "damaged.so")

    def test_one_that_crashes_when_it_is_loaded_is_refused(self):
        self.refused(f"{BIN}/crashing_peer.so:good", "crashes while loading (Segmentation fault)")

    def test_the_page_shows_what_is_compiled(self):
        page = (ROOT / "docs/how-to/external-kernels.md").read_text()
        shown = re.search(r"^```c\n(.*?)^```$", page, re.M | re.S)[1]
        self.assertIn(shown, (ROOT / "examples/peer.c").read_text())


if __name__ == "__main__":
    unittest.main()
