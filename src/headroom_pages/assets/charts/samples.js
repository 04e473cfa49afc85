// SPDX-License-Identifier: Apache-2.0
// Samples in measured order and their distribution. Data: {samples: headroom_pages/case_columns.h, unit, value, low, high, limit,
// target, modes: [[median, share]], tone}.
(function () {
  "use strict";
  const { axes, numbers } = headroom;
  const kMargin = { top: 16, right: 8, bottom: 36, left: 64 };
  const kHeld = { stolen: "time stolen by the hypervisor", preempted: "preempted by the kernel", throttled: "device throttled" };

  const is_number = (value) => typeof value === "number";
  const text = (data, value) => numbers.value(value, data.unit);

  // x is the round; processes that share rounds follow each other.
  function marks_of(data) {
    const each = data.samples.each;
    const ranges = [], marks = [];
    let end = 0;
    data.samples.processes.forEach((process, p) => {
      const disturbed = new Map(process.disturbed || []);
      const place = (i) => i < process.warmup ? i * each : (process.warmup_samples ?? process.warmup) + (i - process.warmup) * each;
      const own = process.values.map((value, i) => ({ p, i, value, round: process.rounds ? process.rounds[i] : process.round + place(i),
        low: process.low ? process.low[i] : value, high: process.high ? process.high[i] : value,
        quarter: process.quarter ? process.quarter[i] : value, upper: process.upper ? process.upper[i] : value,
        is_warmup: i < process.warmup, held: disturbed.get(i) }));
      const first = own[0].round, start = Math.max(end, first);
      for (const mark of own) mark.x = start + mark.round - first;
      end = own[own.length - 1].x + each;
      ranges.push([start, end]);
      marks.push(...own);
    });
    return { marks, ranges };
  }

  // The range of most samples; a distant line is labelled at the edge.
  function range_of(data, marks) {
    const h = data.samples.histogram;
    const values = marks.filter((mark) => !mark.is_warmup && is_number(mark.value)).map((mark) => mark.value);
    let [low, high] = h ? [h.from, h.to] : d3.extent(values);
    for (const value of [data.value, data.low, data.high]) {
      if (is_number(value) && Math.abs(value - data.value) < 3 * (high - low)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    const span = high - low || Math.abs(high) * 0.02 || 1;
    for (const value of [data.limit, data.target]) {
      if (is_number(value) && value > low - 1.5 * span && value < high + 1.5 * span) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    const edge = 0.06 * (high - low || span);
    return [low - edge, high + edge];
  }

  function sentence(data, mark) {
    const where = `process ${mark.p + 1}, round ${mark.round}`;
    const what = data.samples.each === 1 ? text(data, mark.value)
      : `median ${text(data, mark.value)}, quartiles ${text(data, mark.quarter)} and ${text(data, mark.upper)}, from ${text(data, mark.low)} to ${text(data, mark.high)}`;
    return `${where}: ${what}${mark.is_warmup ? "; warm-up, not in the estimate" : ""}${mark.held ? "; " + kHeld[mark.held] : ""}`;
  }

  function draw_line(svg, data, name, value, y, box) {
    if (!is_number(value)) return;
    const [low, high] = y.domain();
    const is_within = value >= low && value <= high;
    const at = is_within ? y(value) : value > high ? kMargin.top : box.bottom;
    if (is_within) axes.segment(svg, name, [kMargin.left, at], [box.right, at]);
    const label = `${name} ${text(data, value)}` + (is_within ? "" : value > high ? " \u2191" : " \u2193");
    // At opposite sides, because they may be close.
    const is_right = name === "limit";
    svg.append("text").attr("class", "line-label").attr("x", is_right ? box.right - 4 : kMargin.left + 6)
      .attr("y", at + (at < kMargin.top + 14 ? 11 : -4)).attr("text-anchor", is_right ? "end" : "start").text(label);
  }

  function draw_interval(svg, data, y, box) {
    if (is_number(data.low)) {
      const [low, high] = y.domain();
      const top = y(Math.min(high, data.high)), bottom = y(Math.max(low, data.low));
      svg.append("rect").attr("class", "interval").attr("x", kMargin.left).attr("width", box.right - kMargin.left)
        .attr("y", top).attr("height", Math.max(1, bottom - top));
    }
    axes.segment(svg, "median", [kMargin.left, y(data.value)], [box.right, y(data.value)]);
  }

  function draw_mark(svg, data, mark, x, y, tone) {
    const [low, high] = y.domain();
    if (!is_number(mark.value)) return;
    const clamp = (value) => y(Math.max(low, Math.min(high, value)));
    const px = x(mark.x), is_off = mark.value > high || mark.value < low;
    const group = axes.mark(svg, sentence(data, mark), mark.is_warmup);
    if (data.samples.each > 1) {
      axes.segment(group, "whisker thin " + tone, [px, clamp(mark.low)], [px, clamp(mark.high)]);
      axes.segment(group, "whisker " + tone, [px, clamp(mark.quarter)], [px, clamp(mark.upper)]);
    }
    const shape = is_off ? d3.symbolTriangle : mark.held ? d3.symbolCross : d3.symbolCircle;
    const turn = is_off && mark.value < low ? 180 : mark.held && !is_off ? 45 : 0;
    group.append("path").attr("class", `fill stroke ${tone}`).attr("transform", `translate(${px},${clamp(mark.value)}) rotate(${turn})`)
      .attr("d", d3.symbol().type(shape).size(mark.held || is_off ? 38 : 22)());
  }

  function draw_processes(svg, ranges, x, box) {
    ranges.forEach(([from, to], p) => {
      const left = x(from) - 3, right = x(to) - 3;
      if (p > 0) axes.segment(svg, "rule", [left, kMargin.top], [left, box.bottom]);
      const is_wide = right - left > 58;
      if (!is_wide && right - left < 14) return;
      axes.title(svg, is_wide ? `process ${p + 1}` : p + 1, (left + right) / 2, box.bottom + 14, "middle");
    });
    axes.title(svg, "rounds, in the order measured", box.right, box.bottom + 29, "end");
  }

  function draw_histogram(svg, data, y, left, width, tone) {
    const h = data.samples.histogram;
    if (!h) return;
    const x = d3.scaleLinear().domain([0, d3.max(h.counts)]).range([0, width]);
    const step = (h.to - h.from) / h.counts.length;
    h.counts.forEach((count, i) => {
      const top = y(h.from + (i + 1) * step), bottom = y(h.from + i * step);
      svg.append("rect").attr("class", "bar fill " + tone).attr("x", left).attr("width", x(count)).attr("y", top).attr("height", Math.max(0.5, bottom - top - 0.5));
    });
    for (const [median, share] of data.modes || []) {
      axes.segment(svg, "median", [left, y(median)], [left + width, y(median)]);
      svg.append("text").attr("class", "line-label").attr("x", left + width).attr("y", y(median) - 3).attr("text-anchor", "end")
        .text(`${text(data, median)}, ${Math.round(share * 100)} %`);
    }
  }

  headroom.charts.samples = {
    hint: "",
    label: (data) => `${data.samples.n} samples of ${data.samples.processes.length} processes, in the order measured, and their distribution`,
    height: () => 236,
    draw(svg, data, size) {
      const { marks, ranges } = marks_of(data), tone = data.tone || "mark-0";
      const wide = data.samples.histogram ? Math.min(150, size.width * 0.22) : 0;
      const box = { right: size.width - kMargin.right - wide - (wide ? 12 : 0), bottom: size.height - kMargin.bottom };
      const y = d3.scaleLinear().domain(range_of(data, marks)).range([box.bottom, kMargin.top]);
      const x = d3.scaleLinear().domain([ranges[0][0], ranges[ranges.length - 1][1]]).range([kMargin.left + 8, box.right]);
      axes.place(svg, axes.close(d3.axisLeft(y), y, data.unit, 5), `${kMargin.left},0`);
      if (!numbers.is_time(data.unit)) axes.title(svg, data.unit === "1" ? "" : data.unit, 0, 9);
      draw_processes(svg, ranges, x, box);
      draw_interval(svg, data, y, box);
      marks.forEach((mark) => draw_mark(svg, data, mark, x, y, tone));
      draw_histogram(svg, data, y, box.right + 12, wide, tone);
      draw_line(svg, data, "limit", data.limit, y, box);
      draw_line(svg, data, "target", data.target, y, box);
    },
    table: (data) => ({
      columns: ["process", "round", data.unit || "value", ...(data.samples.each > 1 ? ["min", "quartile", "quartile", "max"] : []), ""],
      rows: marks_of(data).marks.map((mark) => [mark.p + 1, mark.round, mark.value,
        ...(data.samples.each > 1 ? [mark.low, mark.quarter, mark.upper, mark.high] : []),
        [mark.is_warmup && "warm-up", mark.held].filter(Boolean).join(", ")]),
    }),
    legend(data) {
      const { marks } = marks_of(data), [low, high] = range_of(data, marks), held = {};
      for (const mark of marks) if (mark.held) held[mark.held] = (held[mark.held] || 0) + 1;
      const off = marks.filter((mark) => mark.value > high || mark.value < low).length;
      const lines = [];
      if (data.samples.each > 1) lines.push(`${data.samples.n} samples: a mark is ${data.samples.each} neighbours, with their median, quartiles, min and max`);
      if (is_number(data.low)) lines.push("band: 95 % interval of the median");
      if (data.samples.warmup > 0) lines.push(`hollow: warm-up (${data.samples.warmup} samples), not in the estimate`);
      for (const [what, count] of Object.entries(held)) lines.push(`cross: ${kHeld[what]} (${count})`);
      if (off > 0) lines.push(`triangle: beyond the edge (${off})`);
      return lines.join(" \u00b7 ");
    },
  };
})();
