// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { element, numbers, ratios } = headroom;
  const kMostRows = 40;
  const kVerdicts = ["regression", "improvement", "changed", "same", "inconclusive", "failed", "not compared"];

  const name_of = (row) => [row.case, row.backend].filter(Boolean).join(" ");
  // More than 0 is worse.
  const worsening = (row) => typeof row.ratio === "number" ? Math.log(row.ratio) * (row.lower_is_better === false ? -1 : 1) : null;

  function differences(test) {
    if (test.differences.length === 0) return element("p", { class: "facts" }, "No known change of the environment.");
    const rows = test.differences.map((one) => [one.what, one.baseline, one.test]);
    return element("div", { class: "changed" }, element("h3", {}, "changes of the environment"),
      headroom.text_table("changes of the environment", ["", "baseline", "candidate"], rows));
  }

  function left_over(title, names) {
    return names.length > 0 && element("details", { class: "environment" }, element("summary", {}, `${names.length} cases only in ${title}`),
      element("ul", {}, names.map((name) => element("li", {}, name))));
  }

  function mean_of(test) {
    if (!test.mean) return null;
    const interval = typeof test.mean.low === "number" ? ` (95 % interval ${test.mean.low.toFixed(3)} to ${test.mean.high.toFixed(3)})` : "";
    return element("p", { class: "facts" }, `geometric mean of ${test.mean.cases} cases: `,
      numbers.element(test.mean.ratio, test.mean.ratio.toFixed(3)), ` x the baseline${interval}`);
  }

  function picture(row, chart) {
    if (typeof row.ratio !== "number") return null;
    const svg = chart.row(), tone = ratios.tone(row.verdict);
    chart.band(svg, "margin", 1 - row.margin, 1 + row.margin);
    chart.line(svg, "one", 1);
    if (typeof row.low === "number") chart.span(svg, "whisker " + tone, row.low, row.high);
    chart.mark(svg, tone, d3.symbol().type(d3.symbolCircle).size(36)(), row.ratio, ratios.is_hollow(row.verdict));
    return svg.node();
  }

  const kKey = [["dot", "candidate / baseline"], ["hollow", "inconclusive"], ["whisker", "95 % interval"], ["margin", "margin: counts as the same"], ["one", "no change"]];
  const reason_of = (row, data) => row.problem || (typeof row.reason === "number" ? data.texts[row.reason] : null);
  const samples_of = (row) => row.paired ? numbers.element(row.n, `${row.n} pairs`) : [numbers.element(row.n, String(row.n)), " unpaired"];

  function columns_of(rows, data) {
    const chart = headroom.row_chart(ratios.scale(rows.filter((row) => typeof row.ratio === "number"), [0, 100]), [1],
      (ratio, is_last) => Number(ratio.toPrecision(3)) + (is_last ? " x" : ""));
    const value = (key) => (row) => typeof row[key] === "number" ? numbers.element(row[key], numbers.value(row[key], row.unit)) : "";
    const all = [
      { title: "case", name: "case", show: (row) => row.case, sort: (row) => row.case },
      { title: "backend", show: (row) => row.backend, sort: (row) => row.backend, same: true },
      { title: "metric", show: (row) => row.metric, sort: (row) => row.metric, same: true },
      { title: "source", show: (row) => data.tests[row.test].label, sort: (row) => row.test, same: true },
      { title: "baseline", number: true, first: -1, show: value("baseline"), sort: (row) => row.baseline },
      { title: "candidate", number: true, first: -1, show: value("value"), sort: (row) => row.value },
      { title: "ratio", number: true, first: -1, show: (row) => typeof row.ratio === "number" ? numbers.element(row.ratio, ratios.text(row.ratio)) : "",
        sort: worsening, help: "worst first" },
      { title: "95 %", number: true, show: (row) => typeof row.ratio === "number" ? ratios.interval(row) : "", tone: () => "faint" },
      { title: "", name: "picture", head: () => chart.head(), show: (row) => picture(row, chart) },
      { title: "verdict", name: "verdict", show: (row) => [element("span", { class: "word" }, row.verdict),
        reason_of(row, data) && element("span", { class: "why" }, reason_of(row, data))], sort: (row) => kVerdicts.indexOf(row.verdict), tone: (row) => ratios.text_tone(row.verdict) },
      { title: "samples", number: true, show: samples_of, sort: (row) => row.n, tone: () => "faint", help: "pairs of the same round, or samples of the smaller side" },
    ];
    const told = [];
    const columns = all.filter((column) => {
      if (!column.same) return true;
      const values = new Set(rows.map(column.show)), [first] = values;
      if (values.size === 1 && first && column.title !== "source" && rows.length > 1) told.push(first);
      return values.size > 1;
    });
    return { columns, told };
  }

  function details(row, data) {
    const pairs = [["not compared", row.problem], ["verdict", `${row.verdict}, with a margin of ${numbers.percent(row.margin)}`],
      ["inconclusive", typeof row.reason === "number" && data.texts[row.reason]], ["compared", row.estimator],
      ["warnings", row.doubts && row.doubts.map((i) => element("p", {}, data.texts[i]))]];
    const shift = row.shift && headroom.figure("shift", { deciles: row.shift, unit: row.unit, margin: row.margin }, { title: "Where the samples changed" });
    return element("div", {}, shift, headroom.details(pairs));
  }

  headroom.sections.diff = function (box, data) {
    const rows = headroom.rows_of(data.comparisons, data.count);
    const { columns, told } = columns_of(rows, data);
    const facets = kVerdicts.map((verdict) => ({ title: verdict, tone: ratios.text_tone(verdict) || "", test: (row) => row.verdict === verdict,
      count: rows.filter((row) => row.verdict === verdict).length })).filter((facet) => facet.count > 0);
    headroom.append(box, [headroom.answers(data.answers), data.tests.map((test) => [mean_of(test), differences(test)])]);
    const seen = rows.filter((row) => typeof row.ratio === "number").sort((a, b) => worsening(b) - worsening(a));
    const changed = [...seen].sort((a, b) => Math.abs(worsening(b)) - Math.abs(worsening(a))).slice(0, kMostRows);
    const shown = seen.filter((row) => changed.includes(row));
    if (shown.length > 0) {
      box.append(headroom.figure("forest", { rows: shown.map((row) => ({ name: name_of(row) + (data.tests.length > 1 ? ` (${data.tests[row.test].label})` : ""),
        ratio: row.ratio, low: row.low, high: row.high, margin: row.margin, verdict: row.verdict, reason: reason_of(row, data) })) }, { title: "Ratios, worst first",
        note: seen.length > shown.length ? `The ${shown.length} of ${seen.length} that changed most.` : null }));
    }
    headroom.append(box, [told.length > 0 && element("p", { class: "told" }, told.join(" \u00b7 ")),
      headroom.table({ label: "comparisons", columns, rows, facets, text: (row) => [row.case, row.backend, row.metric, row.verdict].filter(Boolean).join(" "),
        open: (row) => details(row, data) }),
      shown.length > 0 && headroom.chart_key(kKey.filter(([name]) => name !== "hollow" || rows.some((row) => ratios.is_hollow(row.verdict)))),
      data.shifts_of !== undefined && element("p", { class: "note" }, `Shift functions of ${data.shifts_of} changed cases only; headroom diff --shift --filter shows others.`),
      data.tests.map((test) => [left_over(data.baseline, test.only_baseline), left_over(test.label, test.only_test)])]);
  };
})();
