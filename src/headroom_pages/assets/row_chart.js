// SPDX-License-Identifier: Apache-2.0
// A column of small charts on one scale, whose axis stands in the head of the column. Places are percentages of the column's width.
(function () {
  "use strict";
  const kHeight = 16, kApart = 24; // percent between ticks

  const svg_of = (kind) => d3.create("svg").attr("class", kind).attr("height", kHeight);
  const segment = (svg, kind, from, to, top, bottom) =>
    svg.append("line").attr("class", kind).attr("x1", from).attr("x2", to).attr("y1", top).attr("y2", bottom);

  // `wanted` ticks come first; others follow where there is room.
  function ticks_of(scale, wanted) {
    const kept = [];
    for (const value of [...wanted, ...scale.ticks(4)]) {
      if (kept.every((other) => Math.abs(scale(value) - scale(other)) >= kApart)) kept.push(value);
    }
    return kept.sort((a, b) => a - b);
  }

  class RowChart {
    // scale: of d3; text(value, is_last): of a tick.
    constructor(scale, wanted, text) {
      this.scale = scale.range([0, 100]);
      this.ticks = ticks_of(this.scale, wanted);
      this.text = text;
    }

    place(value) {
      const [low, high] = this.scale.domain();
      return this.scale(Math.max(low, Math.min(high, value))).toFixed(2) + "%";
    }

    head() {
      const svg = svg_of("row-chart scale").attr("role", "img").attr("aria-label", `scale: ${this.ticks.map((tick) => this.text(tick, true)).join(", ")}`);
      this.ticks.forEach((tick, i) => {
        segment(svg, "tick", this.place(tick), this.place(tick), 12, kHeight);
        svg.append("text").attr("x", this.place(tick)).attr("y", 10).attr("text-anchor", "middle").text(this.text(tick, i + 1 === this.ticks.length));
      });
      return svg.node();
    }

    row() {
      const svg = svg_of("row-chart").attr("aria-hidden", "true");
      for (const tick of this.ticks) segment(svg, "rule", this.place(tick), this.place(tick), 0, kHeight);
      return svg;
    }

    line(svg, kind, value, inset = 0) { segment(svg, kind, this.place(value), this.place(value), inset, kHeight - inset); }
    span(svg, kind, low, high) { segment(svg, kind, this.place(low), this.place(high), kHeight / 2, kHeight / 2); }
    band(svg, kind, low, high) {
      svg.append("rect").attr("class", kind).attr("x", this.place(low)).attr("width", parseFloat(this.place(high)) - parseFloat(this.place(low)) + "%").attr("height", kHeight);
    }
    mark(svg, tone, shape, value, is_hollow = false) {
      svg.append("svg").attr("class", is_hollow ? "at hollow" : "at").attr("x", this.place(value)).attr("y", kHeight / 2)
        .append("path").attr("class", `fill stroke ${tone}`).attr("d", shape);
    }
  }

  const circle = (area) => d3.symbol().type(d3.symbolCircle).size(area)();
  const kSamples = {
    dot: (svg) => svg.append("path").attr("class", "fill stroke mark-6").attr("transform", "translate(11,6)").attr("d", circle(36)),
    hollow: (svg) => svg.append("g").attr("class", "hollow").append("path").attr("class", "fill stroke mark-6").attr("transform", "translate(11,6)").attr("d", circle(36)),
    whisker: (svg) => segment(svg, "whisker mark-6", 1, 21, 6, 6),
    margin: (svg) => svg.append("rect").attr("class", "margin").attr("x", 1).attr("width", 20).attr("height", 12),
    one: (svg) => segment(svg, "one", 11, 11, 0, 12),
    limit: (svg) => segment(svg, "limit", 11, 11, 0, 12),
    target: (svg) => segment(svg, "target", 11, 11, 0, 12),
  };

  headroom.row_chart = (scale, wanted, text) => new RowChart(scale, wanted, text);

  // parts: [[a name of kSamples, meaning]].
  headroom.chart_key = (parts) => headroom.element("p", { class: "chart-key" }, parts.map(([name, meaning]) => {
    const svg = d3.create("svg").attr("width", 22).attr("height", 12).attr("aria-hidden", "true");
    kSamples[name](svg);
    return headroom.element("span", {}, svg.node(), meaning);
  }));
})();
