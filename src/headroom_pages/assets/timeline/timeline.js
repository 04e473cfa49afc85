// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const { element, numbers } = headroom;
  const kNarrow = 700, kLabels = 184, kLeastHeight = 120;
  const kAxis = headroom.TimelinePainter.axis_height;
  const kHint = "Zoom: wheel, W, S. Move: drag, A, D. Arrow keys step between slices, 0 shows all.";
  const kKinds = { compute: "compute", communication: "communication", memory: "memcpy and memset", operator: "operators",
    call: "runtime calls", python: "Python", annotation: "annotations", wait: "waits", other: "other" };

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

  // Excludes the profiler's own events, which may last much longer.
  function work_range({ ranks, kinds, name_kinds, length }) {
    let from = Infinity, to = -Infinity;
    const is_other = (name) => kinds[name_kinds[name]] === "other";
    for (const { lanes } of ranks.flatMap((rank) => rank.tracks)) {
      if (lanes.every((lane) => lane.name.every(is_other))) continue;
      from = Math.min(from, ...lanes.map((lane) => lane.start[0]));
      to = Math.max(to, ...lanes.map((lane) => lane.reach[lane.size - 1]));
    }
    return from < to ? [from, to] : [0, length];
  }

  const kShortest = 20; // ns across the whole width

  class TimeView {
    // `core`: the initial range.
    constructor(length, core) {
      this.length = Math.max(length, 1);
      this.core = core;
      this.whole();
    }

    get span() { return this.to - this.from; }

    whole() { this.set(this.core[0], this.core[1]); }

    // Clamps to the trace plus a margin, and to a drawable span.
    set(from, to) {
      const margin = this.length * 0.02;
      const span = Math.min(Math.max(to - from, Math.min(kShortest, this.length)), this.length + 2 * margin);
      const middle = (from + to) / 2;
      this.from = Math.min(Math.max(middle - span / 2, -margin), this.length + margin - span);
      this.to = this.from + span;
    }

    // `around` keeps its place.
    zoom(factor, around) {
      const share = (around - this.from) / this.span;
      const span = Math.min(Math.max(this.span * factor, Math.min(kShortest, this.length)), this.length * 1.04);
      this.set(around - share * span, around + (1 - share) * span);
    }

    move(by) { this.set(this.from + by, this.to + by); }

    // Moves as little as needed, with some margin.
    reveal(start, end) {
      if (end - start > this.span) this.set(start - (end - start) * 0.1, end + (end - start) * 0.1);
      else if (start < this.from) this.move(start - this.from - this.span * 0.1);
      else if (end > this.to) this.move(end - this.to + this.span * 0.1);
    }
  }

  const kLane = 15, kLeast = 20, kCounter = 34, kRank = 26, kGap = 3, kStrip = 17;

  // By device: each stream with its queue, then memory.
  function ordered(rank) {
    const counters = new Set(rank.counters), parts = [];
    const take = (test) => {
      for (const counter of counters) {
        if (!test(counter)) continue;
        parts.push({ counter });
        counters.delete(counter);
      }
    };
    rank.tracks.forEach((track, i) => {
      parts.push({ track });
      if (track.kind === "stream")
        take((one) => one.kind === "queue" && one.device === track.device && one.name === track.name);
      const next = rank.tracks[i + 1];
      if (track.device >= 0 && (!next || next.device !== track.device))
        take((one) => one.kind !== "queue" && one.device === track.device && !one.name.startsWith("CPU"));
    });
    take(() => true);
    return parts;
  }

  function title_of({ track, counter, busy, device }) {
    if (busy) return device >= 0 ? `GPU ${device} busy, 0 to 100 %` : "GPU busy, 0 to 100 %";
    if (counter) return counter.kind === "queue" ? `queue of ${counter.name}` : `${counter.name} ${counter.kind}`;
    return track.device >= 0 ? `device ${track.device}, ${track.name}` : track.name;
  }

  // [{rank} or {rank, busy} or {rank, track, lanes} or {rank, counter}, each with title, open, y, height, top: of the first lane]
  function rows_of(model) {
    return model.ranks.flatMap((rank) => {
      const parts = [...rank.devices, ...ordered(rank)].map((part) => ({ rank, ...part, title: title_of(part), open: true }));
      return model.ranks.length > 1 ? [{ rank, header: true, title: `rank ${rank.rank}`, open: true }, ...parts] : parts;
    });
  }

  // Returns the total height. Rows of a closed rank have height 0.
  function place_rows(rows, has_label_column) {
    const strip = has_label_column ? 0 : kStrip;
    let y = 0, rank_open = true;
    for (const row of rows) {
      if (row.header) rank_open = row.open;
      row.hidden = !row.header && !rank_open;
      row.y = y;
      row.lane_height = kLane;
      if (row.hidden) row.height = 0;
      else if (row.header) row.height = kRank;
      else if (row.counter || row.busy) row.height = strip + (row.open ? kCounter : has_label_column ? kLeast : 0) + kGap;
      else row.height = strip + Math.max(kLane * (row.open ? row.track.lanes.length : 1), has_label_column ? kLeast - kGap : 0) + kGap;
      row.top = y + strip;
      y += row.height;
    }
    return y;
  }

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
  function select_found(timeline, by) {
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

  function search_of(timeline) {
    const status = element("span", { class: "status", "aria-live": "polite" });
    const field = element("input", { type: "search", placeholder: "find a name", "aria-label": "find slices by name",
      title: "Enter: next, Shift+Enter: previous", input: () => {
        timeline.found = names_with(field.value.toLowerCase().split(/\s+/).filter(Boolean), timeline.model.names);
        status.textContent = timeline.found ? status_of(timeline) : "";
        timeline.redraw();
      }, keydown: (event) => {
        if (event.key === "Enter") select_found(timeline, event.shiftKey ? -1 : 1);
      } });
    return [field, status];
  }

  class Timeline {
    // marks: [{time, text}]
    constructor(data, marks) {
      this.model = headroom.decode_timeline(data);
      this.view = new TimeView(this.model.length, work_range(this.model));
      this.rows = rows_of(this.model);
      this.marks = marks;
      this.selected = null;
      this.found = null;
      this.make_elements();
      this.painter = new headroom.TimelinePainter(this.canvas, this.model);
      this.listen();
    }

    make_elements() {
      this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-label": "timeline. " + kHint });
      this.labels = element("div", { class: "timeline-labels" });
      this.rows.forEach((row) => this.labels.append(this.label(row)));
      this.scroller = element("div", { class: "timeline-scroller" }, this.canvas, this.labels);
      this.readout = element("p", { class: "readout timeline-readout" }, kHint);
      this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
      this.tip = element("p", { class: "timeline-tip", hidden: true, "aria-hidden": "true" });
      this.frame = element("div", { class: "timeline-frame" }, this.scroller, this.tip);
      this.node = element("div", { class: "timeline" }, this.controls(), this.frame, this.readout, this.spoken);
      this.node.timeline = this;
    }

    label(row) {
      const hint = row.track ? `${row.title}: ${counted(row.track.events, "event")}, ${numbers.time_ns(row.track.busy_ns)} in total`
        : row.busy ? `${row.title} of the time` : row.counter ? `${row.title}: up to ${this.value_text(row.counter, row.counter.top)}` : `${row.title}: ${row.rank.file}`;
      row.label = element("button", { type: "button", class: row.header ? "timeline-rank" : "timeline-label", title: hint,
        "aria-expanded": "true", click: () => this.toggle(row) }, element("span", {}, row.title),
        row.counter && `, max ${this.value_text(row.counter, row.counter.top)}`);
      return row.label;
    }

    value_text(counter, value) { return counter.kind === "queue" ? value.toLocaleString("en") : headroom.axes.bytes(value); }

    controls() {
      const button = (text, label, click) => element("button", { type: "button", class: "tool", "aria-label": label, title: label, click }, text);
      const used = new Set(this.model.name_kinds);
      return element("div", { class: "controls" }, button("+", "closer", () => this.zoom(0.5)), button("−", "farther", () => this.zoom(2)),
        button("all", "the whole trace", () => this.show_all()), search_of(this),
        element("span", { class: "kinds" }, this.model.kinds.map((kind, i) => used.has(i) &&
          element("span", { class: "kind" }, element("i", { class: `kind-${kind}` }), kKinds[kind]))));
    }

    listen() {
      new ResizeObserver(() => this.lay_out()).observe(this.scroller);
      this.scroller.addEventListener("scroll", () => this.redraw());
      this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.canvas.addEventListener("pointerdown", (event) => this.press(event));
      this.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.canvas.addEventListener("pointerup", (event) => this.release(event));
      this.canvas.addEventListener("pointercancel", () => { this.drag = null; });
      this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
      this.canvas.addEventListener("dblclick", () => this.zoom_to_selected());
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      const recolour = () => { this.painter.refresh_theme(); this.draw(); };
      new MutationObserver(recolour).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      for (const query of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(query).addEventListener("change", recolour);
      window.addEventListener("beforeprint", recolour);
      window.addEventListener("afterprint", recolour);
    }

    lay_out() {
      const width = Math.floor(this.scroller.clientWidth);
      if (width === 0) return;
      this.left = width >= kNarrow ? kLabels : 0;
      const total = place_rows(this.rows, this.left > 0) + kAxis + 4;
      const height = Math.max(kLeastHeight, Math.min(total, Math.round(window.innerHeight * 0.72)));
      this.scroller.style.height = height + "px";
      this.labels.style.height = total + "px";
      this.labels.style.marginTop = -height + "px"; // overlays the sticky canvas
      this.painter.resize(width, height);
      for (const { label, hidden, y, height: tall, open, header } of this.rows) {
        label.hidden = hidden;
        label.setAttribute("aria-expanded", String(open));
        label.style.top = y + kAxis + "px";
        label.style.width = (this.left > 0 && !header ? this.left - 8 : width) + "px";
        label.style.maxHeight = Math.max(this.left > 0 ? tall : 17, 17) + "px";
      }
      this.draw();
    }

    toggle(row) {
      row.open = !row.open;
      this.lay_out();
    }

    // At most once a frame.
    redraw() {
      if (this.waiting) return;
      this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
    }

    draw() {
      if (!this.painter.width) return;
      const { view, rows, left, selected, found, marks } = this;
      const begin = performance.now();
      this.painter.draw({ view, rows, left, selected, found, marks, scroll: this.scroller.scrollTop });
      this.draw_ms = performance.now() - begin;
    }

    get middle() { return (this.view.from + this.view.to) / 2; }

    zoom(factor, around = this.middle) {
      this.view.zoom(factor, around);
      this.redraw();
    }

    show_all() {
      this.view.whole();
      this.redraw();
    }

    wheel(event) {
      if (event.offsetX < this.left && !event.ctrlKey) return; // over the labels the wheel scrolls
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.view.move((event.deltaX || event.deltaY) * unit / this.painter.pixels_per_ns);
      else this.view.zoom(Math.exp(clamp(event.deltaY * unit, -400, 400) * 0.002), this.painter.time(event.offsetX));
      this.redraw();
    }

    press(event) {
      if (event.button !== 0) return;
      this.drag = { x: event.offsetX, y: event.clientY, from: this.view.from, scroll: this.scroller.scrollTop, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    }

    point(event) {
      const { drag } = this;
      if (!drag) return this.show_tip(event);
      const x = event.offsetX - drag.x, y = event.clientY - drag.y;
      if (Math.abs(x) + Math.abs(y) > 4) drag.moved = true;
      if (!drag.moved) return;
      const from = drag.from - x / this.painter.pixels_per_ns;
      this.view.set(from, from + this.view.span);
      if (event.pointerType === "mouse") this.scroller.scrollTop = drag.scroll - y;
      this.redraw();
    }

    release(event) {
      const { drag } = this;
      this.drag = null;
      if (drag && !drag.moved) this.select(this.slice_at(event.offsetX, event.offsetY));
    }

    // Returns {row, lane, index} or null.
    slice_at(x, y) {
      const place = y + this.scroller.scrollTop - kAxis;
      if (x < this.left || y < kAxis) return null;
      const row = this.rows.find((one) => one.track && !one.hidden && place >= one.top && place < one.y + one.height);
      if (!row) return null;
      const depth = Math.floor((place - row.top) / row.lane_height);
      if (depth >= (row.open ? row.track.lanes.length : 1)) return null;
      const index = row.track.lanes[depth].at(this.painter.time(x), 2 / this.painter.pixels_per_ns);
      return index < 0 ? null : { row, lane: depth, index };
    }

    // Of the pixels around `x`, or null.
    busy_text(x, y) {
      const place = y + this.scroller.scrollTop - kAxis;
      const row = y >= kAxis && this.rows.find((one) => one.busy && !one.hidden && place >= one.top && place < one.y + one.height);
      if (!row || x < this.left) return null;
      const from = this.painter.time(x - 4), to = this.painter.time(x + 4);
      return `GPU busy ${numbers.percent(row.busy.share(from, to))} of ${numbers.time_ns(to - from)}`;
    }

    show_tip(event) {
      const slice = this.slice_at(event.offsetX, event.offsetY);
      const text = slice ? this.text_of(slice) : this.busy_text(event.offsetX, event.offsetY);
      this.tip.hidden = !text;
      if (!text) return;
      this.tip.textContent = text;
      const room = this.frame.clientWidth - this.tip.offsetWidth;
      this.tip.style.left = clamp(event.offsetX + 12, 0, Math.max(room, 0)) + "px";
      this.tip.style.top = clamp(event.offsetY + 16, 0, this.painter.height) + "px";
    }

    text_of({ row, lane, index }) {
      const column = row.track.lanes[lane], name = this.model.names[column.name[index]], count = column.count[index];
      const start = numbers.time_ns(column.start[index]), duration = numbers.time_ns(column.duration(index));
      if (count === 1) return `${name}: ${duration}, from ${start}`;
      return `${counted(count, "event")}, mostly ${name}: busy ${numbers.time_ns(column.busy(index))} of ${duration}, from ${start}`;
    }

    select(slice, reveal) {
      this.selected = slice;
      if (slice && reveal) this.reveal(slice);
      const where = slice && (this.model.ranks.length > 1 ? `rank ${slice.row.rank.rank}, ` : "") + slice.row.title;
      const text = slice ? `${this.text_of(slice)}; ${where}` : "";
      this.readout.textContent = text || kHint;
      this.spoken.textContent = text;
      this.redraw();
    }

    reveal({ row, lane, index }) {
      const column = row.track.lanes[lane];
      this.view.reveal(column.start[index], column.end[index]);
      const header = this.rows.find((one) => one.header && one.rank === row.rank);
      if (row.hidden || (!row.open && lane > 0)) {
        row.open = true;
        if (header) header.open = true;
        this.lay_out();
      }
      this.reveal_height(row.top + lane * row.lane_height, row.lane_height);
    }

    reveal_height(top, height) {
      const seen = this.painter.height - kAxis - 8, { scroller } = this;
      if (top < scroller.scrollTop) scroller.scrollTop = top - 20;
      else if (top + height > scroller.scrollTop + seen) scroller.scrollTop = top + height - seen + 20;
    }

    zoom_to_selected() {
      if (!this.selected) return;
      const { row, lane, index } = this.selected, column = row.track.lanes[lane];
      const margin = Math.max(column.duration(index) * 0.25, 10);
      this.view.set(column.start[index] - margin, column.end[index] + margin);
      this.redraw();
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { view } = this, step = view.span * 0.15;
      const actions = {
        w: () => this.zoom(0.7), "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), "-": () => this.zoom(1 / 0.7),
        a: () => view.move(-step), d: () => view.move(step), "0": () => view.whole(), home: () => view.whole(),
        arrowleft: () => event.shiftKey ? view.move(-step) : this.step_along(-1),
        arrowright: () => event.shiftKey ? view.move(step) : this.step_along(1),
        arrowup: () => this.step_across(-1), arrowdown: () => this.step_across(1),
        enter: () => this.zoom_to_selected(), escape: () => this.select(null),
      };
      const action = actions[event.key.toLowerCase()];
      if (!action) return;
      event.preventDefault();
      action();
      this.redraw();
    }

    shown_lanes() {
      return this.rows.filter((row) => row.track && !row.hidden).flatMap((row) =>
        row.track.lanes.slice(0, row.open ? undefined : 1).map((_, lane) => ({ row, lane })));
    }

    nearest({ row, lane }, time) {
      const column = row.track.lanes[lane];
      const after = Math.min(column.first_ending_after(time), column.size - 1), before = Math.max(after - 1, 0);
      const away = (i) => Math.max(column.start[i] - time, time - column.end[i], 0);
      return { row, lane, index: away(before) < away(after) ? before : after };
    }

    step_along(by) {
      if (!this.selected) return this.step_across(1);
      const { row, lane, index } = this.selected;
      this.select({ row, lane, index: clamp(index + by, 0, row.track.lanes[lane].size - 1) }, true);
    }

    step_across(by) {
      const lanes = this.shown_lanes();
      if (lanes.length === 0) return;
      const { selected } = this;
      if (!selected) return this.select(this.nearest(lanes[0], this.middle), true);
      const place = lanes.findIndex((one) => one.row === selected.row && one.lane === selected.lane);
      const column = selected.row.track.lanes[selected.lane];
      const time = clamp(this.middle, column.start[selected.index], column.end[selected.index]);
      this.select(this.nearest(lanes[clamp(place + by, 0, lanes.length - 1)], time), true);
    }

    // The time appears a quarter from the left, with about a step in view.
    go_to(mark) {
      for (const one of this.marks) one.active = one === mark;
      const span = Math.min(this.model.length, this.span_around(mark));
      this.view.set(mark.time - span / 4, mark.time + span * 3 / 4);
      this.spoken.textContent = `the timeline shows ${numbers.time_ns(mark.time)}: ${mark.text}`;
      this.readout.textContent = mark.text;
      this.canvas.focus({ preventScroll: true });
      this.node.scrollIntoView({ block: "nearest" });
      this.redraw();
    }

    span_around(mark) {
      for (const { track, rank } of this.rows) {
        if (!track || track.kind !== "steps" || (mark.rank !== null && rank.rank !== mark.rank)) continue;
        const i = track.lanes[0].at(mark.time, 0);
        if (i >= 0) return track.lanes[0].duration(i);
      }
      return this.model.length / 20;
    }
  }

  headroom.timeline = (data, marks) => new Timeline(data, marks);
})();
