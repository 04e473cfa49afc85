// SPDX-License-Identifier: Apache-2.0
// Data: {rows: [{name, ratio, low, high, margin, verdict, reason}]}.
(function () {
  "use strict";
  const { axes, ratios } = headroom;
  const kRow = 19, kBottom = 38, kTop = 6;

  const is_narrow = (width) => width < 620;
  const row_height = (width) => kRow + (is_narrow(width) ? 13 : 0);
  const sentence = (row) => `${row.name}: ${ratios.text(row.ratio)} (${ratios.interval(row)}), ${row.verdict}${row.reason ? ": " + row.reason : ""}`;

  function draw_row(svg, row, y, x, width, left) {
    const tone = ratios.tone(row.verdict), middle = y + (is_narrow(width) ? 13 : 0) + kRow / 2;
    const margin = row.margin || 0;
    svg.append("rect").attr("class", "margin").attr("x", x.within(1 - margin)).attr("width", Math.max(1, x.within(1 + margin) - x.within(1 - margin)))
      .attr("y", middle - kRow / 2).attr("height", kRow);
    const name_at = is_narrow(width) ? { x: 0, y: y + 12, room: width } : { x: 0, y: middle + 4, room: left - 14 };
    svg.append("text").attr("class", "label").attr("x", name_at.x).attr("y", name_at.y).text(axes.fitted(row.name, name_at.room));
    const group = axes.mark(svg, sentence(row), ratios.is_hollow(row.verdict));
    group.append("rect").attr("class", "reach").attr("x", left).attr("width", width - left).attr("y", middle - kRow / 2).attr("height", kRow);
    if (typeof row.low === "number") axes.segment(group, "whisker " + tone, [x.within(row.low), middle], [x.within(row.high), middle]);
    group.append("path").attr("class", `fill stroke ${tone}`).attr("transform", `translate(${x.within(row.ratio)},${middle})`)
      .attr("d", d3.symbol().type(d3.symbolCircle).size(48)());
  }

  headroom.charts.forest = {
    hint: "Grey: the margin, within which cases are the same. Point at a ratio, or use Tab and the arrow keys.",
    label: (data) => `Ratios of ${data.rows.length} cases to their baseline, with their 95 % intervals`,
    height: (width, data) => kTop + data.rows.length * row_height(width) + kBottom,
    draw(svg, data, size) {
      const longest = d3.max(data.rows, (row) => row.name.length) * 6.1 + 14;
      const left = is_narrow(size.width) ? 4 : Math.min(longest, size.width * 0.42);
      const x = ratios.scale(data.rows, [left, size.width - 10]);
      const bottom = kTop + data.rows.length * row_height(size.width);
      data.rows.forEach((row, i) => draw_row(svg, row, kTop + i * row_height(size.width), x, size.width, left));
      svg.insert("line", ":first-child").attr("class", "one").attr("x1", x(1)).attr("x2", x(1)).attr("y1", kTop).attr("y2", bottom);
      axes.place(svg, ratios.axis(d3.axisBottom(x), x, size.width / 110), `0,${bottom}`);
      axes.title(svg, "candidate / baseline", size.width - 10, bottom + 33, "end");
    },
    table: (data) => ({ columns: ["case", "ratio", "from", "to", "margin", "verdict"],
      rows: data.rows.map((row) => [row.name, row.ratio, row.low, row.high, row.margin, row.verdict]) }),
  };
})();
