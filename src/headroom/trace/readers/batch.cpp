// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/batch.h"

#include <utility>

namespace headroom::trace::readers {

void Batch::add_problem(std::uint64_t offset, std::string what) {
  ++problems.count;
  if (problems.first.size() < Problems::kShown) problems.first.push_back({offset, std::move(what)});
}

void Batch::skip_event(std::uint64_t offset, std::string what) {
  add_problem(offset, std::move(what));
  ++problems.events_skipped;
}

void Batch::clear() {
  const auto empty = [](auto&... columns) { (columns.clear(), ...); };
  empty(events, gpu, ops, syncs, collectives, memory, flows, marks, namings, uncategorized, precise_times,
        new_texts, new_json, new_threads, processes);
  rewritten.clear();
  seen = skipped_by_need = without_columns = 0;
  problems = {};
}

void append(Problems& problems, Problems&& later) {
  problems.count += later.count;
  problems.events_skipped += later.events_skipped;
  for (Problem& problem : later.first) {
    if (problems.first.size() < Problems::kShown) problems.first.push_back(std::move(problem));
  }
}

}  // namespace headroom::trace::readers
