// SPDX-License-Identifier: Apache-2.0
// Decodes headroom_trace/timeline/timeline.h.
(function () {
  "use strict";

  // Returns the first i >= from with column[i] > value in an ascending column. Gallops: near results are fast.
  function first_above(column, value, from) {
    let step = 1, low = from, high = from;
    while (high < column.length && column[high] <= value) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    high = Math.min(high, column.length);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column[middle] <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  class Lane {
    constructor([gaps, durations, names, blocks, counts, busy]) {
      const size = gaps.length;
      this.size = size;
      this.start = new Float64Array(size);
      this.end = new Float64Array(size);
      this.reach = new Float64Array(size); // latest end so far; differs from `end` only in the deepest lane
      this.name = Uint32Array.from(names);
      this.count = new Uint32Array(size).fill(1);
      this.busy_before = new Float64Array(size + 1);
      for (let block = 0, i = 0; block < blocks.length; ++block) {
        i += blocks[block];
        this.count[i] = counts[block];
      }
      for (let i = 0, at = 0, block = 0, reach = -Infinity; i < size; ++i) {
        this.start[i] = at += gaps[i];
        this.end[i] = at += durations[i];
        this.reach[i] = reach = Math.max(reach, at);
        this.busy_before[i + 1] = this.busy_before[i] + (this.count[i] > 1 ? busy[block++] : durations[i]);
      }
    }

    busy(i) { return this.busy_before[i + 1] - this.busy_before[i]; }
    duration(i) { return this.end[i] - this.start[i]; }
    first_ending_after(time, from = 0) { return first_above(this.reach, time, from); }
    first_starting_from(time, from = 0) { return first_above(this.start, time - 0.5, from); }

    // Returns the slice at a time, or the nearest within `slack`, or -1.
    at(time, slack) {
      let best = -1, distance = slack;
      for (let i = this.first_ending_after(time - slack); i < this.size && this.start[i] <= time + slack; ++i) {
        const away = Math.max(this.start[i] - time, time - this.end[i], 0);
        if (away <= distance) {
          best = i;
          distance = away;
        }
        if (away === 0 && this.end[i] > time) break;
      }
      return best;
    }
  }

  // How much of the time at least one of `tracks` has a slice; a block counts as evenly busy.
  class Busy {
    constructor(tracks) {
      const edges = [];
      for (const lane of tracks.flatMap((track) => track.lanes)) {
        for (let i = 0; i < lane.size; ++i) {
          const share = Math.min(1, lane.busy(i) / Math.max(lane.duration(i), 1));
          if (lane.duration(i) > 0) edges.push([lane.start[i], share], [lane.end[i], -share]);
        }
      }
      edges.sort((a, b) => a[0] - b[0]);
      this.time = new Float64Array(edges.length);
      this.before = new Float64Array(edges.length); // busy time before time[i]
      this.level = new Float64Array(edges.length); // share from time[i] on
      let sum = 0;
      edges.forEach(([time, share], i) => {
        this.time[i] = time;
        this.before[i] = i === 0 ? 0 : this.before[i - 1] + (time - this.time[i - 1]) * this.level[i - 1];
        sum += share;
        this.level[i] = Math.min(1, Math.max(0, sum));
        if (this.level[i] < 1e-9) this.level[i] = sum = 0; // no rounding errors add up
      });
    }

    until(time) {
      const i = first_above(this.time, time, 0) - 1;
      return i < 0 ? 0 : this.before[i] + (time - this.time[i]) * this.level[i];
    }

    // 0 to 1.
    share(from, to) { return Math.min(1, Math.max(0, (this.until(to) - this.until(from)) / (to - from))); }
  }

  // [{device, busy}] of the devices with streams.
  function busy_devices(tracks) {
    const streams = tracks.filter((track) => track.kind === "stream");
    return Array.from(new Set(streams.map((track) => track.device)), (device) =>
      ({ device, busy: new Busy(streams.filter((track) => track.device === device)) }));
  }

  // Minimum and maximum of each bucket in which the value changes.
  class Counter {
    constructor({ kind, name, device, start_ns, bucket_ns, at, least, most, last }) {
      Object.assign(this, { kind, name, device, least, last, bucket_ns });
      this.start = new Float64Array(at.length);
      for (let i = 0, bucket = 0; i < at.length; ++i) {
        bucket += at[i];
        this.start[i] = start_ns + bucket * bucket_ns;
      }
      this.most = most.map((more, i) => least[i] + more);
      this.top = this.most.reduce((top, value) => Math.max(top, value), 0);
    }

    // [least, most] between two times; null before the first.
    range(from, to) {
      let i = first_above(this.start, from, 0);
      let low = Infinity, high = -Infinity;
      if (i > 0) {
        const within = this.start[i - 1] + this.bucket_ns > from;
        low = within ? this.least[i - 1] : this.last[i - 1];
        high = within ? this.most[i - 1] : this.last[i - 1];
      }
      for (; i < this.start.length && this.start[i] < to; ++i) {
        low = Math.min(low, this.least[i]);
        high = Math.max(high, this.most[i]);
      }
      return low <= high ? [low, high] : null;
    }
  }

  // {names, name_kinds, kinds, length, ranks: [{rank, tracks: [{kind, name, device, lanes}], counters, devices: [{device, busy}]}]}
  headroom.decode_timeline = function (data) {
    const ranks = data.ranks.map((rank) => {
      const tracks = rank.tracks.map((track) => ({ ...track, lanes: track.lanes.map((lane) => new Lane(lane)) }));
      return { ...rank, tracks, counters: rank.counters.map((counter) => new Counter(counter)), devices: busy_devices(tracks) };
    });
    return { ...data, ranks, length: data.length_ns };
  };
})();
