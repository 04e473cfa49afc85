// SPDX-License-Identifier: Apache-2.0
// Memory snapshots of PyTorch, and the reader of pickles below them.
#include <gmock/gmock.h>

#include "format_files.h"
#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/pickle.h"
#include "headroom/trace/work/allocations.h"
#include "result_view.h"

namespace headroom::trace {
namespace {

using readers::Pickle;
using ::testing::HasSubstr;

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
    EXPECT_EQ(memory.device_type, 1);
    EXPECT_EQ(memory.device, 0);
    EXPECT_EQ(memory.allocations, 3U);
    EXPECT_EQ(memory.frees, 2U);
    // 2 MiB from before the history, then 6, 8 and 4 MiB, of which the first was freed before the last came.
    EXPECT_TRUE(memory.is_total_known);
    EXPECT_EQ(memory.peak_allocated_bytes, 16 * kMiB);
    EXPECT_EQ(memory.peak_allocated_at_ns, 1'700'000'000'000'002'000);
    EXPECT_EQ(memory.peak_reserved_bytes, 24 * kMiB);
    EXPECT_EQ(trace.memory[0].total_allocated, 8 * kMiB);
    // Device 1 has no history: what it held in the end.
    EXPECT_EQ(history.devices[1].allocations, 1U);
    EXPECT_EQ(history.devices[1].peak_allocated_bytes, 3 * kMiB);
    EXPECT_EQ(history.devices[1].peak_reserved_bytes, 20 * kMiB);
  }
}

TEST(MemorySnapshot, MemoryShowsIt) {
  const Trace trace = read(format_path("snapshot_protocol5.pickle"));
  const ResultView view = view_analysis("memory", trace);
  EXPECT_EQ(view.integer("allocators", 0, "peak_allocated_bytes"), 16 * kMiB);
  EXPECT_EQ(view.integer("allocators", 0, "peak_reserved_bytes"), 24 * kMiB);
}

template <std::size_t kSize>
std::string_view bytes_of(const char (&bytes)[kSize]) {
  return {bytes, kSize - 1};
}

Pickle pickle_of(std::string_view bytes) {
  return Pickle(*readers::from_memory(bytes));
}

TEST(Pickles, ValuesOfEveryProtocolAreRead) {
  // What pickle.dumps makes of {"a": [1, -2, 70000, None, True, 1.5]}.
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

/// What would run a command if a pickle were run: os.system("true").
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
  EXPECT_THAT(message_of("\x80\x04]"), HasSubstr("cut off at byte 3"));
  EXPECT_THAT(message_of("\x80\x04\xff"), HasSubstr("0xff is no opcode"));
  EXPECT_THAT(message_of("\x80\x04s."), HasSubstr("a value is missing"));
  EXPECT_THAT(message_of("\x80\x04h\x05."), HasSubstr("not kept"));
  EXPECT_THAT(message_of(std::string_view("\x80\x04]r\xff\xff\xff\x7f.", 9)), HasSubstr("out of range"));
  EXPECT_THAT(message_of(std::string_view("\x80\x04X\xff\xff\xff\x7f"
                                          "abc",
                                          10)),
              HasSubstr("cut off"));
}

TEST(MemorySnapshot, CutAndChangedItIsReadOrRefused) {
  expect_robust("snapshot_protocol2.pickle", 3000);
  expect_robust("snapshot_protocol5.pickle", 3000);
}

}  // namespace
}  // namespace headroom::trace
