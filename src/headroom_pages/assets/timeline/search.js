// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const { element, numbers } = headroom;

  // 1 for each name that contains all words; null without words.
  function names_with(words, names) {
    if (words.length === 0) return null;
    return Uint8Array.from(names, (name) => {
      const lower = name.toLowerCase();
      return words.every((word) => lower.includes(word)) ? 1 : 0;
    });
  }

  function for_each_found({ rows, found }, use) {
    for (const row of rows) {
      (row.track ? row.track.lanes : []).forEach((lane, depth) => {
        for (let index = 0; index < lane.size; ++index) if (found[lane.name[index]]) use(lane, { row, lane: depth, index });
      });
    }
  }

  const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

  function status_of(timeline) {
    let slices = 0, time = 0;
    for_each_found(timeline, (lane, { index }) => {
      ++slices;
      time += lane.busy(index);
    });
    if (slices === 0) return "no slice has that name";
    const names = timeline.found.reduce((sum, one) => sum + one, 0);
    return `${counted(slices, "slice")} of ${counted(names, "name")}, ${numbers.time_ns(time)}`;
  }

  // In time order, wrapping around.
  function go(timeline, by) {
    if (!timeline.found) return;
    const all = [], { selected, view } = timeline;
    for_each_found(timeline, (lane, slice) => all.push({ slice, start: lane.start[slice.index] }));
    if (all.length === 0) return;
    all.sort((a, b) => a.start - b.start);
    const is_selected = ({ slice }) => slice.row === selected.row && slice.lane === selected.lane && slice.index === selected.index;
    let place = selected ? all.findIndex(is_selected) : -1;
    if (place >= 0) {
      place += by;
    } else {
      const next = all.findIndex((one) => one.start >= view.from);
      place = (next < 0 ? 0 : next) - (by > 0 ? 0 : 1);
    }
    timeline.select(all[(place + all.length) % all.length].slice, true);
  }

  headroom.timeline_search = function (timeline) {
    const status = element("span", { class: "status", "aria-live": "polite" });
    const field = element("input", { type: "search", placeholder: "find a name", "aria-label": "find slices by name",
      title: "Enter: next, Shift+Enter: previous", input: () => {
        timeline.found = names_with(field.value.toLowerCase().split(/\s+/).filter(Boolean), timeline.model.names);
        status.textContent = timeline.found ? status_of(timeline) : "";
        timeline.redraw();
      }, keydown: (event) => {
        if (event.key === "Enter") go(timeline, event.shiftKey ? -1 : 1);
      } });
    return [field, status];
  };
})();
