// SPDX-License-Identifier: Apache-2.0
// Other files add headroom.charts.NAME and headroom.sections.KIND.
(function () {
  "use strict";
  const headroom = { charts: {}, sections: {} };

  // Strings become text, never markup; function attributes become event listeners; null and false are skipped.
  headroom.element = function (name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") element.addEventListener(key, value);
      else element.setAttribute(key, value === true ? "" : value);
    }
    headroom.append(element, children);
    return element;
  };

  headroom.append = function (element, children) {
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
  };

  // Arrow keys, Home and End move among matching elements; Tab stops at one of them (roving tabindex).
  headroom.rove = function (container, selector) {
    const all = () => Array.from(container.querySelectorAll(selector));
    const settle = (chosen) => all().forEach((one) => one.setAttribute("tabindex", one === chosen ? "0" : "-1"));
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
    container.addEventListener("keydown", (event) => {
      const elements = all(), at = elements.indexOf(event.target.closest(selector));
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      let to = event.key in steps ? at + steps[event.key] : NaN;
      if (event.key === "Home") to = 0;
      if (event.key === "End") to = elements.length - 1;
      if (Number.isNaN(to)) return;
      event.preventDefault();
      elements[Math.max(0, Math.min(elements.length - 1, to))].focus();
    });
    container.addEventListener("focusin", (event) => {
      const chosen = event.target.closest(selector);
      if (chosen) settle(chosen);
    });
    return () => settle(all()[0]);
  };

  // pairs: [name, value]; pairs without a value are skipped.
  headroom.details = (pairs) => headroom.element("dl", { class: "details" }, pairs.filter(([, value]) => value && value.length !== 0)
    .map(([name, value]) => [headroom.element("dt", {}, name), headroom.element("dd", {}, value)]));

  headroom.answers = function (sentences) {
    const lines = sentences.flatMap((sentence) => sentence.split("\n")).filter((line) => line.trim() !== "");
    return headroom.element("div", { class: "answers" }, lines.map((line, i) =>
      headroom.element("p", { class: i > 0 ? null : line.length > 90 ? "lead long" : "lead" }, line)));
  };

  // {"case": ["a", "b"], "n": [3, 4]} becomes [{case: "a", n: 3}, ...].
  headroom.rows_of = function (columns, count) {
    const names = Object.keys(columns);
    return Array.from({ length: count }, (_, i) => {
      const row = { index: i };
      for (const name of names) row[name] = columns[name][i];
      return row;
    });
  };

  // Assigns each name a colour (--mark-0 and so on in page.css) and a shape.
  headroom.palette = function (names) {
    const order = new Map();
    for (const name of names) if (!order.has(name)) order.set(name, order.size);
    const shapes = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolWye, d3.symbolCross];
    return {
      names: Array.from(order.keys()),
      tone: (name) => "mark-" + (order.get(name) || 0) % 7,
      shape: (name, area) => d3.symbol().type(shapes[(order.get(name) || 0) % shapes.length]).size(area)(),
    };
  };

  headroom.swatch = function (palette, name) {
    const svg = d3.create("svg").attr("class", "swatch").attr("viewBox", "-6 -6 12 12").attr("aria-hidden", "true");
    svg.append("path").attr("class", "fill " + palette.tone(name)).attr("d", palette.shape(name, 52));
    return svg.node();
  };

  window.headroom = headroom;
})();
