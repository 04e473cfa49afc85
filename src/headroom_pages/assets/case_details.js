// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const { element, numbers } = headroom;

  function facts(row, texts) {
    const pairs = [];
    const add = (title, text) => pairs.push([title, text]);
    add(row.outcome === "wrong" ? "wrong answer" : row.outcome, row.reason);
    if (typeof row.time === "number") {
      add("time", `${numbers.value(row.time, row.time_unit)}, ` + (typeof row.time_low === "number"
        ? `95 % interval ${numbers.value(row.time_low, row.time_unit)} to ${numbers.value(row.time_high, row.time_unit)}` : "no interval"));
    }
    add(row.metric, typeof row.value === "number" && numbers.value(row.value, row.unit));
    add("limit", row.limit && `${numbers.share(row.share, row.share_low, row.share_high)} of ${row.limit}`);
    add("ratio", row.ratio_to && `${row.ratio.toFixed(3)} x the time of ${row.ratio_to}` + (typeof row.ratio_low === "number"
      ? ` (95 % interval ${row.ratio_low.toFixed(3)} to ${row.ratio_high.toFixed(3)})` : ""));
    for (const line of (row.about || []).map((i) => texts[i])) {
      const at = line.indexOf(": ");
      add(line.slice(0, at), line.slice(at + 2));
    }
    if (row.notes) add("notes", row.notes.map((i) => element("p", {}, texts[i])));
    return headroom.details(pairs);
  }

  function samples(row, palette) {
    if (!row.samples) return null;
    const is_timed = typeof row.time === "number";
    const data = { samples: row.samples, unit: is_timed ? row.time_unit : row.unit, value: is_timed ? row.time : row.value,
      low: is_timed ? row.time_low : row.low, high: is_timed ? row.time_high : row.high, limit: row.limit_at, target: row.target_at,
      modes: row.modes, tone: palette.tone(row.backend) };
    if (typeof data.value !== "number") return null;
    return headroom.figure("samples", data, { palette, note: headroom.charts.samples.legend(data) });
  }

  // The same case by other backends and runners, fastest first.
  function peers(row, rows, table) {
    const others = rows.filter((other) => other !== row && other.case === row.case && other.dtype === row.dtype);
    if (others.length === 0) return null;
    others.sort((a, b) => (a.time === undefined || a.time === null) - (b.time === undefined || b.time === null) || a.time - b.time);
    const link = (other) => element("li", {}, element("button", { type: "button", class: "link", click: () => table.reveal(other) }, other.backend || other.case),
      typeof other.time === "number" ? " " + numbers.value(other.time, other.time_unit) : " " + other.outcome);
    return element("div", { class: "peers" }, "same case: ", element("ul", {}, others.map(link)));
  }

  headroom.case_details = ({ row, rows, table, texts, palette }) =>
    element("div", {}, samples(row, palette), facts(row, texts), peers(row, rows, table));

  headroom.facts = function (run) {
    const when = run.when ? new Date(run.when * 1000).toISOString().replace("T", " ").slice(0, 16) + " UTC" : "";
    const machines = run.machines > 1 ? `${run.machines} machines` : [run.processor, run.machine].filter(Boolean).join(", ");
    const revision = run.revision ? "revision " + run.revision.slice(0, 12) : "";
    const version = run.version ? "headroom " + run.version : "";
    return element("p", { class: "facts" }, [when, machines, revision, version].filter(Boolean).join(" \u00b7 "),
      run.command && element("code", {}, run.command));
  };

  // Common facts are listed once. environments: [[name, value]] each.
  headroom.environments = function (environments) {
    if (environments.length === 0) return null;
    const key = (pair) => JSON.stringify(pair);
    const alike = environments[0].filter((pair) => environments.every((other) => other.some((one) => key(one) === key(pair))));
    const known = new Set(alike.map(key));
    const own = environments.map((pairs) => pairs.filter((pair) => !known.has(key(pair))));
    return element("details", { class: "environment" }, element("summary", {}, "machine and environment"), headroom.details(alike),
      environments.length > 1 && own.map((pairs, i) => pairs.length > 0 && [element("h3", {}, `environment ${i + 1}`), headroom.details(pairs)]));
  };
})();
