// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/site/site.cpp.
(function () {
  "use strict";
  const { element, numbers } = headroom;

  // "+10.0 % (+9.6 to +10.4)", "drifts by +5.3 %"
  headroom.change_text = function (change) {
    if (change.ratio === null) return "from 0";
    const range = change.low === null ? "" : ` (${numbers.change(change.low)} to ${numbers.change(change.high)})`;
    return (change.drifts ? "drifts by " : "") + numbers.change(change.ratio) + range;
  };
  headroom.change_tone = (change) => change.ratio === null || change.worse === null ? "" : change.worse ? "bad" : "good";

  const verdict = (change) => change.ratio === null ? "" : change.worse === null ? " changed" : change.worse ? " worse" : " better";
  const counted = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

  // A sentence, and one about series that are too short, or null.
  function answer(data) {
    if (data.series === 0) return ["No series has a value yet."];
    const when = data.up_to > 0 ? ` in the week up to ${headroom.when(data.up_to)}` : "";
    const touched = new Set(data.recent.map((change) => change.href)).size;
    if (data.too_short === data.series && touched === 0)
      return [`Too early to tell: none of ${data.series} series has the ${data.needed} values needed to tell a change from noise.`];
    const short = data.too_short > 0 ? `Too early to tell for ${data.too_short} of ${data.series} series, with fewer than ${data.needed} values.` : null;
    if (touched === 0) return [`No change beyond noise${when}.`, short];
    const worse = data.recent.filter((change) => change.ratio !== null && change.worse).length;
    const unknown = data.recent.filter((change) => change.worse === null).length, better = data.recent.length - worse - unknown;
    const parts = [worse && `${worse} worse`, better && `${better} better`, unknown && `${unknown} changed`].filter(Boolean);
    return [`${touched} of ${data.series} series changed${when}: ${parts.join(", ")}.`, short];
  }

  function changes_table(label, changes) {
    const rows = changes.map((change, index) => ({ ...change, index }));
    const machines = new Set(rows.map((row) => row.machine));
    return headroom.table({
      label, rows, text: (row) => [row.series, row.machine, row.commit].join(" "),
      facets: [{ title: "worse", tone: "bad", test: (row) => row.worse }, { title: "better", tone: "good", test: (row) => row.worse === false }]
        .map((facet) => ({ ...facet, count: rows.filter(facet.test).length })).filter((facet) => facet.count > 0 && facet.count < rows.length),
      columns: [
        { title: "series", name: "case", show: (row) => element("a", { href: row.href }, row.series), sort: (row) => row.series },
        machines.size > 1 && { title: "machine", show: (row) => row.machine, sort: (row) => row.machine },
        { title: "changed by", name: "line", number: true, first: -1, show: (row) => numbers.element(row.ratio ?? "", headroom.change_text(row) + verdict(row)),
          sort: (row) => row.ratio === null ? null : Math.abs(Math.log(row.ratio)), tone: headroom.change_tone },
        { title: "at run", number: true, first: -1, show: (row) => `@${row.run}`, sort: (row) => row.time },
        { title: "time", show: (row) => headroom.when(row.time), sort: (row) => row.time },
        { title: "commit", name: "commit", show: (row) => row.commit && element("code", {}, row.commit.slice(0, 12)) },
        { title: "values since", number: true, show: (row) => String(row.since), sort: (row) => row.since, tone: () => "faint" },
      ].filter(Boolean),
    });
  }

  headroom.sections.changes = function (box, data) {
    headroom.append(box, [
      element("div", { class: "answers" }, answer(data).map((line, i) => line && element("p", { class: i === 0 ? "lead" : null }, line))),
      data.recent.length > 0 && changes_table("recent changes", data.recent),
      data.suspected.length > 0 && element("details", { class: "more" },
        element("summary", {}, `${counted(data.suspected.length, "series").replace("seriess", "series")} possibly changed, too few values yet`),
        element("ul", {}, data.suspected.map((one) => element("li", {}, element("a", { href: one.href }, one.series), ` at @${one.run}, ${one.machine}`)))),
      data.earlier_count > 0 && element("details", { class: "more" },
        element("summary", {}, counted(data.earlier_count, "earlier change") +
          (data.earlier_count > data.earlier.length ? `, the newest ${data.earlier.length}` : "")),
        changes_table("earlier changes", data.earlier)),
    ]);
  };
})();
