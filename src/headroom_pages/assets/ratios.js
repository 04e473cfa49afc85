// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const ratios = {};
  const kTones = { regression: "mark-1", improvement: "mark-2", same: "mark-6", changed: "mark-6" };

  ratios.tone = (verdict) => kTones[verdict] || "mark-6";
  ratios.text_tone = (verdict) => verdict === "regression" || verdict === "failed" ? "bad" : verdict === "improvement" ? "good" : null;
  // Undecided verdicts are hollow.
  ratios.is_hollow = (verdict) => !(verdict in kTones);

  // Intervals extend the scale to at most three times the ratios' range, and are clipped at the edge. Logarithmic beyond a factor
  // of two.
  ratios.scale = function (rows, range) {
    const points = rows.map((row) => Math.log(row.ratio)).concat(rows.map((row) => Math.log(1 + (row.margin || 0)))).filter(Number.isFinite);
    const reach = Math.max(0.01, d3.max(points, Math.abs) || 0) * 3;
    const ends = rows.flatMap((row) => [row.low, row.high]).filter((value) => typeof value === "number" && value > 0)
      .map((value) => Math.max(-reach, Math.min(reach, Math.log(value))));
    const [low, high] = d3.extent(points.concat(ends, [0, Math.log(0.995), Math.log(1.005)]));
    const edge = 0.05 * (high - low);
    const make = high - low > Math.log(2) ? d3.scaleLog : d3.scaleLinear;
    const scale = make().domain([Math.exp(low - edge), Math.exp(high + edge)]).range(range);
    scale.within = (value) => scale(Math.max(scale.domain()[0], Math.min(scale.domain()[1], value)));
    return scale;
  };

  ratios.axis = (axis, scale, count) => axis.ticks(count).tickSizeOuter(0)
    .tickFormat((value, i, ticks) => scale.base && ticks.length > 2 * count && i % 2 ? "" : String(Number(value.toPrecision(4))));

  const times = (value) => value.toFixed(3) + " x";
  ratios.text = (value) => typeof value === "number" ? times(value) : "";
  ratios.interval = (row) => typeof row.low === "number" ? `${row.low.toFixed(3)} to ${row.high.toFixed(3)}` : "?";

  headroom.ratios = ratios;
})();
