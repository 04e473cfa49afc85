# SPDX-License-Identifier: Apache-2.0
"""Tables by the Arrow C data interface, read as by a C consumer."""
import array
import ctypes
import gc
import importlib.util
import unittest

import headroom as hr
from headroom import _arrow

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
        with self.assertRaisesRegex(ValueError, "different lengths"):
            hr.Table({"a": [1], "b": []})

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
