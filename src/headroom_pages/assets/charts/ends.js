// SPDX-License-Identifier: Apache-2.0
// Two or three values a row, with intervals. Data: {rows: [{name, ends: [{name, value, low, high}]}], unit}.
(function () {
  "use strict";
  const { axes } = headroom;
  const kTop = 24, kBottom = 34;

  const names = (data) => Array.from(new Set(data.rows.flatMap((row) => row.ends.map((end) => end.name))));
  const values = (data) => data.rows.flatMap((row) => row.ends.map((end) => end.value)).filter((value) => value > 0);
  const layout = (data, width) => axes.rows(data.rows.map((row) => row.name), width);
  const sentence = (data, row, end) => `${row.name}, ${end.name}: ${axes.text(end.value, data.unit)}` +
    (typeof end.low === "number" ? ` (${axes.text(end.low, data.unit)} to ${axes.text(end.high, data.unit)})` : "");

  function draw_row(svg, data, row, middle, x, palette) {
    const [low, high] = x.domain(), within = (value) => x(Math.max(low, Math.min(high, value)));
    const [first, last] = d3.extent(row.ends, (end) => end.value);
    axes.segment(svg, "guide", [within(first), middle], [within(last), middle]);
    for (const end of row.ends) {
      const tone = palette.tone(end.name);
      const group = axes.mark(svg, sentence(data, row, end));
      if (typeof end.low === "number") axes.segment(group, "whisker " + tone, [within(end.low), middle], [within(end.high), middle]);
      group.append("path").attr("class", "fill " + tone).attr("transform", `translate(${within(end.value)},${middle})`).attr("d", palette.shape(end.name, 56));
    }
  }

  headroom.charts.ends = {
    hint: "",
    label: (data) => `${names(data).join(" and ")} of ${data.rows.length} rows`,
    height: (width, data) => kTop + data.rows.length * layout(data, width).height + kBottom,
    draw(svg, data, size) {
      const palette = headroom.palette(names(data)), places = layout(data, size.width);
      const [low, high] = d3.extent(values(data)), is_log = high > 4 * low;
      const x = (is_log ? d3.scaleLog().domain([low / 1.3, high * 1.3]) : d3.scaleLinear().domain([0, high * 1.1])).range([places.left + 6, size.width - 12]);
      let at = places.left;
      for (const name of names(data)) {
        svg.append("path").attr("class", "fill " + palette.tone(name)).attr("transform", `translate(${at + 6},8)`).attr("d", palette.shape(name, 56));
        svg.append("text").attr("x", at + 15).attr("y", 12).text(name);
        at += name.length * 6.1 + 30;
      }
      data.rows.forEach((row, i) => draw_row(svg, data, row, places.name(svg, row.name, kTop + i * places.height), x, palette));
      const axis = d3.axisBottom(x);
      if (is_log) axes.log_ticks(axis, x, data.unit);
      else axes.from_zero(axis, x, data.unit, size.width / 140);
      axes.place(svg, axis, `0,${kTop + data.rows.length * places.height}`);
    },
    table: (data) => ({ columns: ["", "", `(${data.unit})`, "from", "to"],
      rows: data.rows.flatMap((row) => row.ends.map((end) => [row.name, end.name, end.value, end.low, end.high])) }),
  };
})();
