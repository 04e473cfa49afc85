// SPDX-License-Identifier: Apache-2.0
// A flame graph. Data: a tree by columns (headroom_trace/timeline/timeline.h) with `measure`: "host" or "device".
(function () {
  "use strict";
  const { numbers } = headroom;
  const kRow = 17, kDeepest = 32, kThinnest = 0.7, kTableRows = 300;

  function tree_of(data) {
    if (data.tree) return data.tree;
    const nodes = data.name.map((name, i) => ({ index: i, name: data.names[name], kind: data.kind[i], host: data.host[i],
      device: data.device[i], calls: data.calls[i], children: [] }));
    const root = { index: -1, name: "all", kind: -1, host: 0, device: 0, calls: 1, children: [], depth: 0 };
    nodes.forEach((node, i) => {
      node.parent = data.parent[i] < 0 ? root : nodes[data.parent[i]];
      node.depth = node.parent.depth + 1;
      node.parent.children.push(node);
      if (node.parent !== root) return;
      root.host += node.host;
      root.device += node.device;
    });
    // Not enumerable, so that the data serialises as given.
    Object.defineProperty(data, "tree", { value: { nodes, root }, enumerable: false });
    return data.tree;
  }

  const own = (node, measure) => Math.max(node[measure] - d3.sum(node.children, (child) => child[measure]), 0);

  function label_of(node, data, total) {
    const calls = `${node.calls.toLocaleString("en")} call${node.calls === 1 ? "" : "s"}`;
    return `${node.name}: host ${numbers.time_ns(node.host)}, devices ${numbers.time_ns(node.device)}, ` +
      `${numbers.percent(total > 0 ? node[data.measure] / total : 0)} of all, ${calls}`;
  }

  // Returns the visible boxes, with `top` across the whole width: [{node, x, width, row}].
  function placed(top, measure, width) {
    const shown = [];
    for (let node = top.parent; node; node = node.parent) shown.push({ node, x: 0, width, row: node.depth, is_above: true });
    const open = [{ node: top, x: 0, width, row: top.depth }];
    while (open.length > 0) {
      const place = open.pop();
      shown.push(place);
      const children = place.node.children.filter((child) => child[measure] > 0).sort((a, b) => b[measure] - a[measure]);
      // Children may outlive their parent: scale them to fit.
      const all = Math.max(place.node[measure], d3.sum(children, (child) => child[measure]));
      let x = place.x;
      for (const node of children) {
        const size = place.width * node[measure] / all;
        if (size < kThinnest) break;
        open.push({ node, x, width: size, row: place.row + 1 });
        x += size;
      }
    }
    return shown;
  }

  const deepest = (shown) => d3.max(shown, (place) => place.row) || 0;

  function show(svg, data, size, top) {
    const { measure } = data, { root } = tree_of(data), total = root[measure];
    const shown = placed(top, measure, size.width), offset = Math.max(0, Math.min(top.depth, deepest(shown) + 1 - kDeepest));
    const inside = shown.filter((place) => place.row >= offset && place.row - offset < kDeepest);
    const zoom = (place) => {
      const next = place.node === top && top.parent ? top.parent : place.node;
      show(svg, data, size, next);
      const mark = svg.selectAll(".mark").filter((one) => one.node === next).node();
      if (mark) mark.focus();
    };
    svg.selectAll("*").remove();
    const marks = svg.selectAll("g").data(inside).enter().append("g").attr("class", (place) => "mark" + (place.is_above ? " above" : ""))
      .attr("transform", (place) => `translate(${place.x},${(place.row - offset) * kRow})`).attr("role", "button").attr("tabindex", (place) => place.node === top ? "0" : "-1")
      .attr("aria-label", (place) => label_of(place.node, data, total));
    marks.each(function (place) {
      this.addEventListener("click", () => zoom(place));
      this.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        zoom(place);
      });
    });
    marks.append("rect").attr("class", (place) => `fill flame-${place.node.kind < 0 ? "other" : data.kinds[place.node.kind]}`)
      .attr("width", (place) => Math.max(place.width - 0.5, 0.5)).attr("height", kRow - 1);
    marks.filter((place) => place.width > 30).append("text").attr("x", 4).attr("y", kRow / 2).attr("dy", ".33em")
      .text((place) => cut(place.node.name, place.width - 8));
  }

  function cut(text, room) {
    const most = Math.floor(room / 6.4);
    return text.length <= most ? text : text.slice(0, Math.max(most - 1, 1)) + "…";
  }

  headroom.charts.flame = {
    label: (data) => `flame graph: calls above their callees, as wide as their time on the ${data.measure === "host" ? "host" : "devices"}`,
    hint: "Click a call or press Enter to zoom in; again to go back.",
    height(width, data) {
      const { root } = tree_of(data);
      return Math.min(deepest(placed(root, data.measure, width)) + 1, kDeepest) * kRow;
    },
    draw: (svg, data, size) => show(svg, data, size, tree_of(data).root),
    table(data) {
      const { nodes } = tree_of(data), { measure } = data;
      const rows = nodes.map((node) => [node, own(node, measure)]).sort((a, b) => b[1] - a[1]).slice(0, kTableRows);
      return { columns: ["name", "within", `own ${measure}, ms`, "host, ms", "devices, ms", "calls"],
        rows: rows.map(([node, time]) => [node.name, node.parent.index < 0 ? "" : node.parent.name, time / 1e6, node.host / 1e6, node.device / 1e6, node.calls]) };
    },
  };
})();
