# SPDX-License-Identifier: Apache-2.0
"""Files of records of every schema in which one member is not what it should be: refused by its path, or read as told."""
import collections
import copy
import json
import pathlib
import re
import unittest

from command_line import CommandLineTest, headroom

DATA = pathlib.Path(__file__).parent.parent / "data"
GONE = object()
# Python's NaN and Infinity are not JSON.
NAN, INFINITY = float("nan"), float("inf")
# Written as 1e999: valid JSON beyond doubles.
BEYOND = "<beyond>"
INTERVAL = {"low": 0.9, "high": 1.1, "confidence": 0.95}

NUMBERS = ["x", [], {}, True]
COUNTS = [*NUMBERS, -1, 1.5]
TEXTS = [1, [], {}, True]
FLAGS = [1, "yes", [], {}]
OBJECTS = [1, "x", True, []]
# New members of schemas 3 and 4, with invalid values.
NEW_MEMBERS = [(path, values) for values, paths in (
    (FLAGS, "metric/headline modes/in_stretches kept_wrong above_limit"),
    (NUMBERS, "metric/target_share busy_cpus huge_pages metric/numbers/bytes"),
    ([[], {}, None], "axes/D"),
    ([GONE, None, *COUNTS], "axes/bytes/bytes slowest/rank"),
    ([1, "x", {}, [1]], "limit/parts note_values"),
    ([GONE, None, *TEXTS], "limit/parts/0/kind ratio/to"),
    (COUNTS, "limit/parts/0/bytes limit/parts/0/threads limit/rounds/count ratio/pairs modes/changes"),
    (TEXTS, "limit/parts/0/pattern limit/parts/0/dtype tool ratio/backend ratio/runner note_values/0/text"),
    (OBJECTS, "limit/rounds ratio ratio/interval modes slowest metric/numbers"),
    ([GONE, None, *NUMBERS], "limit/rounds/lower_quartile limit/rounds/upper_quartile ratio/ratio ratio/interval/low "
                             "modes/groups/0/median modes/groups/0/share slowest/share note_values/0/samples"),
    ([GONE, None, 1, "x", {}, [1]], "modes/groups"),
    (["x", [], {}, True], "error_bound"),
    (["f8", 1, [], {}], "sums_in"),
    (["guess", *TEXTS], "instrument"),
    (["never", *TEXTS], "look"),
    ([GONE, None, "gossip", *TEXTS], "note_values/0/kind")) for path in paths.split()]
NEW_OPTIONS = [(path, values) for values, paths in (
    ([1, "x", {}, [1]], "traces expectations"),
    (FLAGS, "writes_file per_rank"),
    (NUMBERS, "margin"),
    (["some", *TEXTS], "counters"),
    (TEXTS, "no_counters"),
    ([GONE, None, *TEXTS], "expectations/0/op"),
    ([GONE, None, *NUMBERS], "expectations/0/us")) for path in paths.split()]


def newest():
    """The example of docs/reference/record-format.md with every member that the newest schema knows."""
    document = json.loads((DATA / "record_example.json").read_text())
    record = document["records"][0]
    record["axes"]["bytes"] = {"bytes": 1 << 25}
    record["axes"].update(flag=True, mode="0")
    record["text_axes"] = ["mode"]
    record["limit"]["parts"][0]["dtype"] = ""
    record["limit"]["rounds"] = {"count": 4, "lower_quartile": 0.9, "upper_quartile": 0.95}
    record["ratio"] = {"to": "native@native", "ratio": 1.1, "pairs": 4, "interval": INTERVAL}
    record["modes"] = {"groups": [{"median": 10.0, "share": 0.5}, {"median": 14.0, "share": 0.5}], "changes": 3,
                       "in_stretches": False}
    record["ratio"].update(backend="native", runner="native")
    record.update(kept_wrong=False, above_limit=False, busy_cpus=0.5, tool="a tool", look="last", huge_pages=0.5,
                  slowest={"rank": 1, "share": 0.5})
    record["note_values"][0]["text"] = ""
    record["metric"]["numbers"] = {"bytes": 4096}
    document["environments"][0]["options"] = {
        "per_rank": False, "margin": 0.01, "counters": "none", "no_counters": "why",
        "expectations": [{"op": "add", "metric": "hit", "us": 5.0, "tolerance": 0.2}], "cache_run": {},
        "traces": ["a.json"], "writes_file": False}
    return document


def changed(document, path, value):
    """A copy with that at the path, or without what is there."""
    document = copy.deepcopy(document)
    *parents, last = (int(step) if step.isdigit() else step for step in path.split("/"))
    place = document
    for step in parents:
        place = place[step]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return document


def paths(value, above=""):
    """Of every member, and of the first element of each array."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for step, part in entries:
        yield f"{above}{step}"
        yield from paths(part, f"{above}{step}/")


class DamagedRecordsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "bad.json"

    def read(self, document):
        self.path.write_text(json.dumps(document).replace(f'"{BEYOND}"', "1e999"))
        return headroom("diff", self.path, self.path, "--all-metrics", "--json", "-")

    def test_what_is_whole_is_read(self):
        self.assert_exit(self.read(newest()), 0)

    def test_newer_members_are_refused_by_their_path(self):
        for path, values in NEW_MEMBERS:
            for value in values:
                with self.subTest(f"{path} = {'gone' if value is GONE else value}"):
                    result = self.read(changed(newest(), f"records/0/{path}", value))
                    self.assert_refused(result, "bad.json", f"/records/0/{path}")
        for value in TEXTS:
            self.assert_refused(self.read(changed(newest(), "environments/0/session", value)),
                                "bad.json", "/environments/0/session: expected a string")
        for path, values in NEW_OPTIONS:
            for value in values:
                with self.subTest(f"{path} = {'gone' if value is GONE else value}"):
                    result = self.read(changed(newest(), f"environments/0/options/{path}", value))
                    self.assert_refused(result, "bad.json", f"/environments/0/options/{path}")

    def test_members_that_may_be_absent(self):
        for path in ("metric/headline", "metric/target_share", "limit/parts", "limit/rounds", "ratio", "modes",
                     "error_bound", "sums_in", "kept_wrong", "above_limit", "busy_cpus", "instrument", "tool", "look", "ratio/backend",
                     "huge_pages", "slowest", "notes", "note_values", "note_values/0/text"):
            for value in (GONE, None):
                with self.subTest(path, value=value):
                    self.assert_exit(self.read(changed(newest(), f"records/0/{path}", value)), 0)
        self.assert_exit(self.read(changed(newest(), "environments/0/session", GONE)), 0)

    def test_numbers_that_json_does_not_have_are_refused_by_their_byte(self):
        for path, values in NEW_MEMBERS:
            for value in (NAN, INFINITY, -INFINITY, BEYOND) if "x" in values else ():
                with self.subTest(path, value=value):
                    self.assert_refused(self.read(changed(newest(), f"records/0/{path}", value)), "not JSON at byte")

    def test_any_member_of_any_schema_is_refused_by_its_name_or_read(self):
        codes = collections.Counter()
        documents = [newest(), *(json.loads((DATA / f"record_schema{number}.json").read_text()) for number in (1, 2, 3))]
        for document in documents:
            schema = document["headroom"]["schema"]
            for path in paths(document):
                for value in (GONE, None, "x", -1, [], BEYOND):
                    with self.subTest(f"schema {schema}, {path} = {'gone' if value is GONE else value}"):
                        result = self.read(changed(document, path, value))
                        self.assertIn(result.returncode, (0, 2), result.stderr)
                        codes[result.returncode] += 1
                        if result.returncode == 0:
                            json.loads(result.stdout)
                            continue
                        self.assertRegex(result.stderr, r"^headroom: .*bad\.json")
                        if re.search("not JSON at byte" if value == BEYOND else "holds no results", result.stderr):
                            continue
                        named = [step for step in path.split("/") if not step.isdigit()][-1]
                        parent = path.rpartition("/")[0]
                        self.assertTrue(named in result.stderr or f"/{parent}" in result.stderr, result.stderr)
        self.assertGreater(min(codes[0], codes[2]), 100, "some are read, some refused")


if __name__ == "__main__":
    unittest.main()
