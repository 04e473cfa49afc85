# SPDX-License-Identifier: Apache-2.0
"""Results, the history and traces as tables; tables by the Arrow C data interface, read as by a C consumer."""
import array
import ctypes
import gc
import html
import importlib.util
import json
import os
import re
import unittest

import headroom as hr
from headroom import _arrow
from scratch import HEADROOM, ScratchTest

TRACE = {"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts, "dur": 5,
                          "args": {"stream": 7, "device": 0}} for ts in (1, 11)]}


class Reading(ScratchTest):
    def measured(self):
        self.write("bench.py", "import headroom as hr\n@hr.experiment(axes={'n': [1, 2], 'kind': ['a']})\ndef case(state):\n"
                               "    state.work(bytes=1e3)\n    state.measure(lambda: None)\n")
        self.assert_exit(self.call(HEADROOM, "run", "bench.py", "--num-samples", "5", "--threads", "1", "--no-limits", "--json", "r.json",
                                   "--store", "h.sqlite"), 0)
        return self.folder / "r.json"

    def test_records_and_samples(self):
        table = hr.read(self.measured())
        self.assertEqual(set(table["metric"]), {"latency", "memory_bandwidth(GB/s)", "python"})
        latency = table.where(metric="latency")
        self.assertEqual((latency["axis n"], latency["axis kind"], latency["unit"]), ([1, 2], ["a", "a"], ["us", "us"]))
        self.assertEqual((latency["samples"], latency["outcome"]), ([5, 5], ["measured"] * 2))
        self.assertEqual(len(table.samples), 5 * len(table))
        first = next(table.samples.rows())
        self.assertEqual((first["row"], first["round"]), (0, 0))

    def test_axes_keep_their_types(self):
        self.write("typed.py", "import headroom as hr\n@hr.experiment(axes={'flag': [True, False], 'n': [0], 'share': [1.0], 'text': ['0'],"
                               " 'mixed': [True, 'True ']})\ndef case(state):\n    state.measure(lambda: None)\n")
        self.assert_exit(self.call(HEADROOM, "run", "typed.py", "--num-samples", "6", "--processes", "1", "--threads", "1", "--no-limits",
                                   "--json", "t.json", "--store", "t.sqlite"), 0, "flag=True n=0 share=1 text=0")
        expected = [[True, 0, 1.0, "0"], [True, 0, 1.0, "0"], [False, 0, 1.0, "0"], [False, 0, 1.0, "0"]]
        columns = [f"axis {name}" for name in ("flag", "n", "share", "text")]
        os.environ["HEADROOM_STORE"] = str(self.folder / "t.sqlite")
        self.addCleanup(os.environ.pop, "HEADROOM_STORE")
        for source in (self.folder / "t.json", "@last"):
            table = hr.read(source).where(metric="latency")
            self.assertEqual([repr([row[name] for name in columns]) for row in table.rows()], list(map(repr, expected)), source)
            self.assertEqual(table["axis mixed"], [True, "True ", True, "True "])
            self.assertEqual([one.format for one in table._of_arrow() if one.name in columns], ["b", "l", "g", "U"])
        for package in ("pandas", "polars"):
            if importlib.util.find_spec(package) is not None:
                frame = getattr(table, f"to_{package}")()
                self.assertEqual([repr(list(row)) for row in zip(*(frame[name].to_list() for name in columns))], list(map(repr, expected)))
        found = hr.history("flag=True", store=self.folder / "t.sqlite").series
        self.assertEqual({" ".join(name.split()[1:3]) for name in found["name"]}, {"flag=True n=0"})

    def test_bools_of_an_older_headroom_are_the_same_cases(self):
        self.write("typed.py", "import headroom as hr\n@hr.experiment(axes={'flag': [True, False]})\ndef case(state):\n"
                               "    state.measure(lambda: None)\n")
        self.call(HEADROOM, "run", "typed.py", "--num-samples", "6", "--processes", "1", "--threads", "1", "--no-limits", "--json", "n.json",
                  "--no-store")
        file = json.loads((self.folder / "n.json").read_text())
        file["headroom"]["schema"] = 4
        for record in file["records"]:
            record["axes"]["flag"] = str(record["axes"]["flag"])
        (self.folder / "o.json").write_text(json.dumps(file))
        self.assertEqual(hr.read(self.folder / "o.json")["axis flag"], hr.read(self.folder / "n.json")["axis flag"])
        told = json.loads(self.call(HEADROOM, "diff", "o.json", "n.json", "--json", "-").stdout)
        self.assertEqual((told["tests"][0]["only_baseline"], told["tests"][0]["only_test"]), ([], []))
        for record in file["records"]:
            record["text_axes"] = ["flag"]
        file["headroom"]["schema"] = 5
        (self.folder / "o.json").write_text(json.dumps(file))
        told = json.loads(self.call(HEADROOM, "diff", "o.json", "n.json", "--json", "-").stdout)
        self.assertEqual((len(told["tests"][0]["only_baseline"]), len(told["tests"][0]["only_test"])), (2, 2))

    FAILING = ("import headroom as hr\n@hr.experiment(axes={'n': [1, 2, 3]})\ndef case(state):\n"
               "    if state['n'] == 2:\n        raise ValueError('broken')\n    if state['n'] == 3:\n        state.skip('not here')\n"
               "    state.measure(lambda: None)\n")

    def failing(self, *arguments):
        self.write("failing.py", self.FAILING)
        self.call(HEADROOM, "run", "failing.py", "--num-samples", "5", "--threads", "1", "--no-limits", "--no-store", "--json", "f.json",
                  *arguments)
        return hr.read(self.folder / "f.json")

    def test_what_failed_or_was_skipped_has_no_value(self):
        table = self.failing()
        rows = {row["axis n"]: row for row in table.where(metric="latency").rows()}
        self.assertGreater(rows[1]["value"], 0)
        self.assertEqual([(rows[n]["outcome"], rows[n]["value"]) for n in (2, 3)], [("failed", None), ("skipped", None)])

    def test_a_table_without_a_value_has_a_column_of_numbers(self):
        table = self.failing("-a", "n=2,3")
        self.assertEqual((table["value"], table["low"]), ([None, None], [None, None]))
        formats = {one.name: (one.format, one.nulls) for one in table.where(outcome="failed")._of_arrow()}
        self.assertEqual((formats["value"], formats["of_limit"]), (("g", 1), ("g", 1)))
        self.assertEqual(formats["reason"][0], "U")

    def test_pandas_and_polars_have_no_value_there(self):
        table = self.failing()
        for package in ("pandas", "polars"):
            if importlib.util.find_spec(package) is None:
                continue
            frame = getattr(table, f"to_{package}")()
            values = frame.sort_values("value")["value"] if package == "pandas" else frame["value"].sort(nulls_last=True)
            self.assertEqual("float64", str(values.dtype).lower(), package)
            self.assertGreater(values.to_list()[0], 0, package)
            self.assertEqual(frame["value"].isna().sum() if package == "pandas" else frame["value"].null_count(), 2, package)

    def test_a_wrong_answer_that_was_timed_keeps_its_time(self):
        self.write("wrong.py", "import headroom as hr\n@hr.experiment()\ndef case(state):\n"
                               "    state.verify(lambda: [1.0], reference=lambda: [2.0])\n    state.measure(lambda: None)\n")
        self.call(HEADROOM, "run", "wrong.py", "--num-samples", "5", "--threads", "1", "--no-limits", "--no-store", "--json", "w.json",
                  "--keep-wrong")
        latency = hr.read(self.folder / "w.json").where(metric="latency")
        self.assertEqual(latency["outcome"], ["failed"])
        self.assertGreater(latency["value"][0], 0)

    def test_other_tools_results(self):
        path = self.write("b.json", json.dumps({"results": [{"command": "sleep 1", "mean": 1.0, "stddev": .1, "median": 1.0, "user": 0,
                                                             "system": 0, "min": .9, "max": 1.1, "times": [.9, 1.0, 1.1]}]}))
        table = hr.read(path)
        self.assertEqual(table.samples["value"], [.9, 1.0, 1.1])

    def test_a_page_of_results_shows_itself_in_a_notebook(self):
        path = self.measured()
        page = hr.report(path, title='a "title"')
        self.assertTrue(page.html.startswith("<!DOCTYPE html>"))
        self.assertIn("a &quot;title&quot;", page.html)
        shown = page._repr_html_()
        frame = re.fullmatch(r'<iframe sandbox="allow-scripts" title="a &quot;title&quot;" srcdoc="([^"]*)" style="[^"]*"></iframe>', shown)
        self.assertEqual(html.unescape(frame[1]), page.html)
        page.save(self.folder / "page.html")
        self.assertEqual((self.folder / "page.html").read_text(encoding="utf-8"), page.html)
        compared = hr.report(path, baseline=path)
        self.assertIn('data-kind="diff"', compared.html)
        self.assertIn("save(path) writes it", repr(compared))
        self.assertEqual(hr.report("@last", store=self.folder / "h.sqlite").title, "@last")
        self.assertRaisesRegex(hr.CommandFailed, "absent.json", hr.report, self.folder / "absent.json")
        self.assertRaisesRegex(ValueError, "needs something to show", hr.report)

    def test_what_cannot_be_read(self):
        with self.assertRaisesRegex(hr.CommandFailed, "absent.json") as caught:
            hr.read(self.folder / "absent.json")
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertRaisesRegex(ValueError, "needs something to read", hr.read)

    def test_the_history(self):
        self.measured()
        told = hr.history(store=self.folder / "h.sqlite")
        self.assertEqual((len(told.runs), len(told.series)), (1, 6))
        some = hr.history("case", "latency", store=self.folder / "h.sqlite")
        self.assertEqual(set(some.series["metric"]), {"latency"})
        values = some.values(some.series["id"][0])
        self.assertEqual((len(values), values.units["value"]), (1, "us"))
        self.assertRaisesRegex(hr.CommandFailed, "no history", hr.history, store=self.folder / "absent.sqlite")

    def test_analyses_of_a_trace(self):
        trace = hr.trace(self.write("t.json", json.dumps(TRACE)))
        self.assertIn("idle", trace.analyses())
        idle = trace.analysis("idle")
        self.assertEqual(idle["devices"]["idle_ns"], [5000])
        self.assertEqual(idle["devices"].units["idle_ns"], "ns")
        self.assertNotIn("device", idle["devices"].units)
        self.assertIn("idle_share", idle.headlines["metric"])
        self.assertIn("devices", repr(idle))
        kernels = trace.analysis("kernels", top=1)
        self.assertEqual(kernels["kernels"]["name"], ["k"])
        with self.assertRaisesRegex(KeyError, "it has .*devices"):
            idle["nobody"]
        self.assertRaisesRegex(hr.CommandFailed, "neither an analysis nor a file", trace.analysis, "nobody")
        self.assertRaisesRegex(hr.CommandFailed, "--nothing", trace.analysis, "idle", nothing=3)

    def test_show(self):
        path = self.measured()
        self.assert_exit(self.call(HEADROOM, "show", path, "--markdown"), 0, "| case n=1 kind=a |")
        told = json.loads(self.call(HEADROOM, "show", path, path, "--json", "-").stdout)
        self.assertEqual(len(told["records"]), 2 * len(hr.read(path)))
        self.assertIn("case n=1", self.call(HEADROOM, "show", "@last", "--store", "h.sqlite").stdout)
        self.assertEqual(self.call(HEADROOM, "show").returncode, 2)

    @unittest.skipUnless(os.path.isdir(os.path.join(os.environ.get("HEADROOM_SHARED", ""), "traces")), "no traces of others here")
    def test_every_analysis_of_a_real_trace(self):
        file = os.path.join(os.environ["HEADROOM_SHARED"], "traces", "hta__timeline_analysis_sampled_rank-0.json.gz")
        trace = hr.trace(file)
        filled = {name for name in trace.analyses() for table in trace.analysis(name).values() if table.column_names}
        self.assertLessEqual({"kernels", "idle", "summary"}, filled)
        for name in trace.analyses():
            for key, table in trace.analysis(name).items():
                table.__arrow_c_stream__()
                self.assertLessEqual(set(table.units), set(table.column_names), (name, key))


TABLE = {"name": ["a", None, "ccé"], "count": [1, None, 3], "share": [0.5, 1.5, None], "fine": [True, False, None], "none": [None] * 3}


def address_of(capsule, name):
    get = ctypes.PyDLL(None).PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def metadata(address):
    if not address:
        return {}
    def number(at):
        return ctypes.c_int32.from_address(at).value
    told, at = {}, address + 4
    for _ in range(number(address)):
        texts = []
        for _ in range(2):
            texts.append(ctypes.string_at(at + 4, number(at)).decode())
            at += 4 + number(at)
        told[texts[0]] = texts[1]
    return told


def children(structure, kind):
    return [kind.from_address(at) for at in (ctypes.c_void_p * structure.n_children).from_address(structure.children)]


def buffers(child):
    return (ctypes.c_void_p * child.n_buffers).from_address(child.buffers)


def values_of(schema, child):
    valid, *data = buffers(child)
    form = schema.format.decode()

    def bit(at, place):
        return bool(ctypes.c_uint8.from_address(at + place // 8).value >> place % 8 & 1)

    def value(place):
        if valid and not bit(valid, place):
            return None
        if form == "b":
            return bit(data[0], place)
        if form in "lg":
            return {"l": ctypes.c_int64, "g": ctypes.c_double}[form].from_address(data[0] + 8 * place).value
        start, end = (ctypes.c_int64.from_address(data[0] + 8 * (place + more)).value for more in (0, 1))
        return ctypes.string_at(data[1] + start, end - start).decode()
    return [value(place) for place in range(child.length)]


def call(function, result, *arguments):
    return ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * len(arguments))(function)(*arguments)


class Tables(unittest.TestCase):
    def test_columns_rows_and_text(self):
        table = hr.Table(TABLE, {"count": "ns"})
        self.assertEqual((len(table), table.column_names), (3, list(TABLE)))
        self.assertEqual(next(table.rows())["name"], "a")
        self.assertEqual(table.where(count=3)["name"], ["ccé"])
        self.assertIn("count [ns]", repr(table))
        self.assertIn("<th>count [ns]</th>", table._repr_html_())
        with self.assertRaisesRegex(KeyError, "no column 'x': there are name, count"):
            table["x"]
        self.assertRaisesRegex(ValueError, "different lengths", hr.Table, {"a": [1], "b": []})

    def test_what_a_terminal_would_obey_is_spelled(self):
        table = hr.Table({"name": ["\x1b[2Ja<b>", "\u202egnp", "caf\xe9\ttab"]})
        for shown in (repr(table), table._repr_html_()):
            self.assertNotRegex(shown, "[\x1b\u202e]")
            self.assertIn("\\x1B[2Ja", shown)
            self.assertIn("\\u202Egnp", shown)
            self.assertIn("caf\xe9\ttab", shown)
        self.assertIn("a&lt;b&gt;", table._repr_html_())

    def test_a_stream_has_types_units_and_values(self):
        capsule = hr.Table(TABLE, {"count": "ns"}, {"of": "a test"}).__arrow_c_stream__()
        stream = address_of(capsule, b"arrow_array_stream")
        told = _arrow.Stream.from_address(stream)
        # A consumer's memory may be uninitialised.
        schema, batch = (kind.from_buffer(bytearray(b"\xff" * ctypes.sizeof(kind))) for kind in (_arrow.Schema, _arrow.Array))
        self.assertEqual(call(told.get_schema, ctypes.c_int, stream, ctypes.addressof(schema)), 0)
        self.assertEqual(call(told.get_next, ctypes.c_int, stream, ctypes.addressof(batch)), 0)
        self.assertEqual((schema.format, schema.dictionary, batch.dictionary, batch.length), (b"+s", None, None, 3))
        self.assertEqual(metadata(schema.metadata), {"of": "a test"})
        kinds = children(schema, _arrow.Schema)
        self.assertEqual([kind.format for kind in kinds], [b"U", b"l", b"g", b"b", b"U"])
        self.assertEqual(metadata(kinds[1].metadata), {"unit": "ns"})
        found = {kind.name.decode(): values_of(kind, child) for kind, child in zip(kinds, children(batch, _arrow.Array))}
        self.assertEqual(found, TABLE)
        over = _arrow.Array()
        self.assertEqual(call(told.get_next, ctypes.c_int, stream, ctypes.addressof(over)), 0)
        self.assertIsNone(over.release)
        for structure in (schema, batch):
            call(structure.release, None, ctypes.addressof(structure))
            self.assertIsNone(structure.release)
        del capsule
        self.assert_nothing_held()

    def test_a_child_that_was_moved_outlives_its_parent(self):
        table = hr.Table({"x": [1.5, 2.5]})
        schema_capsule, capsule = table.column("x").__arrow_c_array__()
        made = _arrow.Array.from_address(address_of(capsule, b"arrow_array"))
        moved = _arrow.Array.from_buffer_copy(made)
        made.release = None
        del capsule, table
        gc.collect()
        schema = _arrow.Schema.from_address(address_of(schema_capsule, b"arrow_schema"))
        self.assertEqual(values_of(schema, moved), [1.5, 2.5])
        call(moved.release, None, ctypes.addressof(moved))
        del schema_capsule
        self.assert_nothing_held()

    def test_nothing_stays_of_what_nobody_took(self):
        table = hr.Table(TABLE)
        for _ in range(100):
            table.__arrow_c_stream__(), table.__arrow_c_schema__(), table.column("name").__arrow_c_array__()
        self.assert_nothing_held()

    def test_large_and_mixed_values(self):
        column = _arrow.column("x", [1, 2.5, None])
        self.assertEqual((column.format, column.nulls), ("g", 1))
        self.assertEqual(_arrow.column("x", [2**70]).format, "g")
        self.assertEqual(_arrow.column("x", [1, "a"]).format, "U")
        self.assertEqual(_arrow.column("x", []).buffers[1], array.array("q", [0]))

    def test_a_package_that_is_not_there_is_named(self):
        table = hr.Table(TABLE)
        for package in ("pandas", "polars", "pyarrow"):
            if importlib.util.find_spec(package) is None:
                with self.assertRaisesRegex(ImportError, f"pip install {package}"):
                    getattr(table, f"to_{package}")()
            else:
                self.assertEqual(len(getattr(table, f"to_{package}")()), 3)

    def assert_nothing_held(self):
        gc.collect()
        self.assertEqual((len(_arrow._held), len(_arrow._structures)), (0, 0))


if __name__ == "__main__":
    unittest.main()
