// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "../trace/analysis_run.h"
#include "format_files.h"
#include "headroom/files/byte_source.h"
#include "headroom_trace/formats/pickle.h"
#include "headroom_trace/readers/convert.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

using readers::Pickle;

constexpr std::int64_t kMiB = 1 << 20;

TEST(MemorySnapshot, TheHistoryGivesThePeakAndWhatWasReserved) {
  for (const char* name : {"snapshot_protocol2.pickle", "snapshot_protocol5.pickle"}) {
    SCOPED_TRACE(name);
    const Trace trace = read(format_path(name));
    expect_sound(trace);
    EXPECT_EQ(trace.problems.count, 0U);
    const MemoryHistory history = memory_history(trace);
    ASSERT_EQ(history.devices.size(), 2U);
    const DeviceMemory& memory = history.devices[0];
    EXPECT_EQ(std::tuple(memory.device_type, memory.device, memory.allocations, memory.frees),
              std::tuple(1, 0, 4U, 2U));
    // 2 MiB before the history, then 6, 8 and 4 MiB; the 6 were freed before the 4 came.
    EXPECT_EQ(std::tuple(memory.is_total_known, memory.peak_allocated_bytes, memory.peak_allocated_at_ns),
              std::tuple(true, 16 * kMiB, 1'700'000'000'000'002'000));
    EXPECT_EQ(memory.peak_reserved_bytes, 24 * kMiB);
    EXPECT_EQ(trace.memory[0].total_allocated, 2 * kMiB);
    EXPECT_EQ(trace.memory[1].total_allocated, 8 * kMiB);
    EXPECT_EQ(history.devices[1].allocations, 1U);
    EXPECT_EQ(history.devices[1].peak_allocated_bytes, 3 * kMiB);
    EXPECT_EQ(history.devices[1].peak_reserved_bytes, 20 * kMiB);
  }
}

TEST(MemorySnapshot, MemoryShowsIt) {
  const Trace trace = read(format_path("snapshot_protocol5.pickle"));
  const AnalysisResult result = run_analysis("memory", trace);
  expect_row(result, "allocators", 0,
             {{"peak_allocated_bytes", 16 * kMiB}, {"peak_reserved_bytes", 24 * kMiB}});
}

constexpr const char* kLinear = "/venv/site-packages/torch/nn/modules/linear.py(114): forward";

TEST(MemorySnapshot, ThePeakIsHeldByLinesOfPython) {
  for (const char* name : {"snapshot_protocol2.pickle", "snapshot_protocol5.pickle"}) {
    const AnalysisResult result = run_analysis("memory", read(format_path(name)));
    // Device 0: 6 and 8 MiB of a line, and earlier weights; device 1: blocks held.
    ASSERT_EQ(row_count(result, "peak_stacks"), 3U);
    expect_row(result, "peak_stacks", 0,
               {{"line", "train.py(12): forward"},
                {"bytes", 14 * kMiB},
                {"allocations", 2},
                {"share", 14.0 / 16},
                {"first_ns", 1'700'000'000'000'000'000},
                {"last_ns", 1'700'000'000'000'002'000}});
    ASSERT_EQ(result.answer.size(), 4U);
    EXPECT_EQ(result.answer[0],
              "CUDA 0: 16 MiB allocated at the peak, 24 MiB reserved; 6 MiB held at the end");
    EXPECT_EQ(result.answer[2], "of the peak 16 MiB, 14 MiB (87.5 %): train.py(12): forward");
    EXPECT_EQ(text(result, "peak_stacks", 0, "stack"),
              std::string(kLinear) + ";train.py(12): forward;train.py(41): main");
    expect_row(result, "peak_stacks", 1, {{"line", "model.py(3): __init__"}, {"bytes", 2 * kMiB}});
    expect_row(result, "peak_stacks", 2, {{"device", "1"}, {"bytes", 3 * kMiB}});
  }
}

TEST(MemorySnapshot, WhatIsNeverFreedIsSaidByItsLine) {
  const AnalysisResult result = run_analysis("memory", read(format_path("snapshot_protocol5.pickle")));
  ASSERT_EQ(row_count(result, "leaks"), 3U);
  expect_row(result, "leaks", 0,
             {{"line", "train.py(20): loss"},
              {"bytes", 4 * kMiB},
              {"first_ns", 1'700'000'000'000'005'000},
              {"share", 4.0 / 6}});
  EXPECT_EQ(text(result, "leaks", 1, "line"), "model.py(3): __init__");
}

TEST(MemorySnapshot, TheSegmentsSayHowTornTheRestIs) {
  const Trace trace = read(format_path("snapshot_protocol5.pickle"));
  const AnalysisResult result = run_analysis("memory", trace);
  ASSERT_EQ(row_count(result, "pools"), 2U);
  // 6 and 4 MiB free around 2, 4 and (awaiting their free) 8 in use.
  expect_row(result, "pools", 0,
             {{"segments", 2},
              {"reserved_bytes", 24 * kMiB},
              {"active_bytes", 14 * kMiB},
              {"waiting_bytes", 8 * kMiB},
              {"inactive_split_bytes", 10 * kMiB},
              {"free_whole_bytes", 0},
              {"largest_free_bytes", 6 * kMiB},
              {"fragmentation", 0.4}});
  EXPECT_EQ(integer(result, "pools", 1, "rounding_bytes"), 1 * kMiB);
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("CUDA 0: 10 MiB of 24 MiB reserved are free in partly used segments")));
}

TEST(MemorySnapshot, WhatFoundNoMemoryIsSaid) {
  const AnalysisResult result = run_analysis("memory", read(format_path("snapshot_protocol2.pickle")));
  EXPECT_EQ(result.answer.at(3),
            "CUDA 0 was out of memory for 14 MiB at train.py(20): loss: the device had 5 MiB free; of the 24 "
            "MiB reserved at the end 10 MiB are free, 6 MiB in one block; memory is fragmented (try "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)");
}

TEST(MemorySnapshot, StacksAndSegmentsAreConverted) {
  const Trace trace = read(format_path("snapshot_protocol5.pickle"));
  std::string text;
  convert_to_chrome_trace(format_path("snapshot_protocol5.pickle"),
                          [&](std::string_view part) { text += part; });
  const Trace again = read_text(text, "again.json");
  for (const char* table : {"allocators", "peak_stacks", "leaks", "pools"}) {
    EXPECT_EQ(table_of(run_analysis("memory", trace), table).rows,
              table_of(run_analysis("memory", again), table).rows);
  }
  EXPECT_EQ(run_analysis("memory", trace).answer, run_analysis("memory", again).answer);
}

/// Writes Python's pickle protocol 2.
struct PickleText {
  static std::string little(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFFU);
    return text;
  }
  static std::string text(std::string_view value) {
    return "X" + little(value.size(), 4) + std::string(value);
  }
  static std::string whole(std::int64_t value) {
    return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8);
  }
  static std::string list(const std::vector<std::string>& values) {
    std::string all = "](";
    for (const std::string& value : values) all += value;
    return all + "e";
  }
  static std::string dict(const std::vector<std::pair<const char*, std::string>>& members) {
    std::string all = "}(";
    for (const auto& [key, value] : members) all += text(key) + value;
    return all + "u";
  }
};

struct SnapshotText {
  std::vector<std::string> entries, blocks;
  std::int64_t reserved = 0;

  static std::string frames(std::int64_t line) {
    std::vector<std::string> all;
    if (line > 0) {
      all.push_back(PickleText::dict({{"filename", PickleText::text("train.py")},
                                      {"line", PickleText::whole(line)},
                                      {"name", PickleText::text("step")}}));
    }
    return PickleText::list(all);
  }
  void happens(const char* action, std::int64_t address, std::int64_t bytes, std::int64_t line = 0) {
    entries.push_back(PickleText::dict({{"action", PickleText::text(action)},
                                        {"addr", PickleText::whole(address)},
                                        {"size", PickleText::whole(bytes)},
                                        {"time_us", PickleText::whole(1'000'000 + std::ssize(entries))},
                                        {"frames", frames(line)}}));
  }
  void allocate(std::int64_t address, std::int64_t bytes, std::int64_t line) {
    happens("alloc", address, bytes, line);
  }
  void free(std::int64_t address, std::int64_t bytes) {
    happens("free_requested", address, bytes, 99);  // not the allocation's stack
    happens("free_completed", address, bytes);
  }
  void holds(std::int64_t address, std::int64_t bytes, std::int64_t line = 0,
             const char* state = "active_allocated") {
    reserved += bytes;
    blocks.push_back(PickleText::dict({{"address", PickleText::whole(address)},
                                       {"size", PickleText::whole(bytes)},
                                       {"requested_size", PickleText::whole(bytes)},
                                       {"state", PickleText::text(state)},
                                       {"frames", frames(line)}}));
  }
  std::string bytes() const {
    const std::string segment = PickleText::dict({{"device", PickleText::whole(0)},
                                                  {"address", PickleText::whole(1 << 30)},
                                                  {"total_size", PickleText::whole(reserved)},
                                                  {"blocks", PickleText::list(blocks)}});
    return "\x80\x02" +
           PickleText::dict({{"segments", PickleText::list({segment})},
                             {"device_traces", PickleText::list({PickleText::list(entries)})}}) +
           ".";
  }
  Trace trace() const { return read_text(bytes(), "snapshot.pickle"); }
};

SnapshotText with_blocks_from_before(int kept, int freed) {
  SnapshotText snapshot;
  for (int i = 0; i < kept; ++i) snapshot.holds(1000 + i, kMiB);
  for (int i = 0; i < freed; ++i) {
    snapshot.holds(2000 + i, kMiB, 0, "inactive");
    snapshot.free(2000 + i, kMiB);
  }
  for (int i = 0; i < 2; ++i) {
    snapshot.allocate(3000 + i, kMiB, 10 + i);
    snapshot.holds(3000 + i, kMiB, 10 + i);
  }
  return snapshot;
}

TEST(MemorySnapshot, BlocksFromBeforeTheHistoryCount) {
  const AnalysisResult result = run_analysis("memory", with_blocks_from_before(4, 6).trace());
  expect_row(result, "allocators", 0,
             {{"allocations", 12},
              {"frees", 6},
              {"allocated_bytes", 12 * kMiB},
              {"held_before_bytes", 10 * kMiB},
              {"left_bytes", 6 * kMiB},
              {"peak_allocated_bytes", 10 * kMiB},
              {"unused_at_peak_bytes", 2 * kMiB}});
  EXPECT_EQ(integer(result, "pools", 0, "active_bytes"), 6 * kMiB);
  // Allocated at an unknown time and place; a free's stack does not count.
  ASSERT_EQ(row_count(result, "peak_stacks"), 1U);
  expect_row(result, "peak_stacks", 0, {{"line", "allocated before the file begins"}, {"bytes", 10 * kMiB}});
  ASSERT_EQ(row_count(result, "leaks"), 3U);
  expect_row(result, "leaks", 2,
             {{"line", "allocated before the file begins"}, {"bytes", 4 * kMiB}, {"first_ns", Cell{}}});
  EXPECT_EQ(column_sum(result, "leaks", "bytes"), 6 * kMiB);
}

TEST(MemorySnapshot, AHistoryThatBeginsWithFreesLeavesNothingBelowZero) {
  const AnalysisResult result = run_analysis("memory", with_blocks_from_before(0, 10).trace());
  expect_row(
      result, "allocators", 0,
      {{"held_before_bytes", 10 * kMiB}, {"left_bytes", 2 * kMiB}, {"peak_allocated_bytes", 10 * kMiB}});
  EXPECT_EQ(column_sum(result, "leaks", "bytes"), 2 * kMiB);
}

TEST(MemorySnapshot, AnAddressOfBeforeMayBeGivenOutAgain) {
  SnapshotText snapshot;
  snapshot.free(1000, 5 * kMiB);
  snapshot.allocate(1000, 3 * kMiB, 10);
  snapshot.holds(1000, 3 * kMiB, 10);
  snapshot.happens("free_requested", 2000, 2 * kMiB);
  snapshot.holds(2000, 2 * kMiB, 0, "active_pending_free");
  const AnalysisResult result = run_analysis("memory", snapshot.trace());
  expect_row(result, "allocators", 0,
             {{"held_before_bytes", 7 * kMiB}, {"left_bytes", 3 * kMiB}, {"peak_allocated_bytes", 7 * kMiB}});
  expect_row(result, "pools", 0, {{"active_bytes", 5 * kMiB}, {"waiting_bytes", 2 * kMiB}});
}

TEST(MemorySnapshot, AnyEndOfAHistoryGivesTablesThatAgree) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> held;  // bytes and line by address
    SnapshotText snapshot;
    std::int64_t total = 0, peak = 0, before = 0;
    const int forgotten = static_cast<int>(random() % 200);
    for (int i = 0; i < 300; ++i) {
      if (i == forgotten) {
        snapshot.entries.clear();
        before = peak = total;
      }
      if (!held.empty() && random() % 2 == 0) {
        const auto one = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
        total -= one->second.first;
        snapshot.free(one->first, one->second.first);
        held.erase(one);
        continue;
      }
      const auto address = static_cast<std::int64_t>(1 + random() % 64);
      if (held.contains(address)) continue;
      const std::int64_t bytes = 512 * static_cast<std::int64_t>(1 + random() % 64);
      held[address] = {bytes, 1 + static_cast<std::int64_t>(random() % 9)};
      total += bytes;
      peak = std::max(peak, total);
      snapshot.allocate(address, bytes, held[address].second);
    }
    for (const auto& [address, block] : held) snapshot.holds(address, block.first, block.second);
    snapshot.holds(9999, 77 * kMiB, 0, "inactive");
    const AnalysisResult result = run_analysis("memory", snapshot.trace());
    const auto held_before = is_nothing(result, "allocators", 0, "held_before_bytes")
                                 ? 0
                                 : integer(result, "allocators", 0, "held_before_bytes");
    EXPECT_EQ(held_before, before);
    expect_row(result, "allocators", 0,
               {{"left_bytes", total},
                {"peak_allocated_bytes", peak},
                {"unused_at_peak_bytes", snapshot.reserved - peak}});
    EXPECT_EQ(integer(result, "pools", 0, "active_bytes"), total);
    EXPECT_EQ(column_sum(result, "peak_stacks", "bytes"), peak);
    EXPECT_EQ(column_sum(result, "leaks", "bytes"), total);
  }
}

TEST(MemorySnapshot, ItsSummaryIsAboutMemory) {
  const std::string bytes = with_blocks_from_before(4, 6).bytes();
  ReadOptions options;
  options.needs = Needs::kGpuWork;  // as for a large file
  const Trace trace = read_text(bytes, "snapshot.pickle", options);
  const AnalysisResult result = run_analysis("summary", trace);
  ASSERT_FALSE(result.answer.empty());
  EXPECT_EQ(result.answer[0], "CUDA 0: 10 MiB allocated at the peak, 12 MiB reserved; 6 MiB held at the end");
  EXPECT_EQ(row_count(result, "leaks"), 3U);
  EXPECT_DOUBLE_EQ(headline(result, "peak_allocated_bytes"), static_cast<double>(10 * kMiB));
  EXPECT_THAT(result.notes, Not(Contains(HasSubstr("ProfilerActivity"))));
  EXPECT_THAT(result.notes, Not(Contains(HasSubstr("copies"))));
  EXPECT_THAT(run_analysis("findings", trace).answer, ElementsAre(HasSubstr("`headroom trace memory`")));
}

template <std::size_t kSize>
std::string_view bytes_of(const char (&bytes)[kSize]) {
  return {bytes, kSize - 1};
}

Pickle pickle_of(std::string_view bytes) {
  return Pickle(*memory_source(bytes));
}

TEST(Pickles, ValuesOfEveryProtocolAreRead) {
  // pickle.dumps of {"a": [1, -2, 70000, None, True, 1.5]}.
  const std::string_view two = bytes_of(
      "\x80\x02\x7d\x71\x00\x58\x01\x00\x00\x00\x61\x71\x01\x5d\x71\x02"
      "\x28\x4b\x01\x4a\xfe\xff\xff\xff\x4a\x70\x11\x01\x00\x4e\x88\x47"
      "\x3f\xf8\x00\x00\x00\x00\x00\x00\x65\x73\x2e");
  const std::string_view four = bytes_of(
      "\x80\x04\x95\x23\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x8c\x01\x61"
      "\x94\x5d\x94\x28\x4b\x01\x4a\xfe\xff\xff\xff\x4a\x70\x11\x01\x00"
      "\x4e\x88\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x65\x73\x2e");
  for (const std::string_view text : {two, four}) {
    const Pickle pickle = pickle_of(text);
    const auto& list = pickle.list(pickle.at(pickle.root(), "a"));
    ASSERT_EQ(list.size(), 6U);
    EXPECT_EQ(pickle.whole(list[0]), 1);
    EXPECT_EQ(pickle.whole(list[1]), -2);
    EXPECT_EQ(pickle.whole(list[2]), 70000);
    EXPECT_EQ(pickle.kind(list[3]), Pickle::Kind::kNone);
    EXPECT_EQ(pickle.whole(list[4]), 1);
    EXPECT_EQ(pickle.kind(list[5]), Pickle::Kind::kReal);
    EXPECT_EQ(pickle.whole(list[5]), 1);
  }
}

/// Would run os.system("true") if executed.
TEST(Pickles, NothingIsRun) {
  const Pickle pickle =
      pickle_of(bytes_of("\x80\x02\x63\x6f\x73\x0a\x73\x79\x73\x74\x65\x6d\x0a\x58\x04\x00"
                         "\x00\x00\x74\x72\x75\x65\x85\x52\x2e"));
  EXPECT_EQ(pickle.kind(pickle.root()), Pickle::Kind::kOther);
  EXPECT_EQ(pickle.text(pickle.root()), "os.system");
}

TEST(Pickles, WhatIsNoneIsSaidWithItsByte) {
  const auto message_of = [](std::string_view bytes) -> std::string {
    try {
      pickle_of(bytes);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message_of("\x80\x04]"), HasSubstr("truncated at byte 3"));
  EXPECT_THAT(message_of("\x80\x04\xff"), HasSubstr("unknown opcode 0xff"));
  EXPECT_THAT(message_of("\x80\x04s."), HasSubstr("a value is missing"));
  EXPECT_THAT(message_of("\x80\x04h\x05."), HasSubstr("not stored"));
  EXPECT_THAT(message_of(std::string_view("\x80\x04]r\xff\xff\xff\x7f.", 9)), HasSubstr("out of range"));
  EXPECT_THAT(message_of(std::string_view("\x80\x04X\xff\xff\xff\x7f"
                                          "abc",
                                          10)),
              HasSubstr("truncated"));
}

TEST(MemorySnapshot, CutAndChangedItIsReadOrRefused) {
  expect_robust("snapshot_protocol2.pickle", 3000);
  expect_robust("snapshot_protocol5.pickle", 3000);
}

}  // namespace
}  // namespace headroom::trace
