// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { element, numbers } = headroom;
  const kMiddot = " · ";
  const has = (number) => typeof number === "number";
  const kVerdicts = { ok: "good", missed: "bad", inconclusive: "" };

  function share_chart(rows) {
    const most = d3.max(rows, (row) => Math.min(row.share_high || row.share || 0, 2));
    return headroom.row_chart(d3.scaleLinear().domain([0, Math.max(1, most || 0)]), [0, 1, 0.5],
      (share, is_last) => Math.round(share * 100) + (is_last ? " %" : ""));
  }

  function share_picture(row, chart, palette) {
    if (!has(row.share)) return null;
    const svg = chart.row(), tone = palette.tone(row.backend);
    chart.span(svg, "track", 0, 1);
    chart.line(svg, "limit", 1);
    if (row.target_share) chart.line(svg, "target", row.target_share, 2);
    if (has(row.share_low)) chart.span(svg, "whisker " + tone, row.share_low, row.share_high);
    chart.mark(svg, tone, palette.shape(row.backend, 36), row.share);
    return svg.node();
  }

  const kKey = [["dot", "share of the limit"], ["whisker", "its 95 % interval"], ["target", "target"], ["limit", "the limit"]];

  const number_of = (value, text) => value === null || value === undefined ? "" : numbers.element(value, text);

  function time_of(row) {
    if (row.outcome === "skipped" || row.outcome === "failed") return row.outcome;
    return number_of(row.time, numbers.value(row.time, row.time_unit));
  }

  // As TargetVerdict of record/targets.h.
  function undecided_reason(row) {
    const [low, at] = row.target_share ? [row.share_low, row.share] : [row.low ?? row.time_low, row.share];
    if (!has(low)) return "no interval";
    return at > 1 ? "above its limit" : "the interval contains the target";
  }

  function target_of(row) {
    if (!row.verdict) return "";
    const wanted = row.target_share ? numbers.percent(row.target_share) : numbers.value(row.target, row.unit || row.time_unit);
    return [`${wanted} ${row.verdict}`, row.verdict === "inconclusive" && element("span", { class: "why" }, undecided_reason(row))];
  }

  const spread_of = (row) => typeof row.time === "number" ? numbers.spread(row.time, row.time_low, row.time_high, row.time_unit)
    : typeof row.value === "number" ? numbers.spread(row.value, row.low, row.high, row.unit) : "";

  const order_of_verdict = { missed: 0, inconclusive: 1, ok: 2 };

  function all_columns(rows, palette) {
    const chart = share_chart(rows);
    return [
      { title: "case", name: "case", show: (row) => row.case, sort: (row) => row.case },
      { title: "backend", show: (row) => row.backend && element("span", { class: "backend" }, headroom.swatch(palette, row.backend), row.backend),
        sort: (row) => row.backend, same: (row) => row.backend },
      { title: "dtype", show: (row) => row.dtype, sort: (row) => row.dtype, same: (row) => row.dtype },
      { title: "time", number: true, first: -1, help: "median of the samples", show: time_of, tone: (row) => row.outcome === "failed" ? "bad" : null,
        sort: (row) => typeof row.time === "number" ? numbers.in_ns(row.time, row.time_unit) : null },
      { title: "95 %", number: true, show: spread_of, tone: () => "faint", help: "interval of the median" },
      { title: "samples", number: true, show: (row) => number_of(row.n, String(row.n)), sort: (row) => row.n, tone: () => "faint",
        same: (row) => row.n, first: -1 },
      { title: "metric", number: true, first: -1, show: (row) => number_of(row.value, numbers.value(row.value, row.unit)), sort: (row) => row.value },
      { title: "of limit", number: true, show: (row) => number_of(row.share, numbers.share(row.share, row.share_low, row.share_high)),
        sort: (row) => row.share },
      { title: "", name: "picture", head: () => chart.head(), show: (row) => share_picture(row, chart, palette) },
      { title: "target", name: "beside", number: true, show: target_of, sort: (row) => order_of_verdict[row.verdict],
        tone: (row) => row.verdict === "missed" ? "bad" : row.verdict === "ok" ? "good" : null },
      { title: "flags", show: (row) => row.marks, sort: (row) => row.marks, tone: () => "faint" },
    ];
  }

  // Omits empty columns; shows a value common to all rows once, above the table.
  function shown_columns(rows, palette) {
    const told = [];
    const columns = all_columns(rows, palette).filter((column) => {
      if (column.same && rows.length > 1) {
        const values = new Set(rows.map(column.same));
        const [value] = values;
        if (values.size === 1 && value) told.push(column.title === "samples" ? `${value} samples each` : String(value));
        if (values.size === 1) return false;
      }
      return rows.some((row) => { const shown = column.show(row); return shown !== null && shown !== undefined && shown !== "" && shown !== false; });
    });
    return { columns, told };
  }

  function facets_of(rows) {
    const count = (test) => rows.filter(test).length;
    const facets = Object.entries(kVerdicts).map(([title, tone]) => ({ title, tone, test: (row) => row.verdict === title }));
    facets.push({ title: "failed", tone: "bad", test: (row) => row.outcome === "failed" || row.outcome === "wrong" });
    facets.push({ title: "skipped", test: (row) => row.outcome === "skipped" });
    return facets.map((facet) => ({ ...facet, count: count(facet.test) })).filter((facet) => facet.count > 0);
  }

  headroom.sections.run = function (box, data) {
    const rows = headroom.rows_of(data.cases, data.count);
    const palette = headroom.palette(rows.map((row) => row.backend));
    const { columns, told } = shown_columns(rows, palette);
    for (const row of rows) row.faint = row.outcome === "skipped";
    headroom.append(box, [headroom.answers(data.answers), headroom.facts(data.run),
      told.length > 0 && element("p", { class: "told" }, told.join(kMiddot)),
      headroom.table({ label: "cases", columns, rows, text: (row) => [row.case, row.backend, row.dtype, row.outcome, row.verdict]
        .filter(Boolean).join(" "), facets: facets_of(rows),
        open: (row, table) => headroom.case_details({ row, rows, table, texts: data.texts, palette }) }),
      columns.some((column) => column.name === "picture") && headroom.chart_key(kKey.filter(([name]) => name !== "target" || rows.some((row) => row.target_share))),
      data.marks.length > 0 && element("ul", { class: "legend" }, data.marks.map((line) => element("li", {}, line)))]);
    if (data.roofline) {
      box.append(headroom.figure("roofline", data.roofline, { title: "Roofline of this machine", palette,
        note: "Vertical lines: 95 % intervals. Operations and bytes as declared by the cases, not from CPU counters." }));
    }
    headroom.append(box, [headroom.environments(data.environments)]);
  };
})();
