// SPDX-License-Identifier: Apache-2.0
// Shared by sections whose cases have many metrics (headroom_pages/sections.h).
(function () {
  "use strict";
  const { element, numbers } = headroom;
  const instrument = {};

  instrument.rows = (data) => data.cases.map((one, index) => ({ ...one, index, faint: one.outcome === "skipped" }));
  instrument.name = (row, rows) => new Set(rows.map((other) => other.runner)).size > 1 ? `${row.name} (${row.runner})` : row.name;
  const metric_of = (row, name) => row.metrics[name];
  instrument.value = (row, name) => metric_of(row, name) ? metric_of(row, name).value : null;

  // `wide` adds the interval.
  instrument.column = (title, name, { wide = false, percent = false } = {}) => ({
    title, number: true, first: -1,
    sort: (row) => instrument.value(row, name),
    show(row) {
      const metric = metric_of(row, name);
      if (!metric) return name === row.headline || row.outcome === "measured" ? "" : null;
      const text = percent ? numbers.percent(metric.value) : numbers.value(metric.value, metric.unit);
      const spread = wide && typeof metric.low === "number" ? ` ${numbers.spread(metric.value, metric.low, metric.high, metric.unit)}` : "";
      return numbers.element(metric.value, text + spread);
    },
  });

  instrument.limit_column = { title: "of limit", number: true,
    sort: (row) => { const limit = (metric_of(row, row.headline) || {}).limit; return limit ? limit.share : null; },
    show(row) {
      const limit = (metric_of(row, row.headline) || {}).limit;
      return limit ? numbers.element(limit.share, numbers.share(limit.share, limit.low, limit.high)) : "";
    } };

  instrument.outcome_column = { title: "", show: (row) => row.outcome === "measured" ? "" : row.outcome,
    tone: (row) => row.outcome === "failed" ? "bad" : null };

  function details(row) {
    const headline = metric_of(row, row.headline);
    const metrics = Object.entries(row.metrics).map(([name, metric]) => [name, `${numbers.value(metric.value, metric.unit)} ` +
      (typeof metric.low === "number" ? `(${numbers.value(metric.low, metric.unit)} to ${numbers.value(metric.high, metric.unit)})` : "")]);
    const pairs = [[row.outcome, row.reason], ...metrics,
      ["limit", headline && headline.limit && `${numbers.share(headline.limit.share, headline.limit.low, headline.limit.high)} of ${headline.limit.name}`],
      ["ratio", row.ratio && `${row.ratio.ratio.toFixed(3)} x the time of ${row.ratio.to}`], ...Object.entries(row.about),
      ["notes", row.notes.map((note) => element("p", {}, note))]];
    const data = headline && row.samples && { samples: row.samples, unit: headline.unit, value: headline.value, low: headline.low, high: headline.high,
      limit: headline.limit && headline.limit.at };
    return element("div", {}, data && headroom.figure("samples", data, { title: `${row.headline} of each sample, by process or rank`,
      note: headroom.charts.samples.legend(data) }), headroom.details(pairs));
  }

  // Omits empty columns.
  instrument.table = function (label, rows, columns) {
    const shown = columns.filter((column) => rows.some((row) => ![null, undefined, ""].includes(column.show(row))));
    const facets = ["failed", "skipped"].map((outcome) => ({ title: outcome, tone: outcome === "failed" ? "bad" : "",
      test: (row) => row.outcome === outcome, count: rows.filter((row) => row.outcome === outcome).length })).filter((facet) => facet.count > 0);
    return headroom.table({ label, columns: shown, rows, facets, text: (row) => [row.label, row.backend, row.runner, row.outcome].join(" "), open: details });
  };

  instrument.head = (data) => [headroom.answers(data.answers), headroom.facts(data.run)];
  instrument.multiples = (figures) => figures.length > 0 && element("div", { class: "multiples" }, figures);

  // Keeps the order of appearance.
  instrument.grouped = function (rows, key) {
    const groups = new Map();
    for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) || []), row]);
    return Array.from(groups);
  };

  headroom.instrument = instrument;
})();
