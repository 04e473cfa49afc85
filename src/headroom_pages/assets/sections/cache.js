// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { axes, element, instrument, numbers } = headroom;

  // Metrics are named "Cold wall time (s)" and so on.
  const phase_of = (name) => ["Cold", "Warm", "Second warm"].find((phase) => name.startsWith(phase + " "));

  // Merges the cases of a command, one per cache.
  function commands(data) {
    return instrument.grouped(instrument.rows(data), (row) => row.name).map(([name, own], index) => ({ ...own[0], index, name,
      outcome: (own.find((row) => row.outcome !== "measured") || own[0]).outcome, reason: own.map((row) => row.reason).join(""),
      metrics: Object.assign({}, ...own.map((row) => row.metrics)), headline: "speedup" }));
  }

  function ends(rows) {
    const shown = rows.map((row) => ({ name: row.name, ends: Object.entries(row.metrics).filter(([name]) => phase_of(name))
      .map(([name, metric]) => ({ name: phase_of(name).toLowerCase(), value: metric.value, low: metric.low, high: metric.high, unit: metric.unit }))
      .sort((a, b) => ["cold", "warm", "second warm"].indexOf(a.name) - ["cold", "warm", "second warm"].indexOf(b.name)) })).filter((row) => row.ends.length > 0);
    if (shown.length === 0) return null;
    return headroom.figure("ends", { rows: shown, unit: shown[0].ends[0].unit }, { title: "Cold and warm" });
  }

  // After a command's last warm run.
  function layers(run) {
    if (!run) return null;
    const names = run.request.layers.map((layer) => layer[0]);
    const last = (model) => model.pairs[model.pairs.length - 1].layers;
    const rows = run.models.filter((model) => model.pairs.length > 0).map((model) => ({ name: model.model,
      parts: names.map((name, i) => ({ name, value: last(model)[i][2][1] })) })).filter((row) => row.parts.some((part) => part.value > 0));
    if (rows.length === 0) return null;
    return headroom.figure("phases", { rows, unit: "B" }, { title: "Cache contents after the warm run" });
  }

  function layer_table(run) {
    if (!run) return null;
    const cells = (model) => model.pairs.flatMap((pair) => pair.layers.map(([before, cold, warm, warmth], i) => [model.model, pair.round, run.request.layers[i][0],
      ...[before, cold, warm].map(([, bytes]) => axes.bytes(bytes)), warmth]));
    const rows = run.models.flatMap(cells);
    return element("details", { class: "environment" }, element("summary", {}, "all layers of all pairs"),
      headroom.text_table("layers", ["command", "pair", "layer", "before", "after cold", "after warm", "not cold"], rows));
  }

  headroom.sections.cache = function (box, data) {
    const rows = commands(data);
    const phase = (row, name) => Object.keys(row.metrics).find((metric) => phase_of(metric) === name);
    const column = (title, name) => ({ title, number: true, first: -1, sort: (row) => instrument.value(row, phase(row, name)),
      show: (row) => instrument.column(title, phase(row, name), { wide: true }).show(row) });
    const columns = [
      { title: "command", name: "case", show: (row) => row.name, sort: (row) => row.name },
      column("cold", "Cold"), column("warm", "Warm"), column("second warm", "Second warm"),
      { title: "speed-up", number: true, first: -1, sort: (row) => instrument.value(row, "speedup"), show(row) {
        const gain = row.metrics.speedup;
        return gain ? numbers.element(gain.value, numbers.number(gain.value) + " x" + (typeof gain.low === "number" ? ` (${numbers.number(gain.low)} to ${numbers.number(gain.high)})` : "")) : "";
      } },
      instrument.outcome_column,
    ];
    headroom.append(box, [instrument.head(data), instrument.multiples([ends(rows), layers(data.cache_run)].filter(Boolean)),
      element("h3", {}, "all commands"), instrument.table("commands", rows, columns), layer_table(data.cache_run), headroom.environments(data.environments)]);
  };
})();
