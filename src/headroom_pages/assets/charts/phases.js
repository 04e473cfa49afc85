// SPDX-License-Identifier: Apache-2.0
// Stacked bars. Data: {rows: [{name, parts: [{name, value}]}], unit}.
(function () {
  "use strict";
  const { axes } = headroom;
  const kTop = 24, kBottom = 34;

  const total = (row) => d3.sum(row.parts, (part) => Math.max(0, part.value || 0));
  const names = (data) => Array.from(new Set(data.rows.flatMap((row) => row.parts.map((part) => part.name))));
  const layout = (data, width) => axes.rows(data.rows.map((row) => row.name), width);

  function draw_legend(svg, data, palette, left, width) {
    let x = left, y = 10;
    for (const name of names(data)) {
      const length = name.length * 6.1 + 26;
      if (x + length > width && x > left) [x, y] = [left, y + 14];
      svg.append("rect").attr("class", "fill " + palette.tone(name)).attr("x", x).attr("y", y - 8).attr("width", 9).attr("height", 9);
      svg.append("text").attr("x", x + 13).attr("y", y).text(name);
      x += length;
    }
  }

  function draw_row(svg, data, row, middle, x, places, palette, width) {
    let from = 0;
    for (const part of row.parts) {
      if (!(part.value > 0)) continue;
      const group = axes.mark(svg, `${row.name}: ${part.name} ${axes.text(part.value, data.unit)} of ${axes.text(total(row), data.unit)}`);
      group.append("rect").attr("class", "fill " + palette.tone(part.name)).attr("x", x(from)).attr("y", middle - places.bar / 2)
        .attr("width", Math.max(0.5, x(from + part.value) - x(from) - 0.5)).attr("height", places.bar);
      from += part.value;
    }
    svg.append("text").attr("class", "label").attr("x", Math.min(x(from) + 5, width - 2)).attr("y", middle + 4)
      .text(axes.text(total(row), data.unit));
  }

  headroom.charts.phases = {
    hint: "",
    label: (data) => `Parts of ${data.rows.map((row) => row.name).slice(0, 6).join(", ")}: ${names(data).join(", ")}`,
    // With a second line of legend.
    height: (width, data) => kTop + 14 + data.rows.length * layout(data, width).height + kBottom,
    draw(svg, data, size) {
      const palette = headroom.palette(names(data)), places = layout(data, size.width), top = kTop + 14;
      const x = d3.scaleLinear().domain([0, d3.max(data.rows, total) || 1]).range([places.left, size.width - 70]);
      draw_legend(svg, data, palette, places.left, size.width);
      data.rows.forEach((row, i) => {
        const middle = places.name(svg, row.name, top + i * places.height);
        draw_row(svg, data, row, middle, x, places, palette, size.width);
      });
      axes.place(svg, axes.from_zero(d3.axisBottom(x), x, data.unit, size.width / 140), `0,${top + data.rows.length * places.height}`);
    },
    table: (data) => ({ columns: ["", ...names(data), "all", `(${data.unit})`],
      rows: data.rows.map((row) => [row.name, ...names(data).map((name) => (row.parts.find((part) => part.name === name) || {}).value), total(row), ""]) }),
  };
})();
