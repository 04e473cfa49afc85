// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { element, instrument } = headroom;
  const kSteps = ["key", "look-up", "redistribute", "local", "wrap"];

  const unit_of = (rows) => rows.map((row) => row.metrics.hit).find(Boolean).unit;

  function added(rows) {
    const with_local = rows.filter((row) => row.metrics["hit over local"]);
    if (with_local.length === 0) return null;
    return headroom.figure("phases", { unit: unit_of(rows), rows: with_local.map((row) => ({ name: instrument.name(row, rows), parts: [
      { name: "local operator", value: instrument.value(row, "local") },
      { name: "distribution, cache hit", value: instrument.value(row, "hit over local") },
      { name: "extra for a cache miss", value: instrument.value(row, "propagation") }] })) }, { title: "Cost of distribution per call" });
  }

  function steps(rows) {
    const with_steps = rows.filter((row) => row.metrics["hit key"]);
    if (with_steps.length === 0) return null;
    const bars = with_steps.flatMap((row) => ["hit", "miss"].map((way) => ({ name: `${instrument.name(row, rows)}, ${way}`,
      parts: kSteps.map((step) => ({ name: step, value: instrument.value(row, `${way} ${step}`) })) })));
    return headroom.figure("phases", { unit: unit_of(rows), rows: bars }, { title: "Steps of a call",
      note: "The look-up of a miss includes propagation." });
  }

  headroom.sections.dispatch = function (box, data) {
    const rows = instrument.rows(data);
    const columns = [
      { title: "operator", name: "case", show: (row) => instrument.name(row, rows), sort: (row) => row.name },
      instrument.column("plain", "plain"), instrument.column("local", "local"), instrument.column("hit", "hit", { wide: true }),
      instrument.column("miss", "miss", { wide: true }), instrument.column("hit \u2212 local", "hit over local"),
      instrument.column("miss \u2212 local", "miss over local"), instrument.column("miss \u2212 hit", "propagation"),
      instrument.column("instructions, hit", "instructions hit"), instrument.column("instructions, miss", "instructions miss"), instrument.outcome_column,
    ];
    const is_measured = rows.some((row) => row.metrics.hit);
    headroom.append(box, [instrument.head(data), is_measured && instrument.multiples([added(rows), steps(rows)].filter(Boolean)),
      element("h3", {}, "all operators"), instrument.table("operators", rows, columns), headroom.environments(data.environments)]);
  };
})();
