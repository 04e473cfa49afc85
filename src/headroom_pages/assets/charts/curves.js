// SPDX-License-Identifier: Apache-2.0
// Lines with dashed references; fewer than three points have no line between them. Data: {series: [{name, points: [{x, y, low, high}], reference: [{x, y}]}], x: {title, unit, log},
// y: {title, unit, log, domain}, reference: meaning of the dashed lines}.
(function () {
  "use strict";
  const { axes } = headroom;
  const kMargin = { top: 20, bottom: 40, left: 66 };

  const all_of = (data, key) => data.series.flatMap((one) => [...one.points, ...(one.reference || [])].map((point) => point[key]));
  const sentence = (data, one, point) => `${one.name}, ${axes.text(point.x, data.x.unit)}: ${axes.text(point.y, data.y.unit)}` +
    (typeof point.low === "number" ? ` (${axes.text(point.low, data.y.unit)} to ${axes.text(point.high, data.y.unit)})` : "") +
    (typeof point.reference === "number" ? `, ${data.reference} ${axes.text(point.reference, data.y.unit)}` : "");

  function scale_of(axis, values, range) {
    const [low, high] = axis.domain || d3.extent(values);
    if (axis.log) return d3.scaleLog().domain([low / 1.15, high * 1.15]).range(range);
    return d3.scaleLinear().domain([Math.min(0, low), high * 1.04]).range(range);
  }

  function draw_axes(svg, data, x, y, box) {
    const values = axes.spaced(Array.from(new Set(all_of(data, "x"))).sort((a, b) => a - b), x, 52);
    axes.place(svg, d3.axisBottom(x).tickValues(values).tickFormat((value) => axes.text(value, data.x.unit)).tickSizeOuter(0), `0,${box.bottom}`);
    const left = d3.axisLeft(y);
    if (data.y.log) axes.log_ticks(left, y, data.y.unit);
    else axes.from_zero(left, y, data.y.unit, 5);
    axes.place(svg, left, `${kMargin.left},0`);
    axes.title(svg, data.y.title, 0, 11);
    axes.title(svg, data.x.title, box.right, box.bottom + 34, "end");
  }

  function draw_series(svg, data, one, palette, x, y) {
    const line = d3.line().x((point) => x(point.x)).y((point) => y(point.y));
    const tone = palette.tone(one.name);
    const reference = one.reference || [];
    if (reference.length > 2) svg.append("path").attr("class", `reference line ${tone}`).attr("d", line(reference));
    else for (const point of reference) axes.segment(svg, `reference line ${tone}`, [x(point.x) - 9, y(point.y)], [x(point.x) + 9, y(point.y)]);
    if (one.points.length > 2) svg.append("path").attr("class", `line ${tone}`).attr("d", line(one.points));
    for (const point of one.points) {
      const group = axes.mark(svg, sentence(data, one, point));
      if (typeof point.low === "number") {
        axes.segment(group, "whisker " + tone, [x(point.x), y(Math.max(point.low, y.domain()[0]))], [x(point.x), y(Math.min(point.high, y.domain()[1]))]);
      }
      group.append("path").attr("class", `fill ${tone}`).attr("transform", `translate(${x(point.x)},${y(point.y)})`).attr("d", palette.shape(one.name, 44));
    }
  }

  headroom.charts.curves = {
    hint: "",
    label: (data) => `${data.y.title} by ${data.x.title} of ${data.series.map((one) => one.name).join(", ")}`,
    height: (width) => Math.round(Math.max(230, Math.min(320, width * 0.5))),
    draw(svg, data, size) {
      const palette = headroom.palette(data.series.map((one) => one.name));
      const room = Math.min(d3.max(data.series, (one) => one.name.length) * 6.1 + 14, size.width * 0.32);
      const box = { right: size.width - room, bottom: size.height - kMargin.bottom };
      const x = scale_of(data.x, all_of(data, "x"), [kMargin.left + 6, box.right - 8]);
      const y = scale_of(data.y, all_of(data, "y"), [box.bottom, kMargin.top]);
      draw_axes(svg, data, x, y, box);
      for (const one of data.series) draw_series(svg, data, one, palette, x, y);
      const ends = data.series.filter((one) => one.points.length > 0).map((one) => ({ name: one.name, y: y(one.points[one.points.length - 1].y) }));
      for (const end of axes.dodged(ends, 13)) {
        svg.append("text").attr("class", "label").attr("x", box.right + 4).attr("y", end.y + 4).text(axes.fitted(end.name, room - 6));
      }
    },
    table: (data) => ({ columns: ["", data.x.title, data.y.title, "from", "to", data.reference || ""],
      rows: data.series.flatMap((one) => one.points.map((point) => [one.name, point.x, point.y, point.low, point.high, point.reference])) }),
  };
})();
