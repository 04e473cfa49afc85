# SPDX-License-Identifier: Apache-2.0
"""A disk that fills: old files stay, none is half written, reports are true. HEADROOM_DISKS: number of disks."""
import json
import os
import random
import shutil
import unittest

from command_line import BIN, BRIEF, FAULTY, CommandLineTest, headroom, records_of
from trace_files import kernel, step_events, write_trace

LIBRARY = next((BIN.parent / "lib").glob("libfilling_disk.so"))
DISKS = int(os.environ.get("HEADROOM_DISKS", "16"))
ROUNDS = 20
ENDLESS = 1 << 40

# Each with the result files that it must write.
COMMANDS = {
    "time": (("time", "--runs", str(ROUNDS), "true", "--json", "{results}/a.json", "--export", "hyperfine", "{results}/hyperfine.json"),
             ("a.json", "hyperfine.json")),
    "ab": (("ab", "true", "/bin/true", "--runs", str(ROUNDS), "--markdown", "--json", "{results}/a.json", "--oss", "{results}/oss.json"),
           ("a.json", "oss.json")),
    "run": (("run", "fine", "--runner", FAULTY, "--no-limits", *BRIEF, "--json", "{results}/a.json", "--output", "{results}/means.csv"),
            ("a.json", "means.csv", "means.json")),
    "cache": (("cache", "--layer", "folder:{kept}", "--repeat", "1", "--json", "{results}/a.json", "--output", "{results}/bench.json", "--",
               "true"), ("a.json", "bench.json")),
    "trace": (("trace", "kernels", "{trace}", "--json", "{results}/a.json", "--csv", "{results}/tables.csv"), ("a.json", "tables.csv")),
    "packed": (("trace", "convert", "{trace}", "{results}/t.json.gz"), ("t.json.gz",)),
    "zstd": (("trace", "convert", "{trace}", "{results}/t.json.zst"), ("t.json.zst",)),
}
MEASURING = ("time", "ab", "run", "cache")
FOLDERS = ("results", "history", "state")
# Folders on the disk that fills.
PLACES = (("results",), ("history",), ("state",), ("history", "state"), FOLDERS)


class FullDiskTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.left = self.folder / "left"
        self.left.write_bytes(bytes(8))
        self.trace = write_trace(self.folder / "trace.json", step_events() + [kernel(f"k{i}" * 9, 100 + i, 1, 1) for i in range(999)])
        (self.folder / "kept").mkdir()
        self.random = random.Random(int(os.environ.get("HEADROOM_SEED", "22")))

    def at(self, place):
        return self.folder / "now" / place

    def call(self, name, places=(), size=ENDLESS, asked=False):
        """Returns the result and the bytes written to a disk of `size` bytes with `places`."""
        self.left.write_bytes(size.to_bytes(8, "little", signed=True))
        store = str(self.at("history") / "history.sqlite")
        environment = {**os.environ, "HEADROOM_STORE": store, "XDG_STATE_HOME": str(self.at("state")), "XDG_DATA_HOME": str(self.at("state"))}
        if places:
            environment |= {"LD_PRELOAD": str(LIBRARY), "DISK_LEFT": str(self.left), "DISK": ":".join(f"{self.at(place)}/" for place in places)}
        words = [word.format(results=self.at("results"), kept=self.folder / "kept", trace=self.trace) for word in COMMANDS[name][0]]
        if asked:
            # An explicit --store must succeed.
            link = self.folder / "asked.sqlite"
            link.unlink(missing_ok=True)
            link.symlink_to(store)
            place = words.index("--") if "--" in words else len(words)
            words[place:place] = ["--store", str(link)]
        result = headroom(*words, env=environment)
        return result, size - int.from_bytes(self.left.read_bytes(), "little", signed=True)

    def ask(self, *words):
        return headroom(*words, env={**os.environ, "HEADROOM_STORE": str(self.at("history") / "history.sqlite"),
                                     "XDG_STATE_HOME": str(self.at("state"))})

    def sessions(self):
        result = self.assert_exit(self.ask("history", "export", "-"), 0)
        return {environment["session"] for environment in json.loads(result.stdout)["environments"]}

    def check_files(self, name, before):
        """Files are whole, old or new; returns the names of the old ones."""
        old = []
        for file in COMMANDS[name][1]:
            content = (self.at("results") / file).read_bytes()
            if content == before[file]:
                old.append(file)
            elif file in ("a.json", "hyperfine.json", "oss.json", "bench.json"):
                json.loads(content)
            elif name == "run":
                self.assertTrue(content.startswith(before[file]) and content.endswith(b"\n"), content)
            elif name in ("packed", "zstd"):
                self.assert_exit(headroom("trace", "validate", self.at("results") / file), 0)
            else:
                self.assertTrue(content.endswith(b"\n"), content)
        left = [path.name for place in ("results", "history") for path in self.at(place).rglob("*")]
        self.assertEqual([path for path in left if path.endswith(".tmp")], [])
        self.assertEqual({path for path in left if not path.startswith("history.sqlite")}, set(before))
        return old

    def check_history(self, result, before):
        """A missing run must be reported."""
        self.assert_exit(self.ask("history", "verify"), 0)
        now = self.sessions()
        self.assertLessEqual(before, now)
        self.assertEqual("not stored in the history" in result.stderr, now == before, result.stderr)
        self.assertIn(len(now - before), (0, 1))
        if now == before:
            self.assertNotIn("in the history as", result.stderr)
        return now != before

    def check_journal(self, name, result, kept):
        path = self.folder / "shown.json"
        shown = self.ask("show", "@unfinished", "--json", path)
        if "`headroom show @unfinished` shows the results" in result.stderr:
            self.assertFalse(kept)
            self.assert_exit(shown, 0)
            if name in ("time", "ab"):
                counts = {sum(len(part["values"]) for part in record["samples"]) for record in records_of(path)}
                self.assertEqual(counts, {ROUNDS})
        elif kept:
            self.assertIn("no unfinished run", shown.stderr)
        self.assertIn(shown.returncode, (0, 2), shown.stderr)

    def check(self, name, places, size, asked):
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        shutil.copytree(self.folder / f"before-{name}", self.folder / "now", symlinks=True)
        before = {file: (self.at("results") / file).read_bytes() for file in COMMANDS[name][1]}
        sessions = self.sessions()
        result, _ = self.call(name, places, size, asked)
        self.assertIn(result.returncode, (0, 2), result.stderr)
        if name not in ("packed", "zstd"):
            self.assertRegex(result.stdout, "─|\\| ---|\\|:?-")
        old = self.check_files(name, before)
        kept = True
        if name in MEASURING:
            kept = self.check_history(result, sessions)
            self.check_journal(name, result, kept)
        is_whole = not old and (kept or not asked)
        if result.returncode == 0:
            self.assertTrue(is_whole, (old, kept, result.stderr))
        else:
            self.assertRegex(result.stderr, r"No space left on device|database or disk is full|is the disk full")
            self.assertNotIn("terminate", result.stderr)
            self.assertTrue("results" in places or asked, "exit code 2 for nothing that was asked for")
        return result.returncode

    def prepare(self, name):
        """Restores the state after an earlier run."""
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        for place in FOLDERS:
            self.at(place).mkdir(parents=True)
        for warm in ("time", name):
            self.assert_exit(self.call(warm)[0], 0)
        for path in self.at("results").iterdir():
            if path.name not in COMMANDS[name][1]:
                path.unlink()
        (self.folder / "now").rename(self.folder / f"before-{name}")

    def test_disks_that_fill_at_random_bytes(self):
        tries = [(name, places) for name in COMMANDS for places in (PLACES if name in MEASURING else PLACES[:1])]
        self.random.shuffle(tries)
        sizes, failed = {}, 0
        for number in range(DISKS):
            name, places = tries[number % len(tries)]
            if not (self.folder / f"before-{name}").exists():
                self.prepare(name)
            if (name, places) not in sizes:
                shutil.rmtree(self.folder / "now", ignore_errors=True)
                shutil.copytree(self.folder / f"before-{name}", self.folder / "now")
                result, sizes[name, places] = self.call(name, places)
                self.assert_exit(result, 0)
                self.assertGreater(sizes[name, places], 0)
            size, asked = self.random.randrange(sizes[name, places]), name in MEASURING and self.random.random() < 0.5
            with self.subTest(name=name, places=places, size=size, of=sizes[name, places], asked=asked):
                failed += self.check(name, places, size, asked) == 2
        self.assertGreater(failed, 0)


if __name__ == "__main__":
    unittest.main()
