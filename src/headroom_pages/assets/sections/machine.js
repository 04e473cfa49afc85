// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/site/site.cpp.
(function () {
  "use strict";
  const { element, numbers } = headroom;

  function last_change(row, needed) {
    if (row.change) return `${headroom.change_text(row.change)} @${row.change.run}`;
    return row.values < needed ? `too early: ${row.values} of ${needed} values` : "none";
  }

  headroom.sections.machine = function (box, data) {
    const rows = headroom.rows_of(data.series, data.count);
    const changed = rows.filter((row) => row.change !== null).length;
    box.append(headroom.table({
      label: "series", rows, text: (row) => [row.name, row.metric, row.unit].join(" "),
      facets: changed > 0 && changed < rows.length ? [{ title: "changed", count: changed, test: (row) => row.change !== null }] : [],
      columns: [
        { title: "series", name: "case", show: (row) => element("a", { href: row.href }, row.name), sort: (row) => row.name },
        { title: "metric", show: (row) => row.metric, sort: (row) => row.metric },
        { title: "over time", name: "beside spark-cell", show: (row) => headroom.sparkline(row.spark, row.change && headroom.change_tone(row.change)) },
        { title: "current level", number: true, show: (row) => numbers.element(row.level, numbers.value(row.level, row.unit)), sort: (row) => row.level },
        { title: "95 %", number: true, show: (row) => row.low === null ? "" : numbers.spread(row.level, row.low, row.high, row.unit),
          tone: () => "faint", help: "interval of the level's median" },
        { title: "last change", name: "line", number: true, first: -1, show: (row) => last_change(row, data.needed),
          sort: (row) => row.change && row.change.time, tone: (row) => row.change ? headroom.change_tone(row.change) : "faint" },
        { title: "values", number: true, first: -1, show: (row) => String(row.values), sort: (row) => row.values, tone: () => "faint" },
        { title: "last run", show: (row) => headroom.when(row.last_time), sort: (row) => row.last_time, tone: () => "faint" },
      ],
    }));
  };
})();
