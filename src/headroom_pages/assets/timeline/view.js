// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
  const kShortest = 20; // ns across the whole width

  headroom.TimeView = class {
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
  };
})();
