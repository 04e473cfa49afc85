// SPDX-License-Identifier: Apache-2.0
// A series over time. Data: "unit", "points", "commits", "levels", "suspected" of headroom_pages/site/site.cpp. Values are evenly
// spaced, because runs come in bursts.
(function () {
  "use strict";
  const { axes, numbers } = headroom;
  const kMargin = { top: 14, right: 14, bottom: 40, left: 58 }, kLabelRow = 15;

  const date = (seconds) => seconds > 0 ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
  const minute = (seconds) => seconds > 0 ? new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 16) + " UTC" : "time unknown";
  const value = (data, number) => numbers.exact(number, data.unit);

  headroom.when = minute;

  function sentence(data, points, i) {
    const commit = data.commits[points.commit[i]].slice(0, 12);
    const what = points.values[i] === 1 ? "" : `, median of ${points.values[i]} values, min and max`;
    const range = points.low[i] === null ? "" : ` (${value(data, points.low[i])} to ${value(data, points.high[i])}${what})`;
    return `@${points.run[i]}, ${minute(points.time[i])}${commit && ", commit " + commit}: ${value(data, points.value[i])}${range}`;
  }

  function domain(data) {
    const { value: values, low, high } = data.points;
    const least = d3.min(values), most = d3.max(values);
    // Wide intervals are cut, so that the values keep half of the height.
    const room = (most - least || Math.abs(most) * 0.02 || 1) / 2;
    const from = Math.max(least - room, Math.min(least, d3.min(low.filter((one) => one !== null)) ?? least));
    const to = Math.min(most + room, Math.max(most, d3.max(high.filter((one) => one !== null)) ?? most));
    const edge = (to - from || room) * 0.04;
    return [from - edge, to + edge];
  }

  function draw_axes(svg, data, x, y, size, bottom) {
    const count = data.points.run.length;
    const wanted = Math.max(2, Math.floor((size.width - kMargin.left - kMargin.right) / 110));
    const places = Array.from(new Set(d3.range(Math.min(wanted, count)).map((i) => Math.round(i * (count - 1) / Math.max(1, Math.min(wanted, count) - 1)))));
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`)
      .call(d3.axisBottom(x).tickValues(places).tickFormat((i) => date(data.points.time[i]) || "@" + data.points.run[i]).tickSizeOuter(0))
      .selectAll("text").attr("text-anchor", (_, i) => i === 0 ? "start" : i === places.length - 1 ? "end" : "middle");
    axes.place(svg, d3.axisLeft(y).ticks(6).tickSizeOuter(0), `${kMargin.left},0`);
    const zero = y.domain()[0] > 0 ? "; the axis does not start at 0" : "";
    axes.title(svg, `${data.unit || "value"} by run, in order of time${zero}`, kMargin.left, size.height - 6);
  }

  // A drift has no level: it is drawn through its median.
  function draw_levels(svg, data, x, y) {
    data.levels.forEach((level) => {
      const from = x(level.first - 0.5), to = x(level.last + 0.5), drift = level.drift ?? 1;
      const group = svg.append("g").attr("class", "level");
      if (level.low !== null && level.drift === null) {
        const top = y(Math.min(y.domain()[1], level.high)), end = y(Math.max(y.domain()[0], level.low));
        group.append("rect").attr("class", "level-band").attr("x", from).attr("width", Math.max(1, to - from)).attr("y", top).attr("height", Math.max(1, end - top));
      }
      const middle = 2 * level.median / (1 + drift);
      axes.segment(group, "level-line", [from, y(middle)], [to, y(middle * drift)]);
    });
  }

  const change_text = (level) => level.ratio === null ? "from 0" : numbers.change(level.ratio);

  // Places labels in the first free row; without room only the line is drawn.
  function draw_changes(svg, data, x, rows, bottom, size) {
    const ends = Array(rows).fill(-Infinity);
    data.levels.slice(1).forEach((level) => {
      const at = x(level.first - 0.5), tone = level.worse ? "bad" : "good";
      axes.segment(svg, "change " + tone, [at, kMargin.top], [at, bottom]);
      const text = `${change_text(level)} @${level.run}${level.commit && " " + level.commit.slice(0, 7)}`, width = 6.2 * text.length;
      const left = at + 4 + width > size.width - 2 ? at - 4 - width : at + 4;
      const row = ends.findIndex((end) => end < left);
      if (row < 0 || left < 0) return;
      ends[row] = left + width + 8;
      svg.append("text").attr("class", "change-label " + tone).attr("x", left).attr("y", kMargin.top + 9 + row * kLabelRow).text(text);
    });
  }

  function draw_points(svg, data, x, y) {
    const { points } = data, [least, most] = y.domain();
    const radius = points.run.length > 400 ? 1.6 : points.run.length > 120 ? 2.2 : 3;
    const clamp = (one) => y(Math.max(least, Math.min(most, one)));
    points.run.forEach((run, i) => {
      const group = svg.append("g").attr("class", "mark").attr("role", "img").attr("data-run", run).attr("aria-label", sentence(data, points, i));
      if (points.low[i] !== null) axes.segment(group, "whisker mark-0", [x(i), clamp(points.low[i])], [x(i), clamp(points.high[i])]);
      group.append("circle").attr("class", "fill " + (run === data.suspected ? "mark-1" : "mark-0")).attr("cx", x(i)).attr("cy", y(points.value[i])).attr("r", radius);
    });
  }

  const label_rows = (data, width) => Math.min(data.levels.length - 1, width < 600 ? 4 : 3);

  headroom.charts.history = {
    hint: "Point at a value, or use Tab and the arrow keys.",
    label: (data) => `${data.values} values over time, ${data.levels.length - 1} level changes`,
    height: (width, data) => Math.round(Math.max(240, Math.min(360, width * 0.42))) + label_rows(data, width) * kLabelRow,
    draw(svg, data, size) {
      const rows = label_rows(data, size.width), bottom = size.height - kMargin.bottom;
      const x = d3.scaleLinear().domain([-0.5, data.points.run.length - 0.5]).range([kMargin.left, size.width - kMargin.right]);
      const y = d3.scaleLinear().domain(domain(data)).range([bottom, kMargin.top + rows * kLabelRow + 6]);
      draw_axes(svg, data, x, y, size, bottom);
      draw_levels(svg, data, x, y);
      draw_changes(svg, data, x, rows, bottom, size);
      draw_points(svg, data, x, y);
    },
    table: (data) => ({
      columns: ["run", "time", "commit", data.unit || "value", "from", "to", "values"],
      rows: data.points.run.map((run, i) => ["@" + run, minute(data.points.time[i]), data.commits[data.points.commit[i]].slice(0, 12),
        data.points.value[i], data.points.low[i], data.points.high[i], data.points.values[i]]),
    }),
  };

  // Fewer than three values are dots without a line.
  headroom.sparkline = function (values, tone) {
    if (values.length === 0) return null;
    const svg = d3.create("svg").attr("class", "spark").attr("viewBox", "0 0 120 20").attr("aria-hidden", "true");
    const [least, most] = d3.extent(values);
    const x = d3.scaleLinear().domain([0, Math.max(1, values.length - 1)]).range([3, 116]);
    const y = d3.scaleLinear().domain(least < most ? [least, most] : [least - 1, most + 1]).range([17, 3]);
    if (values.length > 2) svg.append("path").attr("class", "spark-line").attr("d", d3.line().x((_, i) => x(i)).y((one) => y(one))(values));
    else svg.append("circle").attr("class", "spark-end").attr("cx", x(0)).attr("cy", y(values[0])).attr("r", 2);
    svg.append("circle").attr("class", "spark-end " + (tone || "")).attr("cx", x(values.length - 1)).attr("cy", y(values[values.length - 1])).attr("r", 2);
    return svg.node();
  };
})();
