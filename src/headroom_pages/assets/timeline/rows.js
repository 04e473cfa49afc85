// SPDX-License-Identifier: Apache-2.0
(function () {
  "use strict";
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

  function title_of({ track, counter }) {
    if (counter) return counter.kind === "queue" ? `queue of ${counter.name}` : `${counter.name} ${counter.kind}`;
    return track.device >= 0 ? `device ${track.device}, ${track.name}` : track.name;
  }

  // [{rank} or {rank, track, lanes} or {rank, counter}, each with title, open, y, height, top: of the first lane]
  headroom.timeline_rows = function (model) {
    return model.ranks.flatMap((rank) => {
      const parts = ordered(rank).map((part) => ({ rank, ...part, title: title_of(part), open: true }));
      return model.ranks.length > 1 ? [{ rank, header: true, title: `rank ${rank.rank}`, open: true }, ...parts] : parts;
    });
  };

  // Returns the total height. Rows of a closed rank have height 0.
  headroom.place_rows = function (rows, has_label_column) {
    const strip = has_label_column ? 0 : kStrip;
    let y = 0, rank_open = true;
    for (const row of rows) {
      if (row.header) rank_open = row.open;
      row.hidden = !row.header && !rank_open;
      row.y = y;
      row.lane_height = kLane;
      if (row.hidden) row.height = 0;
      else if (row.header) row.height = kRank;
      else if (row.counter) row.height = strip + (row.open ? kCounter : has_label_column ? kLeast : 0) + kGap;
      else row.height = strip + Math.max(kLane * (row.open ? row.track.lanes.length : 1), has_label_column ? kLeast - kGap : 0) + kGap;
      row.top = y + strip;
      y += row.height;
    }
    return y;
  };
})();
