// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/merge/trace_merge.h"
#include "headroom_trace/readers/event_rewriter.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;
using readers::RankRemap;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string process_of(const RankRemap& mark, const std::string& pid) {
  std::string out;
  readers::append_process(mark, pid, out);
  return out;
}

std::string id_of(const RankRemap& mark, const std::string& id) {
  std::string out;
  readers::append_id(mark, id, out);
  return out;
}

TEST(RankRemap, OfTheFirstPlaceNumbersStay) {
  const RankRemap first{.rank = 4, .place = 0};
  EXPECT_EQ(process_of(first, "1234"), "1234");
  EXPECT_EQ(process_of(first, "\"Spans\""), "\"rank 4 Spans\"");
  for (const char* id : {"17", "\"17\"", "\"0x1f\"", "\"text\"", "-3", "2.5"})
    EXPECT_EQ(id_of(first, id), id);
  EXPECT_EQ(readers::remapped_argument(first, "correlation", "17"), 17);
  EXPECT_EQ(readers::remapped_argument(first, "device", "3"), 3);
}

TEST(RankRemap, ProcessesAreNumbersWhereTheyFitTheStride) {
  const RankRemap mark{.rank = 9, .place = 2, .process_stride = 1000};
  EXPECT_EQ(process_of(mark, "999"), "2999");
  EXPECT_EQ(process_of(mark, "\"7\""), "2007");
  EXPECT_EQ(process_of(mark, "1000"), "\"rank 9 1000\"");
  EXPECT_EQ(process_of(mark, "-1"), "\"rank 9 -1\"");
  EXPECT_EQ(process_of(mark, "07"), "\"rank 9 07\"");
  EXPECT_EQ(process_of(mark, "1.0"), "\"rank 9 1.0\"");
  EXPECT_EQ(process_of(mark, "true"), "\"rank 9 true\"");
  EXPECT_EQ(process_of(mark, ""), "\"rank 9\"");
}

TEST(RankRemap, IdsStayDifferentAndOfTheirKind) {
  const RankRemap mark{.rank = 9, .place = 2};
  EXPECT_EQ(id_of(mark, "17"), "2000000000017");
  EXPECT_EQ(id_of(mark, "\"17\""), "\"2000000000017\"");
  EXPECT_EQ(id_of(mark, "\"0x11\""), fmt::format("\"0x{:x}\"", 2'000'000'000'017));
  EXPECT_EQ(id_of(mark, "\"a \\\"b\\\"\""), R"("rank 9 a \"b\"")");
  // Unsigned numbers wrap without colliding.
  EXPECT_NE(id_of(mark, "18446744073709551615"), id_of(mark, "18446744073709551614"));
}

TEST(RankRemap, OnlyWhatJoinsEventsIsMoved) {
  const RankRemap mark{.rank = 1, .place = 1, .device_stride = 100};
  EXPECT_EQ(readers::remapped_argument(mark, "External id", "\"5\""), readers::kRankIdStride + 5);
  EXPECT_EQ(readers::remapped_argument(mark, "wait_on_cuda_event_record_corr_id", "5"),
            readers::kRankIdStride + 5);
  EXPECT_EQ(readers::remapped_argument(mark, "Device Id", "7"), 107);
  for (const char* none : {"-1", "null", "\"\"", "\"text\""}) {
    EXPECT_EQ(readers::remapped_argument(mark, "correlation", none), std::nullopt) << none;
    EXPECT_EQ(readers::remapped_argument(mark, "device", none), std::nullopt) << none;
  }
  // 0 is a valid correlation, but no external id.
  EXPECT_EQ(readers::remapped_argument(mark, "External id", "0"), std::nullopt);
  EXPECT_EQ(readers::remapped_argument(mark, "correlation", "0"), readers::kRankIdStride);
  EXPECT_EQ(readers::remapped_argument(mark, "stream", "7"), std::nullopt);
}

TEST(RankRemap, NamesAndPlacesOfProcesses) {
  const RankRemap mark{.rank = 9, .place = 2};
  EXPECT_EQ(readers::remapped_process_name(mark, "python"), "rank 9: python");
  EXPECT_EQ(readers::remapped_process_name(mark, "/device:GPU:1 (host)"), "rank 9: /device:GPU:201 (host)");
  EXPECT_EQ(readers::remapped_process_name(mark, "/device:GPU:"), "rank 9: /device:GPU:");
  // Host, devices, the rest, before the next rank.
  const std::int64_t host = readers::remapped_sort_index(mark, 31'337);
  const std::int64_t unsaid = readers::remapped_sort_index(mark, std::nullopt);
  const std::int64_t first = readers::remapped_sort_index(mark, 5'000'000);
  const std::int64_t second = readers::remapped_sort_index(mark, 5'000'001);
  const std::int64_t spans = readers::remapped_sort_index(mark, 536'870'912);
  EXPECT_LE(host, unsaid);
  EXPECT_LT(unsaid, first);
  EXPECT_LT(first, second);
  EXPECT_LT(second, spans);
  EXPECT_LT(spans, readers::remapped_sort_index({.rank = 10, .place = 3}, -5));
}

std::string rank_text(int rank, double late_us, double ahead_us) {
  std::string text = fmt::format(
      R"({{"distributedInfo": {{"rank": {}}}, "traceEvents": [{{"ph": "M", "name": "process_name", "pid": 8, "args": {{"name": "python"}}}})",
      rank);
  for (int step = 0; step < 8; ++step) {
    const double at = 1000 * step + ahead_us;
    text += fmt::format(
        R"(,
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 8, "tid": 8, "ts": {:.3f}, "dur": 5, "args": {{"correlation": {}}}}},
{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": {:.3f}, "dur": {:.3f}, "args": {{"device": 0, "stream": 20, "correlation": {}, "Collective name": "allreduce", "Process Group Name": "0", "In msg nelems": 64}}}})",
        at, step, at + 50 + late_us, 200 - late_us, step);
  }
  return text + "]}";
}

class TraceMerge : public testing::Test {
 protected:
  TraceMerge() : folder_(fs::temp_directory_path() / fmt::format("headroom-merge-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~TraceMerge() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  MergedTrace merge(const std::vector<fs::path>& files, int threads = 2) {
    merged_.clear();
    FilesOptions how;
    how.threads = threads;
    return merge_traces(
        files, [this](std::string_view piece) { merged_ += piece; }, how);
  }

  fs::path folder_;
  std::string merged_;
};

std::vector<std::int64_t> moved(const MergedTrace& merged) {
  std::vector<std::int64_t> all;
  for (const MergedRank& rank : merged.ranks) all.push_back(rank.moved_ns);
  return all;
}

TEST_F(TraceMerge, ClocksMeetThatOfTheMedianRank) {
  const MergedTrace merged =
      merge({write("c.json", rank_text(2, 30, -17.25)), write("a.json", rank_text(0, 0, 0)),
             write("b.json", rank_text(1, 0, 400.5))});
  EXPECT_THAT(moved(merged), testing::ElementsAre(0, -400'500, 17'250));
  EXPECT_EQ(merged.arrows, 16U);
  const Trace trace = read_text(merged_, "merged.json");
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(trace.base_time_ns, -400'500);
  std::map<std::int64_t, std::vector<std::int64_t>> starts;
  for (const GpuDetail& work : trace.gpu)
    starts[trace.events.end_ns(work.event)].push_back(trace.events.start_ns[work.event]);
  ASSERT_EQ(starts.size(), 8U);
  for (const auto& [end, all] : starts)
    EXPECT_THAT(all, testing::ElementsAre(end - 200'000, end - 200'000, end - 170'000));
}

TEST_F(TraceMerge, ArrowsJoinTwoRanksEach) {
  merge({write("a.json", rank_text(0, 0, 0)), write("b.json", rank_text(1, 40, 7))});
  const Trace trace = read_text(merged_, "merged.json");
  ASSERT_EQ(trace.flows.size(), 16U);
  for (std::size_t i = 0; i < trace.flows.size(); i += 2) {
    const Flow &from = trace.flows[i], &to = trace.flows[i + 1];
    EXPECT_TRUE(from.is_start && !to.is_start);
    EXPECT_EQ(from.id, to.id);
    EXPECT_EQ(trace.threads[from.thread].pid, "10000000");
    EXPECT_EQ(std::tuple(trace.threads[to.thread].pid, trace.threads[to.thread].tid), std::tuple("0", "20"));
  }
}

TEST_F(TraceMerge, ArrowsNameThreadsAsTheirEventsDo) {
  std::string text = rank_text(1, 40, 7);
  for (const auto& [tid, json] : {std::pair("05", "5"), std::pair("\"a\\\"b\"", R"("a\"b")")}) {
    std::string other = text;
    for (std::size_t at = 0; (at = other.find("\"tid\": 20", at)) != std::string::npos; ++at)
      other.replace(at + 7, 2, tid);
    merge({write("a.json", rank_text(0, 0, 0)), write("b.json", other)});
    const Json trace = parse_json(merged_, "merged");
    int arrows = 0;
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "s") continue;
      ++arrows;
      EXPECT_EQ(dump_json(event["tid"]), json);
    }
    EXPECT_EQ(arrows, 8);
  }
}

TEST_F(TraceMerge, ManyRanksLeaveLessRoomForProcesses) {
  std::vector<fs::path> files;
  for (int rank = 0; rank < 300; ++rank)
    files.push_back(write(
        fmt::format("{}.json", rank),
        fmt::format(
            R"([{{"ph": "X", "cat": "kernel", "name": "k", "pid": 7000000, "tid": 1, "ts": {}, "dur": 1, "args": {{"device": 0}}}}])",
            rank)));
  merge(files);
  const Trace trace = read_text(merged_, "merged.json");
  ASSERT_EQ(trace.threads.size(), 300U);
  EXPECT_EQ(trace.threads[299].pid, std::to_string(299LL * (2147483647 / 300) + 7000000));
  EXPECT_EQ(trace.gpu[299].device, 29900);
}

TEST_F(TraceMerge, AFileThatIsNoneEndsIt) {
  const fs::path whole = write("a.json", rank_text(0, 0, 0));
  EXPECT_THROW(merge({whole}), Error);
  EXPECT_THROW(merge({whole, write("b.json", "text")}), Error);
  EXPECT_THROW(merge({whole, folder_ / "absent.json"}), Error);
}

std::vector<std::tuple<std::string, std::int64_t, int>> rows_of(const Trace& trace) {
  std::vector<std::tuple<std::string, std::int64_t, int>> rows;
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    rows.emplace_back(trace.names[trace.events.name[i]], trace.events.duration_ns[i],
                      static_cast<int>(trace.events.category[i]));
  std::ranges::sort(rows);
  return rows;
}

TEST_F(TraceMerge, OfDamagedFilesAllIsThereOrSaidToBeMissing) {
  const std::string whole = rank_text(1, 20, 5);
  const fs::path first = write("a.json", rank_text(0, 0, 0));
  std::mt19937 random(7);
  int merged_files = 0;
  for (int i = 0; i < 150; ++i) {
    std::string text = whole;
    for (int edit = 0; edit < 3; ++edit) text[random() % text.size()] = static_cast<char>(random() % 256);
    if (i % 5 == 0) text.resize(random() % text.size());
    const fs::path second = write("b.json", text);
    MergedTrace merged;
    try {
      merged = merge({first, second}, 1);
    } catch (const Error&) {
      continue;  // no trace, or a clock that cannot be aligned
    }
    ++merged_files;
    SCOPED_TRACE(text);
    static_cast<void>(parse_json(merged_, "merged"));
    const Trace trace = read_text(merged_, "merged.json");
    auto expected = rows_of(read(first));
    std::ranges::copy(rows_of(read(second)), std::back_inserter(expected));
    std::ranges::sort(expected);
    // Unneeded arguments may make an event invalid JSON.
    const auto rows = rows_of(trace);
    std::uint64_t left_out = 0;
    for (const MergedRank& rank : merged.ranks) left_out += rank.facts.problems.events_skipped;
    ASSERT_TRUE(std::ranges::includes(expected, rows));
    ASSERT_LE(expected.size() - rows.size(), left_out);
  }
  EXPECT_GT(merged_files, 100);
}

/// Sort key and original position.
using Item = std::pair<std::int64_t, std::size_t>;

std::vector<Item> pieces(std::mt19937& random, std::size_t runs) {
  std::vector<Item> items;
  for (std::size_t run = random() % (runs + 1); run > 0; --run) {
    auto at = static_cast<std::int64_t>(random() % 40);
    for (std::size_t i = random() % 20; i > 0; --i) {
      items.emplace_back(at, items.size());
      at += static_cast<std::int64_t>(random() % 3);
    }
  }
  return items;
}

TEST(MergeRuns, SortsAsAStableSortDoes) {
  std::mt19937 random(3);
  const auto before = [](const Item& a, const Item& b) { return a.first < b.first; };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Item> items = pieces(random, 1 + static_cast<std::size_t>(round % 12));
    std::vector<Item> expected = items;
    std::ranges::stable_sort(expected, before);
    merge_runs(std::span(items), before);
    ASSERT_EQ(items, expected);
  }
}

TEST(MergeRuns, LooksOnceAtWhatIsSorted) {
  std::vector<int> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i / 2);
  std::size_t looks = 0;
  merge_runs(std::span(values), [&](int a, int b) {
    ++looks;
    return a < b;
  });
  EXPECT_EQ(looks, 999U);
}

TEST(RankInName, FindsTheNumberOfTheRank) {
  EXPECT_EQ(rank_in_name("job/rank-3.json.gz"), 3);
  EXPECT_EQ(rank_in_name("rank_12.pt.trace.json"), 12);
  EXPECT_EQ(rank_in_name("trace_Rank7_step2.json"), 7);
  EXPECT_EQ(rank_in_name("flux_trace_rank_0.json.gz"), 0);
  EXPECT_EQ(rank_in_name("kineto.rank[4].json"), 4);
  EXPECT_EQ(rank_in_name("worker3_step_12.json"), 3);
  EXPECT_EQ(rank_in_name("Worker-11.json.gz"), 11);
  EXPECT_EQ(rank_in_name("ranking/rank-1/rank-9.json"), 9);
}

TEST(RankInName, TakesNoOtherNumberForARank) {
  EXPECT_EQ(rank_in_name("trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("rank-3/trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("host_1695835535.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("worker0.1623143089861.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("resnet50.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("frank.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("frank3.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("num_workers_4.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("nsight-2025.5.2"), std::nullopt);
  EXPECT_EQ(rank_in_name("nsight-2025.5.2.sqlite"), std::nullopt);
  EXPECT_EQ(rank_in_name("resnet-50.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("17.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("trace_5.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("2_profile.json"), std::nullopt);
}

TEST(RankInName, TakesNoProcessIdForARank) {
  EXPECT_EQ(rank_in_name("host_27702.1695835535.pt.trace.json.gz"), std::nullopt);
  EXPECT_EQ(rank_in_name("job/gpu-7_311.1732480000123456789.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("node-1.rack-2.example.com_27702.1695835535123.pt.trace.json.gz"), std::nullopt);
  EXPECT_EQ(rank_in_name("host_rank3.1695835535.pt.trace.json.gz"), 3);  // a worker_name of the user
  EXPECT_EQ(rank_in_name("worker-7_27702.1695835535123.pt.trace.json"), std::nullopt);  // a host's name
  EXPECT_EQ(rank_in_name("worker7.pt.trace.json"), 7);  // not the handler's: no time
}

TraceFacts of(const char* source, std::optional<std::int64_t> rank = {}) {
  TraceFacts facts;
  facts.source = source;
  facts.rank = rank;
  return facts;
}

TEST(RankNumbers, AreWhatTheTracesSay) {
  const RankNumbers numbers = rank_numbers(std::vector{of("a.json", 5), of("b.json", 1)});
  EXPECT_THAT(numbers.ranks, ElementsAre(5, 1));
  EXPECT_THAT(numbers.notes, IsEmpty());
}

TEST(RankNumbers, ThoseWithoutOneGetWhatIsFree) {
  const RankNumbers numbers = rank_numbers(std::vector{of("a.json"), of("b.json", 0), of("c.json")});
  EXPECT_THAT(numbers.ranks, ElementsAre(1, 0, 2));
  EXPECT_THAT(numbers.notes,
              ElementsAre("2 files do not name their rank: numbered by position, a.json as rank 1"));
  EXPECT_THAT(rank_numbers(std::vector{of("a.json"), of("b.json", 0)}).notes,
              ElementsAre("a.json does not name its rank: counted as rank 1, by its position"));
}

TEST(RankNumbers, AreTheNumberInWhichAloneTheNamesDiffer) {
  const auto ranks = [](std::vector<const char*> names) {
    std::vector<TraceFacts> traces;
    for (const char* name : names) traces.push_back(of(name));
    const RankNumbers numbers = rank_numbers(traces);
    return std::pair(numbers.ranks, numbers.notes.empty());
  };
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(ranks({"a/trace_3.json", "a/trace_2.json"}), std::pair(Ranks({3, 2}), true));
  EXPECT_EQ(ranks({"10.json", "9.json"}), std::pair(Ranks({10, 9}), true));
  EXPECT_EQ(ranks({"resnet-50_1.json", "resnet-50_0.json"}), std::pair(Ranks({1, 0}), true));
  EXPECT_EQ(ranks({"a2_1.json", "a3_4.json"}), std::pair(Ranks({0, 1}), false));
  EXPECT_EQ(ranks({"before_7.json", "after_8.json"}), std::pair(Ranks({0, 1}), false));
  EXPECT_EQ(ranks({"x/t_7.json", "y/t_7.json"}), std::pair(Ranks({0, 1}), false));
  EXPECT_EQ(ranks({"t_1695835535.json", "t_1695835536.json"}), std::pair(Ranks({0, 1}), false));
  EXPECT_EQ(ranks({"nsight-2025.5.2.sqlite"}), std::pair(Ranks({0}), false));
}

TEST(RankNumbers, NumbersOfNamesGiveWayToRanks) {
  const RankNumbers numbers = rank_numbers(std::vector{of("t_1.json"), of("t_2.json"), of("own.json", 1)});
  EXPECT_THAT(numbers.ranks, ElementsAre(0, 2, 1));
  EXPECT_THAT(numbers.notes, ElementsAre(HasSubstr("t_1.json does not name its rank")));
}

TEST(RankNumbers, DuplicatesAreNamed) {
  const RankNumbers numbers =
      rank_numbers(std::vector{of("a/rank-0.json", 0), of("b/rank-0.json", 0), of("c.json", 1)});
  EXPECT_THAT(numbers.ranks, ElementsAre(0, 2, 1));
  EXPECT_THAT(numbers.notes,
              ElementsAre(HasSubstr(
                  "a/rank-0.json and b/rank-0.json both claim rank 0: the second counts as rank 2")));
}

TEST(RankNumbers, DuplicatesGoByTheirNames) {
  const RankNumbers numbers = rank_numbers(std::vector{of("rank0.pftrace", 3), of("rank1.pftrace", 3)});
  EXPECT_THAT(numbers.ranks, ElementsAre(0, 1));
  EXPECT_THAT(
      numbers.notes,
      ElementsAre(HasSubstr(
          "2 files claim rank 3 (rank0.pftrace and rank1.pftrace): they count as the ranks in their names")));
  EXPECT_THAT(rank_numbers(std::vector{of("rank4.json", 3), of("rank3.json", 3), of("rank5.json", 5)}).ranks,
              ElementsAre(4, 3, 5));
  EXPECT_THAT(rank_numbers(std::vector{of("rank0.json", 3), of("other.json", 3)}).ranks, ElementsAre(3, 0));
  EXPECT_THAT(rank_numbers(std::vector{of("a/rank1.json", 3), of("b/rank1.json", 3)}).ranks,
              ElementsAre(3, 0));
  EXPECT_THAT(rank_numbers(std::vector{of("rank0.json", 3), of("rank1.json", 3), of("c.json", 1)}).ranks,
              ElementsAre(3, 0, 1));
}

TEST(RankNumbers, ManyDuplicatesAreOneNote) {
  std::vector<TraceFacts> copies;
  for (int i = 0; i < 64; ++i) copies.push_back(of(i == 0 ? "a.json" : "b.json", 3));
  const RankNumbers numbers = rank_numbers(copies);
  EXPECT_EQ(std::set(numbers.ranks.begin(), numbers.ranks.end()).size(), 64U);
  EXPECT_THAT(numbers.notes,
              ElementsAre(HasSubstr(
                  "63 files claim the rank of another file (a.json and b.json both claim rank 3)")));
}

}  // namespace
}  // namespace headroom::trace
