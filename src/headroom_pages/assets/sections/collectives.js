// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { axes, element, instrument } = headroom;

  const is_timed = (row) => row.metrics.latency && typeof row.axes.bytes === "number";
  const point_of = ({ axes: { bytes }, metrics: { latency } }) => ({ x: bytes, y: latency.value, low: latency.low, high: latency.high,
    reference: latency.limit ? latency.limit.at : null });

  function curves(rows, domain) {
    const series = instrument.grouped(rows, (row) => `${row.axes.ranks} ranks`).map(([name, own]) => {
      const points = own.map(point_of).sort((a, b) => a.x - b.x);
      return { name, points, reference: points.filter((point) => typeof point.reference === "number").map((point) => ({ x: point.x, y: point.reference })) };
    });
    return { series, x: { title: "size", unit: "B", log: true }, y: { title: "time of a call", unit: rows[0].metrics.latency.unit, log: true, domain },
      reference: "limit of the transport" };
  }

  // A chart per collective, on one scale.
  headroom.collective_figures = function (all) {
    const rows = all.filter(is_timed);
    if (rows.length === 0) return null;
    const domain = d3.extent(rows.flatMap((row) => { const point = point_of(row); return [point.y, point.reference].filter((value) => value > 0); }));
    return instrument.multiples(instrument.grouped(rows, (row) => instrument.name(row, rows)).map(([name, own]) =>
      headroom.figure("curves", curves(own, domain), { title: name })));
  };

  headroom.sections.collectives = function (box, data) {
    const rows = instrument.rows(data).filter((row) => row.metrics.latency || row.outcome !== "measured");
    const columns = [
      { title: "collective", name: "case", show: (row) => instrument.name(row, rows), sort: (row) => row.name },
      { title: "size", number: true, show: (row) => headroom.numbers.element(row.axes.bytes, axes.bytes(row.axes.bytes)), sort: (row) => row.axes.bytes },
      { title: "ranks", number: true, show: (row) => headroom.numbers.element(row.axes.ranks, String(row.axes.ranks)), sort: (row) => row.axes.ranks },
      instrument.column("time", "latency", { wide: true }), instrument.column("p99", "latency p99"), instrument.column("algbw", "algbw"),
      instrument.column("busbw", "busbw"), instrument.limit_column, instrument.column("skew", "skew"), instrument.outcome_column,
    ];
    headroom.append(box, [instrument.head(data), headroom.collective_figures(rows), element("h3", {}, "all sizes"),
      instrument.table("collectives", rows, columns), headroom.environments(data.environments)]);
  };
})();
