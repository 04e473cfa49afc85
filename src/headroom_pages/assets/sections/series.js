// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/site/site.cpp.
(function () {
  "use strict";
  const { element, numbers } = headroom;
  const number = (value, unit) => numbers.element(value, numbers.exact(value, unit));
  const range = (one, unit) => one.low === null ? "" : `${numbers.exact(one.low, unit)} to ${numbers.exact(one.high, unit)}`;

  function level_change(level) {
    const parts = [];
    if (level.ratio !== null) parts.push(headroom.change_text({ ratio: level.ratio, low: level.ratio_low, high: level.ratio_high }));
    if (level.drift !== null) parts.push(headroom.change_text({ ratio: level.drift, low: null, drifts: true }));
    if (parts.length === 0) return "";
    return parts.join(", ") + (level.worse === null ? " changed" : level.worse ? " worse" : " better");
  }

  function levels_table(data) {
    const rows = data.levels.map((level, index) => ({ ...level, index }));
    return headroom.table({
      label: "levels", rows: rows.reverse(), text: (row) => [row.commit, ...row.changes].join(" "),
      columns: [
        { title: "from run", name: "case", show: (row) => `@${row.run}, ${headroom.when(row.time)}` },
        { title: "commit", name: "commit", show: (row) => row.commit && element("code", {}, row.commit.slice(0, 12)) },
        { title: "values", number: true, show: (row) => String(row.values) },
        { title: "median", number: true, show: (row) => number(row.median, data.unit) },
        { title: "95 %", number: true, show: (row) => range(row, data.unit), tone: () => "faint", help: "interval of the median" },
        { title: "changed by", number: true, show: level_change, tone: (row) => level_change(row) && row.worse !== null && (row.worse ? "bad" : "good") },
        { title: "other changes", name: "else", show: (row) => row.changes.length > 0 ? row.changes.map((line) => element("div", {}, line))
          : row.index > 0 && "none known" },
      ],
    });
  }

  function strip(processes, chart) {
    const svg = chart.row();
    processes.forEach((values, i) => values.forEach((value) => {
      svg.append("circle").attr("class", `fill sample mark-${i % 7}`).attr("cx", chart.place(value)).attr("cy", 8).attr("r", 2);
    }));
    return svg.node();
  }

  // Clamps distant samples, so that the rest keeps its resolution.
  function strip_chart(samples, unit) {
    const all = samples.flatMap((one) => one.processes.flat()).sort((a, b) => a - b);
    if (all.length === 0) return null;
    const least = all[Math.floor((all.length - 1) * 0.01)], most = all[Math.ceil((all.length - 1) * 0.99)];
    const scale = d3.scaleLinear().domain(least < most ? [least, most] : [least - 1, most + 1]);
    return headroom.row_chart(scale, [], (value, is_last) => is_last ? numbers.exact(Number(value.toPrecision(4)), unit).replace(/\.?0+ /, " ") : String(Number(value.toPrecision(4))));
  }

  function samples_text(row, unit) {
    if (row.problem) return element("p", { class: "bad" }, row.problem);
    const shown = row.processes.reduce((sum, values) => sum + values.length, 0);
    const thinned = shown < row.count ? `, quantiles` : "";
    return element("dl", { class: "details" }, row.processes.map((values, i) => [
      element("dt", {}, `process ${i + 1}${thinned}`),
      element("dd", { class: "samples" }, values.flatMap((value) => [number(value, ""), " "]), unit)]));
  }

  function samples_table(data) {
    const rows = data.samples.map((one, index) => ({ ...one, index })), chart = strip_chart(rows, data.unit);
    return headroom.table({
      label: "values", rows, text: (row) => `@${row.run} ${row.commit}`, open: (row) => samples_text(row, data.unit),
      columns: [
        { title: "run", name: "case", show: (row) => `@${row.run}, ${headroom.when(row.time)}` },
        { title: "commit", name: "commit", show: (row) => row.commit && element("code", {}, row.commit.slice(0, 12)) },
        { title: "value", number: true, show: (row) => number(row.value, data.unit), sort: (row) => row.value },
        { title: "95 %", number: true, show: (row) => range(row, data.unit), tone: () => "faint" },
        { title: "samples", number: true, show: (row) => row.problem ? "damaged" : String(row.count), tone: (row) => row.problem ? "bad" : "faint" },
        chart && { title: "", name: "picture", head: () => chart.head(), show: (row) => row.count > 0 && strip(row.processes, chart) },
      ].filter(Boolean),
    });
  }

  headroom.sections.series = function (box, data) {
    const better = data.lower_is_better === null ? "better direction unknown" : data.lower_is_better ? "lower is better" : "higher is better";
    headroom.append(box, [
      element("div", { class: "answers" }, data.answers.map((line, i) => element("p", { class: i === 0 ? "lead" : null }, line))),
      element("p", { class: "facts" }, [data.machine || "unknown machine", `${data.values} values`, better].join(" · ")),
      data.points.run.length > 0 && headroom.figure("history", data, { title: `${data.metric}, ${data.unit || "no unit"}`,
        note: data.singles !== null && `The newest ${data.singles} values have a point each; an older point is the median of neighbours, ` +
          "with a line from their min to their max." }),
      element("h3", {}, "Levels"), levels_table(data),
      element("h3", {}, "Samples of the newest values and of those around changes"), samples_table(data),
      element("p", { class: "note" }, "headroom show @RUN shows the samples of other runs."),
    ]);
  };
})();
