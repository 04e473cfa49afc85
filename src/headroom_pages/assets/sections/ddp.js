// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { axes, element, instrument, numbers } = headroom;
  const kPhases = { forward: "forward", backward: "backward", wait: "wait for buckets", step: "optimizer" };

  const is_alone = (row) => row.axes.ddp === "no";
  const label = (row) => row.about.step || row.label;
  // Excludes ranks, and buckets, which the step without DDP lacks.
  const series_key = (row) => [row.name, row.runner, row.axes.batch_size, row.axes.image_size].join(" ");

  function scaling(steps) {
    const timed = steps.filter((row) => row.metrics.throughput && !is_alone(row));
    if (timed.length === 0) return null;
    const alone = steps.find((row) => is_alone(row) && row.metrics.throughput);
    const base = alone && alone.metrics.throughput.value;
    const series = instrument.grouped(timed, (row) => row.axes.bucket_size === undefined ? "DDP" : `buckets of ${row.axes.bucket_size} MiB`).map(([name, own]) => ({ name,
      points: own.map((row) => { const { value, low, high } = row.metrics.throughput; return { x: row.axes.ranks, y: value, low, high, reference: base ? base * row.axes.ranks : null }; })
        .sort((a, b) => a.x - b.x) }));
    if (base) series[0].reference = series[0].points.map((point) => ({ x: point.x, y: point.reference }));
    return headroom.figure("curves", { series, x: { title: "ranks" }, y: { title: "examples/s of all ranks", unit: "" }, reference: "without DDP" },
      { title: "Scaling", note: base ? "Dashed: the same number of ranks without DDP." : null });
  }

  function phases(steps) {
    const rows = steps.filter((row) => row.metrics.forward).map((row) => ({ name: label(row) + (row.axes.bucket_size === undefined ? "" : `, ${row.axes.bucket_size} MiB`),
      parts: Object.entries(kPhases).map(([name, title]) => ({ name: title, value: instrument.value(row, name) })) }));
    if (rows.length === 0) return null;
    return headroom.figure("phases", { rows, unit: steps.find((row) => row.metrics.forward).metrics.forward.unit }, { title: "Parts of an iteration" });
  }

  function buckets(steps) {
    const with_buckets = steps.filter((row) => row.metrics["bucket 0 launched"]);
    const step = with_buckets[with_buckets.length - 1];
    if (!step) return null;
    const rows = [];
    for (let i = 0; step.metrics[`bucket ${i} launched`] && step.metrics[`bucket ${i} completed`]; ++i) {
      const launched = step.metrics[`bucket ${i} launched`], { bytes, tensors } = launched.numbers || {};
      rows.push({ name: `bucket ${i}, ${axes.bytes(bytes)}`, from: launched.value, to: step.metrics[`bucket ${i} completed`].value,
        detail: tensors && `${tensors} gradients` });
    }
    return headroom.figure("spans", { rows, unit: step.metrics["bucket 0 launched"].unit, title: "time since the start of the backward pass" },
      { title: `Reduction of buckets, ${label(step)}` });
  }

  headroom.sections.ddp = function (box, data) {
    const all = instrument.rows(data), steps = all.filter((row) => row.axes.ddp !== undefined);
    headroom.append(box, [instrument.head(data)]);
    for (const [, own] of instrument.grouped(steps, series_key)) {
      headroom.append(box, [element("h3", {}, `${instrument.name(own[0], steps)}, batches of ${own[0].axes.batch_size}`),
        instrument.multiples([scaling(own), phases(own), buckets(own)].filter(Boolean))]);
    }
    const columns = [
      { title: "step", name: "case", show: (row) => `${instrument.name(row, steps)} ${label(row)}`, sort: (row) => `${row.name} ${label(row)}` },
      { title: "ranks", number: true, show: (row) => numbers.element(row.axes.ranks, String(row.axes.ranks)), sort: (row) => row.axes.ranks },
      instrument.column("iteration", "latency", { wide: true }), instrument.column("throughput", "throughput"), instrument.limit_column,
      instrument.column("without reduction", "without reduction"), instrument.column("exposed", "exposed communication"),
      instrument.column("communication", "communication"), instrument.column("overlap", "overlap", { percent: true }), instrument.outcome_column,
    ];
    headroom.append(box, [element("h3", {}, "all steps"), instrument.table("steps", steps, columns)]);
    const collectives = headroom.collective_figures(all);
    headroom.append(box, [collectives && element("h3", {}, "collectives alone"), collectives, headroom.environments(data.environments)]);
  };
})();
