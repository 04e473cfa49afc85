// SPDX-License-Identifier: Apache-2.0
// Data: report/roofline.h.
// Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
(function () {
  "use strict";
  const { axes, numbers } = headroom;
  const kMargin = { top: 14, right: 14, bottom: 40, left: 52 };

  const units = (data) => Array.from(new Set(data.cases.map((one) => one.unit || "GFLOP/s"))).join(", ");
  const name = (one) => [one.name, one.dtype, one.backend].filter(Boolean).join(" ");
  const peaks = (data) => data.roofs.filter((roof) => roof.kind === "peak");
  const bandwidths = (data) => data.roofs.filter((roof) => roof.kind !== "peak");

  // As frame_of in report/roofline.cpp.
  function frame_of(data) {
    const peak = d3.max(peaks(data), (roof) => roof.rate) || 0;
    const fastest = d3.max(bandwidths(data), (roof) => roof.rate) || 0;
    let [x_low, x_high] = d3.extent(data.cases, (one) => one.flop_per_byte);
    let [y_low, y_high] = d3.extent(data.cases, (one) => one.gflops);
    x_low /= 4;
    for (const roof of bandwidths(data)) {
      if (peak > 0) x_high = Math.max(x_high, peak / roof.rate);
      y_low = Math.min(y_low, roof.rate * x_low);
    }
    x_high *= 4;
    return { x: [x_low, x_high], y: [y_low / 1.5, 1.5 * Math.max(y_high, peak || fastest * x_high)], peak, fastest };
  }

  function draw_axes(svg, data, x, y, size) {
    axes.place(svg, axes.log_ticks(d3.axisBottom(x), x), `0,${size.height - kMargin.bottom}`);
    axes.place(svg, axes.log_ticks(d3.axisLeft(y), y), `${kMargin.left},0`);
    axes.title(svg, "arithmetic intensity (FLOP/byte)", size.width - kMargin.right, size.height - 6, "end");
    axes.title(svg, units(data), kMargin.left + 6, kMargin.top - 3);
  }

  // `offset` shifts the label along the line, away from nearby roofs' labels.
  function draw_roof(svg, roof, frame, x, y, offset) {
    const is_peak = roof.kind === "peak";
    const from = is_peak ? [frame.fastest > 0 ? Math.max(frame.x[0], roof.rate / frame.fastest) : frame.x[0], roof.rate]
      : [frame.x[0], roof.rate * frame.x[0]];
    const end = is_peak || frame.peak === 0 ? frame.x[1] : Math.min(frame.x[1], frame.peak / roof.rate);
    const to = [end, is_peak ? roof.rate : roof.rate * end];
    const a = [x(from[0]), y(from[1])], b = [x(to[0]), y(to[1])];
    const angle = (Math.atan2(b[1] - a[1], b[0] - a[0]) * 180) / Math.PI;
    const text = `${roof.name}: ${numbers.number(roof.rate)} ${roof.unit}`;
    const group = svg.append("g").attr("class", "roof");
    group.append("line").attr("x1", a[0]).attr("y1", a[1]).attr("x2", b[0]).attr("y2", b[1]);
    const along = is_peak ? `translate(${b[0] - offset},${b[1] - 5})` : `translate(${a[0]},${a[1]}) rotate(${angle}) translate(${10 + offset},-5)`;
    group.append("text").attr("transform", along).attr("text-anchor", is_peak ? "end" : "start").text(text);
    return { a, b, length: 6.1 * text.length, offset, is_peak };
  }

  function draw_roofs(svg, data, frame, x, y, size) {
    const taken = [], lines = [];
    for (const roof of data.roofs) {
      const place = roof.kind === "peak" ? y(roof.rate) : y(roof.rate * frame.x[0]);
      const near = taken.filter((one) => one.kind === roof.kind && Math.abs(one.place - place) < 16).length;
      taken.push({ kind: roof.kind, place });
      lines.push(draw_roof(svg, roof, frame, x, y, near * Math.min(190, size.width / 3)));
    }
    return lines;
  }

  // Small boxes along a line, to keep labels off it.
  function boxes_along({ a, b }, from, to, above) {
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1, boxes = [];
    for (let at = Math.max(0, from); at <= Math.min(length, to); at += 6) {
      const px = a[0] + ((b[0] - a[0]) * at) / length, py = a[1] + ((b[1] - a[1]) * at) / length;
      boxes.push([px - 4, py - above, px + 4, py + 2]);
    }
    return boxes;
  }

  const text_boxes = (line) => line.is_peak
    ? [[line.b[0] - line.offset - line.length, line.b[1] - 18, line.b[0] - line.offset, line.b[1]]]
    : boxes_along(line, 10 + line.offset, 10 + line.offset + line.length, 16);

  const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  // Takes the first side that covers no point, name or roof, else no point or name, else none.
  function draw_label(svg, one, at, taken, lines, size) {
    const width = 6.1 * name(one).length, height = 13;
    const sides = [[9, -6.5, "start"], [-9 - width, -6.5, "end"], [-width / 2, 8, "middle"], [-width / 2, -21, "middle"]];
    const boxes = sides.map(([dx, dy, anchor]) => [at[0] + dx, at[1] + dy, at[0] + dx + width, at[1] + dy + height, anchor])
      .filter((box) => box[0] > kMargin.left && box[2] < size.width && box[1] > 0 && box[3] < size.height - kMargin.bottom)
      .filter((box) => !taken.some((other) => overlap(box, other)));
    const box = boxes.find((one_side) => !lines.some((other) => overlap(one_side, other))) || boxes[0];
    if (!box) return;
    taken.push(box);
    const x = box[4] === "start" ? box[0] : box[4] === "end" ? box[2] : (box[0] + box[2]) / 2;
    svg.append("text").attr("class", "label").attr("x", x).attr("y", box[3] - 3).attr("text-anchor", box[4]).text(name(one));
  }

  function sentence(one) {
    const rate = `${name(one)}: ${numbers.number(one.gflops)} ${one.unit || "GFLOP/s"}`;
    const spread = one.low === null ? "" : ` (${numbers.number(one.low)} to ${numbers.number(one.high)})`;
    const share = one.limit ? `, ${numbers.share(one.limit.share, one.limit.low, one.limit.high)} of its limit, ${one.limit.name}` : "";
    return `${rate}${spread} at ${numbers.number(one.flop_per_byte)} FLOP/byte${share}`;
  }

  function draw_cases(svg, data, lines, x, y, size) {
    const clamp = (value) => Math.max(y.range()[1], Math.min(y.range()[0], y(Math.max(value, 1e-300))));
    const places = data.cases.map((one) => [x(one.flop_per_byte), y(one.gflops)]);
    const taken = places.map(([px, py]) => [px - 6, py - 6, px + 6, py + 6]).concat(lines.flatMap(text_boxes));
    const avoided = lines.flatMap((line) => boxes_along(line, 0, Infinity, 2)).concat(data.cases.flatMap((one, i) =>
      one.low === null ? [] : [[places[i][0] - 2, clamp(one.high), places[i][0] + 2, clamp(one.low)]]));
    data.cases.forEach((one, i) => {
      const tone = size.palette.tone(one.backend);
      const group = axes.mark(svg, sentence(one));
      if (one.low !== null) axes.segment(group, "whisker " + tone, [places[i][0], clamp(one.low)], [places[i][0], clamp(one.high)]);
      group.append("path").attr("class", "fill " + tone).attr("transform", `translate(${places[i]})`)
        .attr("d", size.palette.shape(one.backend, 70));
      if (data.cases.length <= 24) draw_label(svg, one, places[i], taken, avoided, size);
    });
  }

  headroom.charts.roofline = {
    hint: "Point at a case, or use Tab and the arrow keys.",
    label: (data) => `Roofline: ${data.cases.length} cases under ${data.roofs.length} roofs of the machine`,
    height: (width) => Math.round(Math.max(300, Math.min(460, width * 0.52))),
    draw(svg, data, size) {
      const frame = frame_of(data);
      const x = d3.scaleLog().domain(frame.x).range([kMargin.left, size.width - kMargin.right]);
      const y = d3.scaleLog().domain(frame.y).range([size.height - kMargin.bottom, kMargin.top]);
      draw_axes(svg, data, x, y, size);
      draw_cases(svg, data, draw_roofs(svg, data, frame, x, y, size), x, y, size);
    },
    table: (data) => ({
      columns: ["case", "backend", "dtype", "FLOP/byte", units(data), "from", "to", "samples", "GB/s", "of limit", "limit"],
      rows: data.cases.map((one) => [one.name, one.backend, one.dtype, one.flop_per_byte, one.gflops, one.low, one.high, one.n,
        one.bandwidth_gb_s, one.limit && one.limit.share, one.limit && one.limit.name])
        .concat(data.roofs.map((roof) => [roof.name, "", "", null, roof.kind === "peak" ? roof.rate : null, roof.low, roof.high,
          roof.n, roof.kind === "peak" ? null : roof.rate, null, roof.source])),
    }),
  };
})();
