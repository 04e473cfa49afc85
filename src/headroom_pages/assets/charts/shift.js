// SPDX-License-Identifier: Apache-2.0
// A shift function. Data: {deciles: [[percentile, baseline, new, ratio, low, high, verdict]], unit, margin}. Source: Doksum, The
// Annals of Statistics 2(2), 1974.
(function () {
  "use strict";
  const { axes, numbers, ratios } = headroom;
  const kMargin = { top: 10, right: 14, bottom: 38, left: 56 };

  const rows_of = (data) => data.deciles.map(([percentile, baseline, value, ratio, low, high, verdict]) =>
    ({ percentile, baseline, value, ratio, low, high, verdict, margin: data.margin }));

  function sentence(data, row) {
    const way = row.value < row.baseline ? "less" : "more";
    const difference = numbers.value(Math.abs(row.value - row.baseline), data.unit);
    return `${row.percentile} % of the samples: below ${numbers.value(row.baseline, data.unit)} in the baseline, below ` +
      `${numbers.value(row.value, data.unit)} in the candidate: ${difference} ${way}, ${ratios.text(row.ratio)} (${ratios.interval(row)})`;
  }

  headroom.charts.shift = {
    hint: "Each decile against that of the baseline: flat if all samples changed alike, steep if one end did.",
    label: () => "Shift function: ratios of deciles with simultaneous 95 % intervals",
    height: () => 230,
    draw(svg, data, size) {
      const rows = rows_of(data), bottom = size.height - kMargin.bottom;
      const y = ratios.scale(rows, [bottom, kMargin.top]);
      const x = d3.scaleLinear().domain([5, 95]).range([kMargin.left, size.width - kMargin.right]);
      svg.append("rect").attr("class", "margin").attr("x", kMargin.left).attr("width", size.width - kMargin.left - kMargin.right)
        .attr("y", y.within(1 + data.margin)).attr("height", Math.max(1, y.within(1 - data.margin) - y.within(1 + data.margin)));
      axes.segment(svg, "one", [kMargin.left, y(1)], [size.width - kMargin.right, y(1)]);
      axes.place(svg, ratios.axis(d3.axisLeft(y), y, 5), `${kMargin.left},0`);
      axes.place(svg, d3.axisBottom(x).tickValues(rows.map((row) => row.percentile)).tickFormat((value) => value + " %").tickSizeOuter(0), `0,${bottom}`);
      axes.title(svg, "decile of the samples", size.width - kMargin.right, size.height - 5, "end");
      svg.append("path").attr("class", "guide").attr("d", d3.line()((rows.map((row) => [x(row.percentile), y.within(row.ratio)]))));
      for (const row of rows) {
        const tone = ratios.tone(row.verdict), at = x(row.percentile);
        const group = axes.mark(svg, sentence(data, row), ratios.is_hollow(row.verdict));
        if (typeof row.low === "number") axes.segment(group, "whisker " + tone, [at, y.within(row.low)], [at, y.within(row.high)]);
        group.append("path").attr("class", `fill stroke ${tone}`).attr("transform", `translate(${at},${y.within(row.ratio)})`)
          .attr("d", d3.symbol().type(d3.symbolCircle).size(48)());
      }
    },
    table: (data) => ({ columns: ["decile", `baseline (${data.unit})`, `candidate (${data.unit})`, "difference", "ratio", "from", "to", "verdict"],
      rows: rows_of(data).map((row) => [row.percentile, row.baseline, row.value, row.value - row.baseline, row.ratio, row.low, row.high, row.verdict]) }),
  };
})();
