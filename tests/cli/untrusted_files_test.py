# SPDX-License-Identifier: Apache-2.0
"""Files that unpack to more than there is memory, and links where files are to be written."""
import os
import resource
import unittest

from command_line import FAULTY, CommandLineTest, headroom

BLOCK = 1 << 17


def write_bomb(path, head, fill, size):
    """A zstd frame (RFC 8878): `head`, then one-byte blocks that expand to 128 KiB each."""
    with open(path, "wb") as file:
        file.write(b"\x28\xb5\x2f\xfd\x00\x38" + (len(head) << 3).to_bytes(3, "little") + head)
        blocks = size // BLOCK
        for block in range(blocks):
            file.write((BLOCK << 3 | 2 | (block + 1 == blocks)).to_bytes(3, "little") + fill)


class Bombs(CommandLineTest):
    HEADS = {"records.json.zst": (b'{"headroom":{"schema":3,"version":"', b"a"), "list.json.zst": (b'{"benchmarks":[', b"["),
             "rows.csv.zst": (b"name,value\n", b"a"), "trace.json.zst": (b'{"traceEvents":[{"name":"', b"a")}

    def test_six_gigabytes_in_200_kilobytes_end_in_a_sentence_and_little_memory(self):
        commands = [["show"], ["history", "import", "--store", self.folder / "h.sqlite"]]
        for name, (head, fill) in self.HEADS.items():
            path = self.folder / name
            write_bomb(path, head, fill, 6 << 30)
            self.assertLess(path.stat().st_size, 1 << 18)
            reading = [["trace", "idle", "--no-store"], ["trace", "convert"]] if name.startswith("trace") else commands
            for command in reading:
                out = [self.folder / "out.json"] if command[-1] == "convert" else []
                result = self.assert_exit(headroom(*command, path, *out, "--max-memory", "300MiB"), 2,
                                          stderr="--max-memory")
                self.assertNotIn("bad_alloc", result.stderr)
                self.assertFalse((self.folder / "out.json").exists())
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10, 400 << 20)

    def test_a_folder_with_one_of_them_keeps_the_others(self):
        folder = self.make_folder("results")
        write_bomb(folder / "a.json.zst", *self.HEADS["records.json.zst"], 6 << 30)
        self.assert_exit(headroom("time", "--runs", "3", "true", "--no-store", "--json", folder / "b.json"), 0)
        self.assert_exit(headroom("show", folder, "--max-memory", "300MiB"), 0, "true", stderr="a.json.zst")

    def test_caps_that_are_none(self):
        for cap in ("1KiB", "much", "-5", "0"):
            self.assert_refused(headroom("show", "x.json", f"--max-memory={cap}"), cap.lstrip("-"))


class Links(CommandLineTest):
    def test_with_no_follow_nothing_is_written_through_a_link(self):
        (self.folder / "real").mkdir()
        target = self.write_file("real/target.json", "mine")
        (self.folder / "link.json").symlink_to(target)
        (self.folder / "linked").symlink_to(self.folder / "real")
        runs = self.folder / "runs.json"
        self.assert_exit(headroom("time", "--runs", "3", "true", "--no-store", "--json", runs), 0)
        for words in (["run", "fine", "--runner", FAULTY, "--no-limits", "--num-samples", "3", "--no-store", "--json"],
                      ["diff", runs, runs, "--json"], ["show", runs, "--oss"], *self.writers(runs)):
            for path in (self.folder / "link.json", self.folder / "linked/target.json", self.folder / "linked/new.json"):
                result = headroom(*words, path, "--no-follow")
                self.assertEqual((words, result.returncode), (words, 2), result.stderr)
                self.assertIn("symbolic link", result.stderr)
            self.assertEqual(target.read_text(), "mine")
        self.assertEqual(os.listdir(self.folder / "real"), ["target.json"])
        self.assert_exit(headroom("show", runs, "--json", self.folder / "link.json"), 0)
        self.assertTrue((self.folder / "link.json").is_symlink())
        self.assertIn("headroom", target.read_text())
        self.assert_exit(headroom("show", runs, "--json", "-", "--no-follow"), 0)
        self.assert_exit(headroom("show", runs, "--json", "plain.json", "--no-follow", cwd=self.folder), 0)

    def writers(self, runs):
        """Commands that end with an output option."""
        store = self.folder / "gated.sqlite"
        self.assert_exit(headroom("history", "import", runs, "--store", store), 0)
        return [["time", "--runs", "3", "--no-store", "true", "--json"], ["show", runs, "--json"],
                ["history", "--store", store, "--json"], ["history", "gate", "--store", store, "--json"],
                ["time", "--runs", "3", "true", "--store"], ["time", "--runs", "3", "--no-store", "true", "--output"],
                ["history", "import", runs, "--store"], ["report", runs, "--force", "--output"]]

    @unittest.skipUnless(os.geteuid() == 0, "only root gives links away")
    def test_a_link_that_another_user_planted_is_followed_by_no_output(self):
        shared, real = self.folder / "shared", self.folder / "real"
        shared.mkdir()
        shared.chmod(0o1777)
        real.mkdir()
        runs = self.folder / "runs.json"
        self.assert_exit(headroom("time", "--runs", "3", "true", "--no-store", "--json", runs), 0)
        (shared / "folder").symlink_to(real)
        (shared / "file").symlink_to(real / "file")
        for link in ("folder", "file"):
            os.chown(shared / link, 54321, 0, follow_symlinks=False)
        for words in [*self.writers(runs), ["history", "--store", self.folder / "h.sqlite", "--site"]]:
            if "--site" in words:
                self.assert_exit(headroom("history", "import", runs, "--store", self.folder / "h.sqlite"), 0)
            for path in (shared / "folder/new/in", shared / "folder/new", shared / "file"):
                result = headroom(*words, path)
                self.assertEqual((words, result.returncode), (words, 2), result.stderr)
                self.assertIn("another user's link", result.stderr)
            self.assertEqual(os.listdir(real), [], words)


if __name__ == "__main__":
    unittest.main()
