// SPDX-License-Identifier: Apache-2.0
// HEADROOM_MUTATIONS: mutations of each kind; a million in the long test.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "headroom/base/error.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {
namespace {

using Row = std::tuple<std::string, std::int64_t, std::int64_t, int>;

std::string event(int i) {
  static constexpr std::array kCategories{"cpu_op", "kernel", "cuda_runtime", "python_function",
                                          "gpu_memcpy"};
  const std::string number = std::to_string(i);
  return R"({"ph": "X", "cat": ")" + std::string(kCategories[static_cast<std::size_t>(i) % 5]) +
         R"(", "name": "event )" + number + R"(", "pid": 1, "tid": 7, "ts": )" +
         std::to_string(1000 + 10 * i) + R"(.25, "dur": 4, "args": {"External id": )" + number +
         R"(, "correlation": )" + number +
         R"(, "grid": [1, 2, 3], "Input Dims": [[2, 3], []], "device": 0, "stream": 7}})";
}

std::string events(const char* between) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += (i == 0 ? "" : between) + event(i);
  return text;
}

std::vector<std::string> small_files() {
  return {"[" + events(",") + "]",
          "{\n \"schemaVersion\": 1,\n \"traceEvents\": [\n  " + events(",\n  ") +
              "\n ],\n \"traceName\": \"a\"\n}\n",
          R"({"traceEvents": [)" + events(", ") +
              R"(], "distributedInfo": {"rank": 3}, "baseTimeNanoseconds": 0})"};
}

/// Without the base time, whose change moves all.
std::vector<Row> rows_of(const Trace& trace) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    rows.emplace_back(trace.names[trace.events.name[i]], trace.events.start_ns[i] - trace.base_time_ns,
                      trace.events.duration_ns[i], static_cast<int>(trace.events.category[i]));
  }
  return rows;
}

std::size_t missing_of(const std::vector<Row>& rows, const Trace& trace) {
  std::map<Row, int> expected;
  for (const Row& row : rows) ++expected[row];
  std::size_t missing = rows.size();
  for (const Row& row : rows_of(trace)) {
    if (const auto found = expected.find(row); found != expected.end() && found->second-- > 0) --missing;
  }
  return missing;
}

std::optional<Trace> read_checked(const std::string& text, Needs needs = Needs::kAll) {
  ReadOptions options;
  options.window_bytes = 1024;  // three or four windows
  options.threads = 1;
  options.needs = needs;
  try {
    Trace trace = read_text(text, "mutation", options);
    EXPECT_EQ(trace.events_seen, trace.events.size() + trace.memory.size() + trace.flows.size() +
                                     trace.events_without_columns + trace.events_skipped_by_need +
                                     trace.problems.events_skipped)
        << text;
    return trace;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::vector<Row>> gathered_rows(const std::vector<std::string>& files) {
  std::vector<std::vector<Row>> rows;
  for (const std::string& file : files) rows.push_back(rows_of(*read_checked(file)));
  return rows;
}

std::size_t mutations() {
  const char* const asked = std::getenv("HEADROOM_MUTATIONS");
  return asked == nullptr ? 2000 : static_cast<std::size_t>(std::atoll(asked));
}

TEST(ReaderMutations, CutFileKeepsEveryEventBeforeTheCut) {
  const std::vector<std::string> files = small_files();
  const std::vector<std::vector<Row>> rows_of_whole = gathered_rows(files);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < mutations(); ++i) {
    const std::string& whole = files[i % files.size()];
    const std::vector<Row>& all = rows_of_whole[i % files.size()];
    const std::size_t cut = random() % whole.size();
    const std::string text = whole.substr(0, cut);
    const auto trace = read_checked(text);
    // By their two closing braces.
    std::size_t ended = 0;
    for (std::size_t at = text.find("}}"); at != text.npos; at = text.find("}}", at + 2)) ++ended;
    if (!trace) {
      ASSERT_EQ(ended, 0U) << text;
      continue;
    }
    const std::vector<Row> rows = rows_of(*trace);
    ASSERT_EQ(rows, std::vector<Row>(all.begin(),
                                     all.begin() + static_cast<std::ptrdiff_t>(std::min(ended, all.size()))))
        << text;
    if (cut < whole.find_last_not_of(" \n")) {
      ASSERT_FALSE(trace->is_complete) << text;
    }
    if (trace->events_seen > ended) {
      ASSERT_GT(trace->problems.events_skipped, 0U) << text;
    }
  }
}

TEST(ReaderMutations, FlippedBitLosesNoEventSilently) {
  const std::vector<std::string> files = small_files();
  const std::vector<std::vector<Row>> rows_of_whole = gathered_rows(files);
  std::mt19937_64 random(2);
  for (std::size_t i = 0; i < mutations(); ++i) {
    std::string text = files[i % files.size()];
    const std::vector<Row>& all = rows_of_whole[i % files.size()];
    const std::size_t bit = random() % (8 * text.size());
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    const auto trace = read_checked(text);
    if (!trace) continue;  // refused with a message
    ASSERT_LE(missing_of(all, *trace), 2U) << "bit " << bit << "\n" << text;
    std::vector<Row> work = all;
    std::erase_if(work, [](const Row& row) { return !is_gpu_work(static_cast<Category>(std::get<3>(row))); });
    const auto less = read_checked(text, Needs::kGpuWork);
    ASSERT_TRUE(less.has_value()) << "bit " << bit << "\n" << text;
    ASSERT_LE(missing_of(work, *less), 2U) << "bit " << bit << "\n" << text;
    if (trace->events.size() < all.size()) {
      // Another phase letter may be valid.
      ASSERT_TRUE(trace->problems.count > 0 || !trace->is_complete || trace->events_without_columns > 0)
          << "bit " << bit << "\n"
          << text;
    }
  }
}

}  // namespace
}  // namespace headroom::trace
