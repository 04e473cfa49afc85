// SPDX-License-Identifier: Apache-2.0
// Data: {"runs": [run]} of headroom_pages/program/serve.cpp.
(function () {
  "use strict";
  const { element, numbers } = headroom;

  function run_of(run) {
    const count = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;
    const state = [count(run.finished, "group") + " finished", run.title && `now ${run.title}`].filter(Boolean).join(", ");
    const rows = run.cases.map((one, index) => ({ ...one, index }));
    return [
      element("p", { class: "lead" }, element("code", {}, run.command)),
      element("p", { class: "facts" }, run.problem || `since ${headroom.when(run.time)}: ${state}`),
      rows.length > 0 && headroom.table({
        label: "results so far", rows, text: (row) => row.case,
        columns: [
          { title: "case", name: "case", show: (row) => row.case, sort: (row) => row.case },
          { title: "metric", show: (row) => row.metric, sort: (row) => row.metric },
          { title: "so far", number: true, show: (row) => numbers.element(row.value, numbers.value(row.value, row.unit)), sort: (row) => row.value },
          { title: "95 %", number: true, show: (row) => row.low === null ? "" : numbers.spread(row.value, row.low, row.high, row.unit), tone: () => "faint" },
          { title: "samples", number: true, show: (row) => String(row.samples), sort: (row) => row.samples, tone: () => "faint" },
        ],
      }),
      run.left_out > 0 && element("p", { class: "note" }, `${run.left_out} more are not shown.`),
    ];
  }

  headroom.sections.running = function (box, data) {
    box.hidden = data.runs.length === 0;
    headroom.append(box, data.runs.map(run_of));
  };
})();
