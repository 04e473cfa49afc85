// SPDX-License-Identifier: Apache-2.0
// A frame costs at most one look-up per pixel of each visible lane, for any number of slices.
(function () {
  "use strict";
  const kShades = 3, kShade = 0.12, kAlphas = 6, kAxis = 24;
  const kTickUnits = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

  // Distinct for ticks `step` apart.
  function tick_text(time, step) {
    const [name, unit] = kTickUnits.find(([, size]) => step >= size * 0.1) || kTickUnits[3];
    return (time / unit).toLocaleString("en", { maximumFractionDigits: 3 }) + " " + name;
  }

  function mixed(colour, paper, share) {
    const a = d3.rgb(colour), b = d3.rgb(paper), part = (x, y) => x + (y - x) * share;
    return d3.rgb(part(a.r, b.r), part(a.g, b.g), part(a.b, b.b));
  }

  // Whether black is easier to read on it than white (WCAG's relative luminance).
  function is_bright(colour) {
    const linear = (part) => part <= 10 ? part / 3294.6 : Math.pow((part / 255 + 0.055) / 1.055, 2.4);
    return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b) > 0.179;
  }

  function read_theme(element, kinds) {
    const style = getComputedStyle(element), value = (name) => style.getPropertyValue(name).trim();
    const theme = { ink: value("--ink"), faint: value("--faint"), rule: value("--rule"), paper: value("--paper"), band: value("--band"),
      focus: value("--focus"), font: `11px ${style.fontFamily}` };
    theme.fills = kinds.map((kind) => Array.from({ length: kShades }, (_, i) => {
      const colour = mixed(value(`--kind-${kind}`), theme.paper, i * kShade);
      return { solid: colour.formatHex ? colour.formatHex() : colour.hex(), text: is_bright(colour) ? "#000" : "#fff" };
    }));
    return theme;
  }

  headroom.TimelinePainter = class {
    constructor(canvas, model) {
      this.canvas = canvas;
      this.context = canvas.getContext("2d");
      this.model = model;
      this.widths = new Map();
      this.theme = null; // set once the canvas is in the page
    }

    static get axis_height() { return kAxis; }

    refresh_theme() { this.theme = read_theme(this.canvas, this.model.kinds); }

    resize(width, height) {
      const scale = window.devicePixelRatio || 1;
      this.width = width;
      this.height = height;
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = width + "px";
      this.canvas.style.height = height + "px";
      this.context.setTransform(scale, 0, 0, scale, 0, 0);
    }

    // state: {view, rows, scroll, left, selected: {row, lane, index}, found: by name or null, marks: [{time, text}]}
    draw(state) {
      if (!this.theme) this.refresh_theme();
      const { context, theme, width, height } = this;
      this.state = state;
      this.pixels_per_ns = (width - state.left) / state.view.span;
      context.clearRect(0, 0, width, height);
      context.font = theme.font;
      context.textBaseline = "middle";
      context.save();
      context.beginPath();
      context.rect(0, kAxis, width, height - kAxis);
      context.clip();
      this.draw_steps_behind();
      for (const row of state.rows) {
        const y = row.top - state.scroll + kAxis;
        if (row.hidden || y + row.height < kAxis || y > height) continue;
        this.draw_row(row, y);
      }
      context.restore();
      this.draw_axis();
      this.draw_marks();
    }

    x(time) { return this.state.left + (time - this.state.view.from) * this.pixels_per_ns; }
    time(x) { return this.state.view.from + (x - this.state.left) / this.pixels_per_ns; }

    draw_row(row, y) {
      if (row.header) return void this.rule(y + row.height - 2);
      if (row.busy) return void (row.open && this.draw_busy(row.busy, y, row));
      if (row.counter) return void (row.open && this.draw_counter(row.counter, y, row));
      const lanes = row.open ? row.track.lanes : row.track.lanes.slice(0, 1);
      lanes.forEach((lane, i) => {
        const top = y + i * row.lane_height;
        if (top + row.lane_height >= kAxis && top <= this.height) this.draw_lane(row, lane, i, top, row.lane_height - 1);
      });
    }

    rule(y) {
      this.context.fillStyle = this.theme.rule;
      this.context.fillRect(0, y, this.width, 1);
    }

    draw_steps_behind() {
      const { view } = this.state;
      this.context.fillStyle = this.theme.rule;
      for (const { track } of this.state.rows) {
        if (!track || track.kind !== "steps") continue;
        const lane = track.lanes[0];
        const first = lane.first_starting_from(view.from), last = lane.first_starting_from(view.to);
        if (last - first > 60) return;
        for (let i = first; i < last; ++i) this.context.fillRect(Math.round(this.x(lane.start[i])), kAxis, 1, this.height);
      }
    }

    draw_lane(row, lane, depth, y, height) {
      const { view, left, selected } = this.state;
      this.run = null;
      let i = lane.first_ending_after(view.from);
      while (i < lane.size && lane.start[i] < view.to) {
        const x = Math.max(this.x(lane.start[i]), left), end = Math.min(this.x(lane.end[i]), this.width);
        if (end - x >= 1.5) {
          this.draw_slice(lane, i, x, end, y, height);
          ++i;
        } else {
          // Merges the slices that end in this pixel, as dark as it is busy.
          const pixel = Math.floor(x);
          const next = Math.max(i + 1, lane.first_ending_after(this.time(pixel + 1), i));
          this.draw_pixel(lane, i, next, pixel, y, height);
          i = next;
        }
      }
      this.finish_run();
      if (selected && selected.row === row && selected.lane === depth) this.outline(lane, selected.index, y, height);
    }

    fill_of(name) { return this.theme.fills[this.model.name_kinds[name]][name % kShades]; }

    draw_slice(lane, i, x, end, y, height) {
      const { context } = this, name = lane.name[i], fill = this.fill_of(name), { found } = this.state;
      this.finish_run();
      const is_block = lane.count[i] > 1, is_dim = found && !found[name];
      const busy = is_block ? Math.min(1, lane.busy(i) / Math.max(lane.duration(i), 1)) : 1;
      context.globalAlpha = is_dim ? 0.12 : is_block ? 0.3 + 0.5 * busy : 1;
      context.fillStyle = fill.solid;
      context.fillRect(x, y, Math.max(end - x - (end - x > 4 ? 0.5 : 0), 1), height);
      context.globalAlpha = 1;
      if (end - x < 28 || is_dim) return;
      context.fillStyle = is_block ? this.theme.ink : fill.text;
      const text = is_block ? `${lane.count[i]} × ${this.model.names[name]}` : this.model.names[name];
      context.fillText(this.cut(text, end - x - 6), x + 3, y + height / 2 + 0.5);
    }

    // Measures each text once.
    cut(text, room) {
      let width = this.widths.get(text);
      if (width === undefined) {
        width = this.context.measureText(text.slice(0, 300)).width * Math.max(text.length / 300, 1);
        if (this.widths.size > 20000) this.widths.clear();
        this.widths.set(text, width);
      }
      return width <= room ? text : text.slice(0, Math.max(Math.floor(text.length * room / width) - 2, 1)) + "…";
    }

    draw_pixel(lane, from, to, x, y, height) {
      const busy = (lane.busy_before[to] - lane.busy_before[from]) * this.pixels_per_ns;
      const { found } = this.state;
      let name = lane.name[from], is_dim = false;
      if (found) {
        const most = Math.min(to, from + 256);
        let i = from;
        while (i < most && !found[lane.name[i]]) ++i;
        is_dim = i === most;
        if (!is_dim) name = lane.name[i];
      }
      const level = is_dim ? 0 : found ? kAlphas : Math.max(1, Math.min(kAlphas, Math.ceil(busy * kAlphas)));
      const fill = this.fill_of(name).solid;
      if (this.run && this.run.end === x && this.run.fill === fill && this.run.level === level && this.run.y === y) {
        ++this.run.end;
        return;
      }
      this.finish_run();
      this.run = { x, end: x + 1, y, height, fill, level };
    }

    finish_run() {
      const run = this.run;
      this.run = null;
      if (!run) return;
      this.context.globalAlpha = run.level === 0 ? 0.12 : 0.25 + 0.75 * run.level / kAlphas;
      this.context.fillStyle = run.fill;
      this.context.fillRect(run.x, run.y, run.end - run.x, run.height);
      this.context.globalAlpha = 1;
    }

    outline(lane, i, y, height) {
      if (lane.end[i] < this.state.view.from || lane.start[i] > this.state.view.to) return;
      const x = Math.max(this.x(lane.start[i]), this.state.left), end = Math.min(this.x(lane.end[i]), this.width);
      this.context.strokeStyle = this.theme.ink;
      this.context.lineWidth = 2;
      this.context.strokeRect(x - 1, y, Math.max(end - x, 1) + 2, height);
    }

    // From 0 to 100 % of each pixel's time.
    draw_busy(busy, y, row) {
      const { context, theme } = this, height = row.height - (row.top - row.y) - 5;
      context.fillStyle = theme.rule;
      for (const share of [0, 0.5, 1]) context.fillRect(this.state.left, Math.round(y + height * (1 - share)), this.width - this.state.left, 1);
      context.fillStyle = theme.faint;
      for (let x = this.state.left; x < this.width; ++x) {
        const tall = height * busy.share(this.time(x), this.time(x + 1));
        if (tall > 0) context.fillRect(x, y + height - tall, 1, tall);
      }
    }

    draw_counter(counter, y, row) {
      const { context } = this, height = row.height - (row.top - row.y) - 5, scale = counter.top > 0 ? (height - 1) / counter.top : 0;
      context.fillStyle = this.theme.rule;
      context.fillRect(this.state.left, y + height, this.width - this.state.left, 1);
      context.fillStyle = this.theme.faint;
      for (let x = this.state.left; x < this.width; ++x) {
        const range = counter.range(this.time(x), this.time(x + 1));
        if (!range) continue;
        const top = y + height - range[1] * scale, bottom = y + height - range[0] * scale;
        context.fillRect(x, top, 1, Math.max(bottom - top, 1.2));
      }
    }

    draw_axis() {
      const { context, theme } = this, { view, left } = this.state;
      const ticks = d3.scaleLinear().domain([view.from, view.to]).ticks(Math.max(2, Math.floor((this.width - left) / 120)));
      const step = ticks.length > 1 ? ticks[1] - ticks[0] : view.span;
      context.fillStyle = theme.rule;
      context.fillRect(left, kAxis - 1, this.width - left, 1);
      for (const tick of ticks) {
        const x = Math.round(this.x(tick));
        context.fillStyle = theme.rule;
        context.fillRect(x, kAxis - 6, 1, 6);
        context.fillStyle = theme.faint;
        const text = tick_text(tick, step), room = context.measureText(text).width;
        if (x + 3 + room < this.width) context.fillText(text, x + 3, kAxis / 2 - 1);
      }
    }

    draw_marks() {
      const { context, theme } = this;
      for (const mark of this.state.marks) {
        const x = Math.round(this.x(mark.time));
        if (x < this.state.left || x > this.width) continue;
        context.fillStyle = mark.active ? theme.ink : theme.faint;
        context.beginPath();
        context.moveTo(x - 4, kAxis - 7);
        context.lineTo(x + 4, kAxis - 7);
        context.lineTo(x, kAxis);
        context.fill();
        if (mark.active) context.fillRect(x, kAxis, 1, this.height - kAxis);
      }
    }
  };
})();
