// SPDX-License-Identifier: Apache-2.0
// Data: {rows: [{name, from, to, detail}], unit, title: of the axis}.
(function () {
  "use strict";
  const { axes } = headroom;
  const kTop = 6, kBottom = 38;

  const layout = (data, width) => axes.rows(data.rows.map((row) => row.name), width);
  const sentence = (data, row) => `${row.name}: from ${axes.text(row.from, data.unit)} to ${axes.text(row.to, data.unit)}, ` +
    `${axes.text(row.to - row.from, data.unit)}${row.detail ? "; " + row.detail : ""}`;

  headroom.charts.spans = {
    hint: "",
    label: (data) => `${data.rows.length} spans over time: ${data.title}`,
    height: (width, data) => kTop + data.rows.length * layout(data, width).height + kBottom,
    draw(svg, data, size) {
      const places = layout(data, size.width), bottom = kTop + data.rows.length * places.height;
      const x = d3.scaleLinear().domain([Math.min(0, d3.min(data.rows, (row) => row.from)), d3.max(data.rows, (row) => row.to)])
        .range([places.left, size.width - 24]);
      data.rows.forEach((row, i) => {
        const middle = places.name(svg, row.name, kTop + i * places.height);
        const group = axes.mark(svg, sentence(data, row));
        group.append("rect").attr("class", "fill mark-0").attr("x", x(row.from)).attr("width", Math.max(1, x(row.to) - x(row.from)))
          .attr("y", middle - places.bar / 2).attr("height", places.bar);
      });
      axes.place(svg, axes.from_zero(d3.axisBottom(x), x, data.unit, size.width / 140), `0,${bottom}`);
      axes.title(svg, data.title, size.width - 24, bottom + 33, "end");
    },
    table: (data) => ({ columns: ["", `from (${data.unit})`, `to (${data.unit})`, "takes", ""],
      rows: data.rows.map((row) => [row.name, row.from, row.to, row.to - row.from, row.detail]) }),
  };
})();
