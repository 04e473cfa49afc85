# SPDX-License-Identifier: Apache-2.0
"""Arrow C data interface in capsules (Arrow PyCapsule interface), without an Arrow library.
Source: https://arrow.apache.org/docs/format/CDataInterface.html
"""
from __future__ import annotations

import array
import ctypes
import itertools
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

Pointer = ctypes.c_void_p
_python = ctypes.PyDLL(None)  # our own handle: others may declare different signatures
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [Pointer, ctypes.c_char_p, Pointer]
_python.PyCapsule_GetPointer.restype = Pointer
_python.PyCapsule_GetPointer.argtypes = [Pointer, ctypes.c_char_p]
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = [Pointer]
_python.Py_IncRef.argtypes = [ctypes.py_object]


class Schema(ctypes.Structure):
    """struct ArrowSchema."""
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", Pointer), ("flags", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("children", Pointer), ("dictionary", Pointer), ("release", Pointer),
                ("private_data", Pointer)]


class Array(ctypes.Structure):
    """struct ArrowArray."""
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", Pointer), ("children", Pointer),
                ("dictionary", Pointer), ("release", Pointer), ("private_data", Pointer)]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream."""
    _fields_ = [("get_schema", Pointer), ("get_next", Pointer), ("get_last_error", Pointer), ("release", Pointer),
                ("private_data", Pointer)]


_STRUCTURES: dict[bytes, Any] = {b"arrow_schema": Schema, b"arrow_array": Array, b"arrow_array_stream": Stream}
_NULLABLE = 2
# Objects that exported structures point to, by private_data.
_held: dict[int, object] = {}
# Structures owned by capsules, by address.
_structures: dict[int, object] = {}
_numbers = itertools.count(1)


def _hold(*objects: object) -> int:
    number = next(_numbers)
    _held[number] = objects
    return number


def _callback(result: Any, *parameters: Any) -> Callable[[Callable[..., Any]], Any]:
    """Makes a C function that is never freed, as consumers may call it at any time."""
    def make(function: Callable[..., Any]) -> Any:
        made = ctypes.CFUNCTYPE(result, *parameters)(function)
        _python.Py_IncRef(made)
        return made
    return make


def _release_children(structure: Any, kind: Any) -> None:
    if not structure.children:
        return
    children = (Pointer * structure.n_children).from_address(structure.children)
    for address in children:
        child = kind.from_address(address)
        if child.release:
            ctypes.CFUNCTYPE(None, Pointer)(child.release)(address)


def _released(address: int, kind: Any) -> None:
    structure = kind.from_address(address)
    if kind is not Stream:
        _release_children(structure, kind)
    structure.release = None
    _held.pop(structure.private_data, None)


@_callback(None, Pointer)
def _release_schema(address: int) -> None:
    _released(address, Schema)


@_callback(None, Pointer)
def _release_array(address: int) -> None:
    _released(address, Array)


@_callback(None, Pointer)
def _release_stream(address: int) -> None:
    _released(address, Stream)


@_callback(None, Pointer)
def _destroy_capsule(capsule: int) -> None:
    name = _python.PyCapsule_GetName(capsule)
    address = _python.PyCapsule_GetPointer(capsule, name)
    structure = _STRUCTURES[name].from_address(address)
    if structure.release:
        ctypes.CFUNCTYPE(None, Pointer)(structure.release)(address)
    _structures.pop(address, None)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, Pointer).value


_NAMES = {kind: name for name, kind in _STRUCTURES.items()}


def _capsule(structure: Any) -> object:
    address = ctypes.addressof(structure)
    _structures[address] = structure
    made: object = _python.PyCapsule_New(address, _NAMES[type(structure)], _address(_destroy_capsule))
    return made


def _metadata(pairs: Mapping[str, str]) -> bytes:
    def told(text: str) -> bytes:
        encoded = text.encode()
        return array.array("i", [len(encoded)]).tobytes() + encoded
    return array.array("i", [len(pairs)]).tobytes() + b"".join(told(key) + told(value) for key, value in pairs.items())


def _fill_schema(made: Schema, form: str, name: str, metadata: Mapping[str, str], children: Sequence[Schema], flags: int) -> None:
    told = ctypes.create_string_buffer(_metadata(metadata)) if metadata else None
    pointers = (Pointer * len(children))(*map(ctypes.addressof, children))
    texts = (form.encode(), name.encode())
    # Set every member: the memory may be uninitialised.
    made.format, made.name, made.flags, made.dictionary = texts[0], texts[1], flags, None
    made.metadata = ctypes.addressof(told) if told is not None else None
    made.n_children, made.children = len(children), ctypes.addressof(pointers) if children else None
    made.release = _address(_release_schema)
    made.private_data = _hold(told, pointers, texts, children)


def _fill_array(made: Array, length: int, nulls: int, buffers: Sequence[Any], children: Sequence[Array]) -> None:
    addresses = (Pointer * max(1, len(buffers)))(*(None if buffer is None else _start(buffer) for buffer in buffers))
    pointers = (Pointer * len(children))(*map(ctypes.addressof, children))
    made.length, made.null_count, made.offset, made.dictionary = length, nulls, 0, None
    made.n_buffers, made.buffers = len(buffers), ctypes.addressof(addresses)
    made.n_children, made.children = len(children), ctypes.addressof(pointers) if children else None
    made.release = _address(_release_array)
    made.private_data = _hold(addresses, pointers, list(buffers), children)


def _start(buffer: Any) -> int:
    """Returns the address of an array.array or a bytearray."""
    if isinstance(buffer, array.array):
        return buffer.buffer_info()[0]
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer)) if len(buffer) else 0


@dataclass(frozen=True)
class Column:
    """A column in Arrow's format: "g" float64, "l" int64, "U" text, "b" bool. The first buffer is the validity bitmap."""
    name: str
    format: str
    length: int
    nulls: int
    buffers: tuple[Any, ...]
    metadata: Mapping[str, str]


def _bitmap(bits: Sequence[bool]) -> bytearray:
    packed = bytearray((len(bits) + 7) // 8 or 1)
    for place, bit in enumerate(bits):
        if bit:
            packed[place >> 3] |= 1 << (place & 7)
    return packed


def column(name: str, values: Sequence[Any], metadata: Mapping[str, str] | None = None, is_float: bool = False) -> Column:
    """Makes a column of float, int, bool or str; None is null. Mixed types become text, as does an empty column unless `is_float`."""
    present = [value for value in values if value is not None]
    valid = None if len(present) == len(values) else _bitmap([value is not None for value in values])
    told = dict(metadata or {})
    nulls = len(values) - len(present)
    if is_float and all(isinstance(value, (int, float)) for value in present):
        return Column(name, "g", len(values), nulls, (valid, array.array("d", [0.0 if value is None else value for value in values])), told)
    if present and all(isinstance(value, bool) for value in present):
        return Column(name, "b", len(values), nulls, (valid, _bitmap([bool(value) for value in values])), told)
    if present and all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in present):
        return Column(name, "l", len(values), nulls, (valid, array.array("q", [value or 0 for value in values])), told)
    if present and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
        return Column(name, "g", len(values), nulls, (valid, array.array("d", [0.0 if value is None else value for value in values])), told)
    texts = [b"" if value is None else str(value).encode() for value in values]
    offsets = array.array("q", itertools.accumulate((len(text) for text in texts), initial=0))
    return Column(name, "U", len(values), nulls, (valid, offsets, bytearray(b"".join(texts))), told)


def schema_of(columns: Sequence[Column], metadata: Mapping[str, str]) -> object:
    """Returns the "arrow_schema" capsule of these columns."""
    made = Schema()
    _make_schema(made, columns, metadata)
    return _capsule(made)


def _make_schema(made: Schema, columns: Sequence[Column], metadata: Mapping[str, str]) -> None:
    children = []
    for one in columns:
        child = Schema()
        _fill_schema(child, one.format, one.name, one.metadata, [], _NULLABLE)
        children.append(child)
    _fill_schema(made, "+s", "", metadata, children, 0)


def _make_array(made: Array, columns: Sequence[Column]) -> None:
    children = []
    for one in columns:
        child = Array()
        _fill_array(child, one.length, one.nulls, one.buffers, [])
        children.append(child)
    _fill_array(made, columns[0].length if columns else 0, 0, [None], children)


def array_of(one: Column) -> tuple[object, object]:
    """Returns the "arrow_schema" and "arrow_array" capsules."""
    schema, made = Schema(), Array()
    _fill_schema(schema, one.format, one.name, one.metadata, [], _NULLABLE)
    _fill_array(made, one.length, one.nulls, one.buffers, [])
    return _capsule(schema), _capsule(made)


class _Batches:
    """The state of a stream with one batch."""

    def __init__(self, columns: Sequence[Column], metadata: Mapping[str, str]) -> None:
        self.columns, self.metadata, self.is_over = columns, metadata, False


def _batches_of(stream: int) -> _Batches:
    held: Any = _held[Stream.from_address(stream).private_data]
    batches: _Batches = held[0]
    return batches


@_callback(ctypes.c_int, Pointer, Pointer)
def _get_schema(stream: int, out: int) -> int:
    batches = _batches_of(stream)
    _make_schema(Schema.from_address(out), batches.columns, batches.metadata)
    return 0


@_callback(ctypes.c_int, Pointer, Pointer)
def _get_next(stream: int, out: int) -> int:
    batches = _batches_of(stream)
    made = Array.from_address(out)
    if batches.is_over:
        made.release = None
        return 0
    batches.is_over = True
    _make_array(made, batches.columns)
    return 0


@_callback(ctypes.c_char_p, Pointer)
def _get_last_error(stream: int) -> None:
    del stream


def stream_of(columns: Sequence[Column], metadata: Mapping[str, str]) -> object:
    """Returns an "arrow_array_stream" capsule with one batch."""
    made = Stream(_address(_get_schema), _address(_get_next), _address(_get_last_error), _address(_release_stream),
                  _hold(_Batches(columns, metadata)))
    return _capsule(made)
