// SPDX-License-Identifier: Apache-2.0
// Data: headroom_pages/sections.h.
(function () {
  "use strict";
  const { axes, element, numbers } = headroom;
  const kLongest = 100;

  function cell_of(value, unit) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "number") return value;
    if (unit === "count") return numbers.element(value, value.toLocaleString("en"));
    const shown = unit === "ns" ? numbers.time_ns(value) : unit === "B" ? axes.bytes(value) : numbers.number(value);
    return numbers.element(value, unit === "share" ? numbers.percent(value) : shown);
  }

  // "kernel_below_roof" is "Kernel below roof".
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const title_of = (finding) => `${capital(finding.kind.replace(/_/g, " "))}: ${gain_text(finding)}`;

  function gain_text(finding) {
    const of = finding.step === null ? "of the trace" : "a step";
    return `${numbers.time_ns(finding.recoverable_ns)} ${of} (${numbers.percent(finding.share)})`;
  }

  const flops_text = (rate) => {
    const units = ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"];
    const place = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(rate) / 3)));
    return `${numbers.number(rate / Math.pow(1000, place))} ${units[place]}`;
  };

  function key_numbers({ key, findings }, ranks) {
    if (key === null) return null;
    const of_ranks = ranks > 1 ? `, mean of ${ranks} ranks` : "";
    const share = (value) => value === null ? "unknown" : numbers.element(value, numbers.percent(value));
    const known = key.achieved;
    const items = [
      [key.steps > 0 ? "step" : "trace", numbers.element(key.step_ns, numbers.time_ns(key.step_ns)),
        (key.steps > 0 ? `${key.steps} step${key.steps === 1 ? "" : "s"}` : "no steps marked") + of_ranks],
      ["GPU busy", share(key.busy), `of the ${key.steps > 0 ? "step" : "trace"}`],
      ["exposed communication", share(key.exposed_communication), "communication without compute"],
      known && ["achieved", numbers.element(known.flops_per_second, flops_text(known.flops_per_second)),
        `in operators of known cost: ${numbers.percent(known.covered)} of GPU time`],
      key.first_three_ns !== null && ["could be saved", numbers.element(key.first_three_ns, numbers.time_ns(key.first_three_ns)),
        `${numbers.percent(key.first_three_ns / key.step_ns)}, by the first ${findings.length === 1 ? "finding" : Math.min(3, findings.length) + " findings"}`],
    ];
    return element("dl", { class: "key", "aria-label": "key numbers" }, items.filter(Boolean).map(([name, value, note]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value), element("dd", { class: "why" }, note))));
  }

  function findings_list(findings, go) {
    const item = (finding, i) => element("li", {}, element("p", { class: i === 0 ? "lead" : "finding" },
      finding.mark ? element("button", { type: "button", class: "go", title: "show in the timeline",
        click: () => go(finding.mark) }, title_of(finding)) : title_of(finding)),
      finding.where && element("p", {}, finding.where), element("p", { class: "note" }, finding.evidence),
      element("p", { class: "fix" }, finding.fix));
    return element("ol", { class: "findings", "aria-label": "what to fix first" }, findings.map(item));
  }

  function data_table({ title, columns, rows }) {
    const cell = (value, i) => columns[i].unit ? element("td", { class: "number" }, cell_of(value, columns[i].unit))
      : element("td", { class: columns[i].title === "name" ? "name" : null, title: value }, element("span", {}, value));
    const heads = columns.map((column) => ({ title: column.title, number: column.unit }));
    return element("figure", {}, element("figcaption", {}, capital(title)), headroom.plain_table(capital(title), heads, rows, cell, "named"));
  }

  function longest_slices(timeline) {
    let all = [];
    const keep = () => { all.sort((a, b) => b.duration - a.duration); all.length = Math.min(all.length, kLongest); };
    for (const row of timeline.rows) {
      if (!row.track || row.track.kind === "steps") continue;
      row.track.lanes.forEach((lane, depth) => {
        for (let index = 0; index < lane.size; ++index) {
          const duration = lane.duration(index);
          if (all.length >= kLongest && duration <= all[all.length - 1].duration) continue;
          all.push({ row, lane: depth, index, duration });
          if (all.length >= 4 * kLongest) keep();
        }
      });
      keep();
    }
    return all;
  }

  function longest_table(timeline) {
    const details = element("details", { class: "numbers" }, element("summary", {}, "the longest slices"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector("table")) return;
      const cells_of = (slice) => {
        const lane = slice.row.track.lanes[slice.lane], count = lane.count[slice.index], name = timeline.model.names[lane.name[slice.index]];
        return [element("td", { class: "name" }, element("button", { type: "button", class: "go",
          click: () => { timeline.select(slice, true); timeline.zoom_to_selected(); } }, name)),
        element("td", { class: "number" }, numbers.element(slice.duration, numbers.time_ns(slice.duration))),
        element("td", { class: "number" }, numbers.element(lane.start[slice.index], numbers.time_ns(lane.start[slice.index]))),
        element("td", { class: "number" }, numbers.element(count, String(count))),
        element("td", {}, (timeline.model.ranks.length > 1 ? `rank ${slice.row.rank.rank}, ` : "") + slice.row.title)];
      };
      const heads = ["name", "duration", "start", "events", "track"].map((title, i) => ({ title, number: i > 0 && i < 4 }));
      details.append(headroom.plain_table("the longest slices", heads, longest_slices(timeline).map(cells_of), (cell) => cell, "longest named"));
    });
    return details;
  }

  function choice(label, options, use) {
    const buttons = options.map(([text, value]) => element("button", { type: "button", class: "chip", "aria-pressed": "false",
      click: () => pick(value) }, text));
    const pick = (value) => {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i][1] === value)));
      use(value);
    };
    buttons[0].setAttribute("aria-pressed", "true");
    return options.length > 1 && element("span", { class: "choice", role: "group", "aria-label": label }, buttons);
  }

  function flames(model) {
    const ranks = model.ranks.filter((rank) => rank.flames.length > 0);
    if (ranks.length === 0) return null;
    const box = element("div", { class: "flame-box" }), all = ranks.flatMap((rank) => rank.flames);
    const chosen = { rank: ranks[0], by: "stack", measure: "host" };
    const show = () => {
      const flame = chosen.rank.flames.find((one) => one.by === chosen.by) || chosen.rank.flames[0];
      const notes = [];
      if (flame.left_out > 0) notes.push(`${flame.left_out.toLocaleString("en")} smaller calls are merged into their callers`);
      if (flame.elsewhere > 0 && chosen.measure === "device") notes.push(`${numbers.time_ns(flame.elsewhere)} of device time was launched elsewhere`);
      box.replaceChildren(headroom.figure("flame", { ...flame, kinds: model.kinds, measure: chosen.measure }, { note: notes.join("; ") || null }));
    };
    const set = (key) => (value) => { chosen[key] = value; show(); };
    const has = (by) => all.some((flame) => flame.by === by), has_device = all.some((flame) => flame.device.some((time) => time > 0));
    const controls = element("div", { class: "controls" },
      choice("rank", ranks.map((rank) => [`rank ${rank.rank}`, rank]), set("rank")),
      choice("by", [has("stack") && ["by call", "stack"], has("module") && ["by module", "module"]].filter(Boolean), set("by")),
      choice("time", [["host time", "host"], has_device && ["device time", "device"]].filter(Boolean), set("measure")));
    show();
    return element("div", { class: "flames" }, element("h3", {}, "Where the time is spent"), controls, box);
  }

  function limit_notes(model) {
    return model.ranks.flatMap((rank) => {
      const of = model.ranks.length > 1 ? `rank ${rank.rank}: ` : "", notes = [];
      if (rank.shortest_ns > 0) notes.push(`${of}${rank.events.toLocaleString("en")} events in ${rank.slices.toLocaleString("en")} slices: those ` +
        `under ${numbers.time_ns(rank.shortest_ns)} are grouped in paler blocks`);
      if (rank.tracks_left_out > 0) notes.push(`${of}${rank.tracks_left_out} tracks with ${rank.events_left_out.toLocaleString("en")} events are not ` +
        "drawn, the tracks with the least time");
      return notes;
    });
  }

  function marks_of(findings) {
    for (const finding of findings)
      finding.mark = finding.at === null ? null : { time: finding.at, rank: finding.rank, text: title_of(finding) };
    return findings.map((finding) => finding.mark).filter(Boolean);
  }

  headroom.sections.trace = function (box, data) {
    const timeline = headroom.timeline(data.timeline, marks_of(data.findings));
    const lines = [...limit_notes(timeline.model), ...data.notes];
    headroom.append(box, [
      key_numbers(data, timeline.model.ranks.length),
      data.doubts.map((doubt) => element("p", { class: "bad" }, doubt)),
      data.findings.length > 0 ? findings_list(data.findings, (mark) => timeline.go_to(mark))
        : element("div", { class: "answers" }, data.answer.map((line, i) => element("p", { class: i === 0 ? "lead" : null }, line))),
      timeline.node, longest_table(timeline), flames(timeline.model), data.tables.map(data_table),
      lines.length > 0 && element("ul", { class: "legend" }, lines.map((line) => element("li", {}, line)))]);
  };
})();
