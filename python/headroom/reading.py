# SPDX-License-Identifier: Apache-2.0
"""Results, the history and traces as tables for pandas, polars, pyarrow, or plain Python."""
from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from ._program import run_command
from .table import Table

_NUMBERS = ("value", "low", "high", "of_limit")  # float columns even if every value is None


class Records(Table):
    """A row per measured quantity: experiment, an "axis NAME" per axis, backend, dtype, metric, value, unit, low and high (95 % interval),
    samples (count), outcome, reason, of_limit, verified, and where and how it was measured.

    Rows without samples have no value: None, which is NaN in pandas and null in polars.
    samples: a table with a row per sample: row (of this table), process, round, value, unit.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]], environments: Sequence[Mapping[str, Any]]) -> None:
        rows = [_row(record, environments) for record in records]
        names = list(dict.fromkeys(name for row in rows for name in row)) or list(_row({}, []))
        super().__init__({name: [row.get(name) for row in rows] for name in names}, {"time": "s"}, numbers=_NUMBERS)
        self._records = records
        self._samples: Table | None = None

    @property
    def samples(self) -> Table:
        if self._samples is None:
            columns: dict[str, list[Any]] = {"row": [], "process": [], "round": [], "value": [], "unit": []}
            for place, record in enumerate(self._records):
                for process in record.get("samples", ()):
                    count = len(process["values"])
                    columns["row"] += [place] * count
                    columns["process"] += [process.get("pid")] * count
                    columns["round"] += list(process.get("rounds") or [None] * count)
                    columns["value"] += process["values"]
                    columns["unit"] += [record["metric"]["unit"]] * count
            self._samples = Table(columns)
        return self._samples


def _row(record: Mapping[str, Any], environments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    model, metric, benchmark = record.get("model", {}), record.get("metric", {}), record.get("benchmark", {})
    interval, outcome = record.get("interval") or {}, record.get("outcome", {})
    place = record.get("environment")
    environment = environments[place] if place is not None and place < len(environments) else {}
    samples = sum(len(process.get("values", ())) for process in record.get("samples", ()))
    return {
        "experiment": model.get("name"),
        **{f"axis {name}": value for name, value in record.get("axes", {}).items()},
        "backend": model.get("backend"), "dtype": benchmark.get("dtype"), "metric": metric.get("name"),
        "value": metric.get("value") if samples or outcome.get("kind", "measured") == "measured" else None, "unit": metric.get("unit"), "low": interval.get("low"), "high": interval.get("high"),
        "lower_is_better": {"lower": True, "higher": False}.get(metric.get("direction", "")), "samples": samples, "outcome": outcome.get("kind"),
        "reason": outcome.get("reason"), "of_limit": (record.get("limit") or {}).get("fraction"),
        "verified": record.get("verified"), "runner": record.get("runner"), "device": record.get("device"),
        "caches": record.get("caches"), "threads": record.get("threads"), "machine": environment.get("fingerprint"),
        "revision": environment.get("git_sha"), "time": environment.get("timestamp"),
    }


def read(*results: str | os.PathLike[str]) -> Records:
    """Reads result files of any supported tool, folders of them, or runs of the history ("@last", "@git:1a2b3c"). Raises ValueError without
    results, headroom.CommandFailed if one cannot be read."""
    if not results:
        raise ValueError('read() needs something to read: a file, a folder, or "@last"')
    answer = run_command(["show", "--json", "-", *[os.fspath(result) for result in results]])
    return Records(answer["records"], answer["environments"])


class History:
    """The history: `runs` and `series` (each with its last change) as tables."""

    def __init__(self, words: Sequence[str], store: str | os.PathLike[str] | None) -> None:
        self._store = [] if store is None else ["--store", os.fspath(store)]
        answer = run_command(["history", "--json", "-", *self._store])
        wanted = None
        if words:
            found = run_command(["history", "--json", "-", *self._store, *words])
            wanted = {series["id"] for series in (found["series"] if "series" in found else [found])}
        self.name = str(answer["store"])
        self.runs = Table.of_rows(answer["runs"], {"time": "s"})
        self.series = Table.of_rows((_flat(series) for series in answer["series"] if wanted is None or series["id"] in wanted))

    def values(self, series: int) -> Table:
        """Returns the values of a series (its "id") over time, oldest first."""
        answer = run_command(["history", "--json", "-", *self._store, "--series", str(series)])
        one = answer["series"][0] if "series" in answer else answer
        return Table.of_rows(map(_flat, one["values"]), {"time": "s", "value": one.get("unit", "")},
                             {"name": one.get("name", ""), "metric": one.get("metric", "")})


def _flat(nested: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{name} "))
        elif not isinstance(value, list):
            flat[before + name] = value
    return flat


def history(*words: str, store: str | os.PathLike[str] | None = None) -> History:
    """Reads the history: all series, or those that match `words` as in `headroom history WORDS`. store: file or database (default:
    HEADROOM_STORE, or the user's). Raises headroom.CommandFailed if there is none."""
    return History(words, store)


class Trace:
    """Profiler traces, the ranks of one job."""

    def __init__(self, files: Sequence[str | os.PathLike[str]]) -> None:
        self._files = [os.fspath(file) for file in files]

    @staticmethod
    def analyses() -> dict[str, str]:
        """Returns {name: summary} of the analyses."""
        return {one["name"]: one["summary"] for one in run_command(["trace", "--list", "--json", "-"])}

    def analysis(self, name: str = "summary", **options: object) -> Analysis:
        """Runs an analysis. Options are those of `headroom trace NAME`, with _ for -: top=0, length=2; True is an option without a value.
        Raises headroom.CommandFailed for an unknown analysis or option, and for unreadable files."""
        words = []
        for option, value in options.items():
            flag = "--" + option.replace("_", "-")
            words += [flag] if value is True else [f"{flag}={value}"]
        answer = run_command(["trace", name, "--no-store", "--json", "-", *words, *self._files])
        return Analysis(answer["trace"])


class Analysis(Mapping[str, Table]):
    """{table: Table} of an analysis. headlines: a table of its key numbers; notes: sentences."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.name = str(answer["analysis"])
        self.notes = list(answer["notes"])
        self.headlines = Table.of_rows(answer["headlines"])
        self._tables = {key: _trace_table(answer["columns"][key], rows) for key, rows in answer["tables"].items()}

    def __getitem__(self, key: str) -> Table:
        try:
            return self._tables[key]
        except KeyError:
            raise KeyError(f"{self.name} has no table {key!r}: it has {', '.join(self._tables)}") from None

    def __iter__(self) -> Any:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        parts = [*self.notes, repr(self.headlines), *(f"\n{key}\n{table!r}" for key, table in self._tables.items() if len(table))]
        return "\n".join(parts)


def _trace_table(columns: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table({column["key"]: [row[column["key"]] for row in rows] for column in columns},
                 {column["key"]: column["unit"] for column in columns if column["unit"]})


def trace(*files: str | os.PathLike[str]) -> Trace:
    """Opens profiler traces (Chrome JSON, plain or compressed). They are read by each analysis. Raises ValueError without files."""
    if not files:
        raise ValueError("trace() needs a file")
    return Trace(files)
