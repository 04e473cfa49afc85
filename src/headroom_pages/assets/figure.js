// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const { element } = headroom;

  function titled(cell, title) {
    if (title) cell.dataset.title = title;
    return cell;
  }

  // heads: [{title, number}]; cell(value, column): its td.
  headroom.plain_table = (label, heads, rows, cell, kind = "") =>
    element("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": label },
      element("table", { class: ("plain " + kind).trim() },
        element("thead", {}, element("tr", {}, heads.map(({ title, number }) => element("th", { scope: "col", class: number ? "number" : null }, title)))),
        element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value, i) => titled(cell(value, i), heads[i].title)))))));

  const titles_of = (columns) => columns.map((title) => ({ title }));
  const text_cell = (value) => element("td", {}, String(value ?? ""));
  const number_cell = (value) => typeof value === "number"
    ? element("td", { class: "number" }, headroom.numbers.element(value, String(Number(value.toPrecision(6))))) : text_cell(value);
  headroom.text_table = (label, columns, rows) => headroom.plain_table(label, titles_of(columns), rows, text_cell);

  function draw(svg, chart, data, width, palette) {
    const height = chart.height(width, data);
    svg.selectAll("*").remove();
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
    chart.draw(svg, data, { width, height, palette });
  }

  // Shows the label of the pointed or focused mark below the chart.
  function show_mark_labels(svg, readout, hint) {
    const show_label = (event) => {
      const mark = event.target.closest(".mark");
      if (mark) readout.textContent = mark.getAttribute("aria-label");
    };
    const show_hint = () => { readout.textContent = hint; };
    svg.addEventListener("pointerover", show_label);
    svg.addEventListener("focusin", show_label);
    svg.addEventListener("pointerleave", show_hint);
    svg.addEventListener("focusout", show_hint);
    show_hint();
  }

  // charts.NAME is {label(data), height(width, data), draw(svg, data, {width, height, palette}), table(data)}: `data` is plain
  // JSON, `svg` a d3 selection. Marks with a readout have the class "mark" and an aria-label.
  headroom.figure = function (name, data, { title, palette, note } = {}) {
    const chart = headroom.charts[name];
    const svg = d3.create("svg").attr("class", "chart " + name).attr("role", "group").attr("aria-label", chart.label(data));
    const readout = element("p", { class: "readout", "aria-live": "polite" });
    const box = element("div", { class: "canvas" }, svg.node());
    // On demand: for thousands of samples it is larger than the chart.
    const fill = (event) => {
      const details = event.currentTarget;
      if (details.open && details.children.length === 1) {
        const { columns, rows } = chart.table(data);
        details.append(headroom.plain_table("numbers of the chart", titles_of(columns), rows, number_cell));
      }
    };
    const figure = element("figure", { "data-chart": name }, title && element("figcaption", {}, title), box, readout,
      note && element("p", { class: "note" }, note),
      element("details", { class: "numbers", toggle: fill }, element("summary", {}, "the numbers")));
    show_mark_labels(svg.node(), readout, chart.hint || "");
    const settle = headroom.rove(svg.node(), ".mark");
    let drawn = 0;
    const redraw = () => {
      const width = Math.floor(box.clientWidth);
      if (width === 0 || width === drawn) return;
      drawn = width;
      draw(svg, chart, data, width, palette || headroom.palette([]));
      settle();
    };
    new ResizeObserver(redraw).observe(box);
    return figure;
  };
})();
