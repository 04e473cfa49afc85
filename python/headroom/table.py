# SPDX-License-Identifier: Apache-2.0
"""Tables for pandas, polars and pyarrow, none of which is required."""
from __future__ import annotations

import importlib
from typing import Any, Iterable, Iterator, Mapping, Sequence

from . import _arrow
from ._shown import markup, visible

_SHOWN = 20


class Table:
    """Columns of equal length; None is null. units: {column: unit}, also in the columns' metadata. numbers: columns that are float64 even
    without values.

    `pyarrow.table(t)`, `polars.DataFrame(t)` and `pandas.DataFrame.from_arrow(t)` use the Arrow PyCapsule interface; to_pandas(),
    to_polars() and to_pyarrow() require the package.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], units: Mapping[str, str] | None = None,
                 metadata: Mapping[str, str] | None = None, numbers: Sequence[str] = ()) -> None:
        """Raises ValueError for columns of different lengths."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        self._columns = {name: list(values) for name, values in columns.items()}
        self.units = dict(units or {})
        self.metadata = dict(metadata or {})
        self._numbers = tuple(name for name in numbers if name in self._columns)
        self._arrow: list[_arrow.Column] | None = None

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]], units: Mapping[str, str] | None = None,
                metadata: Mapping[str, str] | None = None, numbers: Sequence[str] = ()) -> Table:
        """Makes a table of dicts, with a column per key in order of appearance."""
        listed = list(rows)
        names = dict.fromkeys(name for row in listed for name in row)
        return cls({name: [row.get(name) for row in listed] for name in names}, units, metadata, numbers)

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def __getitem__(self, name: str) -> list[Any]:
        """Returns the values of a column. Raises KeyError."""
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}: there are {', '.join(self._columns)}") from None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields each row as {column: value}."""
        for values in zip(*self._columns.values()):
            yield dict(zip(self._columns, values))

    def where(self, **wanted: Any) -> Table:
        """Returns the rows whose columns have these values."""
        return Table.of_rows((row for row in self.rows() if all(row.get(name) == value for name, value in wanted.items())),
                             self.units, self.metadata, self._numbers) if self._columns else self

    def _of_arrow(self) -> list[_arrow.Column]:
        if self._arrow is None:
            self._arrow = [_arrow.column(name, values, {"unit": self.units[name]} if self.units.get(name) else None,
                                          name in self._numbers)
                           for name, values in self._columns.items()]
        return self._arrow

    def __arrow_c_schema__(self) -> object:
        return _arrow.schema_of(self._of_arrow(), self.metadata)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        del requested_schema  # the interface allows ignoring it
        return _arrow.stream_of(self._of_arrow(), self.metadata)

    def column(self, name: str) -> ArrowColumn:
        """Returns a column with the Arrow PyCapsule interface. Raises KeyError."""
        self[name]  # pylint: disable=pointless-statement
        return ArrowColumn(self._of_arrow()[self.column_names.index(name)])

    def to_pyarrow(self) -> Any:
        """Returns a pyarrow.Table. Raises ImportError without pyarrow."""
        return needed("pyarrow").table(self)

    def to_polars(self) -> Any:
        """Returns a polars.DataFrame. Raises ImportError without polars."""
        return needed("polars").DataFrame(self)

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame with the units in its attrs. Raises ImportError without pandas."""
        frame = needed("pandas").DataFrame(self._columns)
        frame = frame.astype(dict.fromkeys(self._numbers, "float64"))
        frame.attrs.update(units=self.units, **self.metadata)
        return frame

    def plot(self, x: str, y: str, by: str | None = None) -> Any:
        """Plots column `y` over column `x`, a line per value of `by`. Returns matplotlib's Axes. Raises ImportError without matplotlib."""
        pyplot = needed("matplotlib.pyplot", "matplotlib")
        _, axes = pyplot.subplots()
        groups = dict.fromkeys(self[by]) if by else {None: None}
        for group in groups:
            rows = [row for row in self.rows() if by is None or row[by] == group]
            axes.plot([row[x] for row in rows], [row[y] for row in rows], "o-", label=None if group is None else str(group))
        axes.set_xlabel(self._titled(x))
        axes.set_ylabel(self._titled(y))
        if by:
            axes.legend(title=by)
        return axes

    def _titled(self, name: str) -> str:
        return f"{name} [{self.units[name]}]" if self.units.get(name) else name

    def __repr__(self) -> str:
        titles = [self._titled(name) for name in self._columns]
        cells = [[_text(value) for value in row.values()] for _, row in zip(range(_SHOWN), self.rows())]
        widths = [max(len(line[place]) for line in [titles, *cells]) for place in range(len(titles))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in [titles, *cells]]
        if len(self) > _SHOWN:
            lines.append(f"... {len(self)} rows")
        return "\n".join(lines) if titles else "(no columns)"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{markup(self._titled(name))}</th>" for name in self._columns)
        body = "".join("<tr>" + "".join(f"<td>{markup(_text(value))}</td>" for value in row.values()) + "</tr>"
                       for _, row in zip(range(_SHOWN), self.rows()))
        more = f"<caption>{len(self)} rows</caption>" if len(self) > _SHOWN else ""
        return f"<table>{more}<tr>{head}</tr>{body}</table>"


class ArrowColumn:
    """One column, for pyarrow.array(c) and polars.Series(c)."""

    def __init__(self, held: _arrow.Column) -> None:
        self._held = held

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        del requested_schema
        return _arrow.array_of(self._held)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))


def needed(module: str, package: str | None = None) -> Any:
    """Imports a module. Raises ImportError naming the package."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{package or module} is not installed: pip install {package or module}") from None
