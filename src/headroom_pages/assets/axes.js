// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const { numbers } = headroom;
  const axes = {};

  // Labels powers of ten, and 2 and 5 if there is room.
  axes.log_ticks = function (axis, scale, unit) {
    const [low, high] = scale.domain(), [from, to] = scale.range();
    const has_room = Math.abs(to - from) / Math.log10(high / low) > 110;
    return axis.ticks(20).tickFormat((value) => {
      const digit = Math.round(value / Math.pow(10, Math.floor(Math.log10(value) + 1e-9)));
      if (digit !== 1 && !(has_room && (digit === 2 || digit === 5))) return "";
      return unit ? axes.text(value, unit).replace(/\.0+ /, " ") : String(Number(value.toPrecision(1)));
    }).tickSizeOuter(0);
  };

  // Keeps values at least `apart` pixels apart, with the first and the last.
  axes.spaced = function (values, scale, apart) {
    const kept = [];
    const last = values[values.length - 1];
    for (const value of values) {
      const is_free = kept.length === 0 || Math.abs(scale(value) - scale(kept[kept.length - 1])) >= apart;
      if (value === last || (is_free && Math.abs(scale(value) - scale(last)) >= apart)) kept.push(value);
    }
    return kept;
  };

  axes.fitted = (name, width) => name.length * 6.1 <= width ? name : name.slice(0, Math.max(4, Math.floor(width / 6.1) - 1)) + "\u2026";

  // Names stand to the left of their rows, on narrow pages above.
  axes.rows = function (names, width) {
    const is_narrow = width < 620;
    const left = is_narrow ? 10 : Math.min(d3.max(names, (name) => name.length) * 6.1 + 14, width * 0.42);
    return { is_narrow, left, height: is_narrow ? 34 : 20, bar: 14,
      // Returns the row's middle.
      name(svg, name, y) {
        svg.append("text").attr("x", 0).attr("y", is_narrow ? y + 12 : y + 14).text(axes.fitted(name, is_narrow ? width : left - 14));
        return y + (is_narrow ? 24 : 10);
      } };
  };

  // Moves [{y, ...}] at least `apart` pixels apart.
  axes.dodged = function (places, apart) {
    const sorted = [...places].sort((a, b) => a.y - b.y);
    for (let i = 1; i < sorted.length; ++i) sorted[i].y = Math.max(sorted[i].y, sorted[i - 1].y + apart);
    return sorted;
  };

  axes.bytes = function (bytes) {
    const names = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    while (i + 1 < names.length && Math.abs(bytes) >= 1024) {
      bytes /= 1024;
      ++i;
    }
    return (Number.isInteger(bytes) ? String(bytes) : numbers.number(bytes)) + " " + names[i];
  };
  axes.text = function (value, unit) {
    if (value === 0 || (!unit && Number.isInteger(value))) return String(value);
    return unit === "B" ? axes.bytes(value) : numbers.value(value, unit);
  };

  // For close values: one unit, with enough digits to differ. Only times show their unit.
  axes.close = function (axis, scale, unit, count) {
    const ticks = scale.ticks(count), step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
    const most = Math.max(...scale.domain().map(Math.abs));
    const names = ["ns", "µs", "ms", "s"];
    let place = 0;
    while (numbers.is_time(unit) && place < 3 && numbers.in_ns(most, unit) >= Math.pow(1000, place + 1)) ++place;
    const factor = numbers.is_time(unit) ? numbers.in_ns(1, unit) / Math.pow(1000, place) : 1;
    const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step * factor) - 1e-6)));
    return axis.ticks(count).tickSizeOuter(0).tickFormat((value) =>
      (value * factor).toFixed(digits) + (numbers.is_time(unit) ? " " + names[place] : ""));
  };

  // Steps of bytes are powers of two.
  axes.from_zero = function (axis, scale, unit, count) {
    axis.tickSizeOuter(0).tickFormat((value) => axes.text(value, unit).replace(/\.0+ /, " "));
    if (unit !== "B") return axis.ticks(Math.max(2, count));
    const most = scale.domain()[1], step = Math.pow(2, Math.ceil(Math.log2(most / Math.max(2, count))));
    return axis.tickValues(d3.range(0, most + step / 1000, step));
  };

  axes.segment = (svg, kind, from, to) =>
    svg.append("line").attr("class", kind).attr("x1", from[0]).attr("x2", to[0]).attr("y1", from[1]).attr("y2", to[1]);
  axes.place = (svg, axis, at) => svg.append("g").attr("class", "axis").attr("transform", `translate(${at})`).call(axis);
  axes.title = (svg, text, x, y, anchor = null) =>
    svg.append("text").attr("class", "axis-title").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
  // With a label for the readout (figure.js).
  axes.mark = (svg, label, is_hollow = false) =>
    svg.append("g").attr("class", is_hollow ? "mark hollow" : "mark").attr("role", "img").attr("aria-label", label);

  headroom.axes = axes;
})();
