// SPDX-License-Identifier: Apache-2.0
// One trace in every form that files come in: all of them read as the same columns.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "headroom/base/files.h"
#include "headroom/trace/readers/read.h"
#include "packed_files.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = R"(
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12.5, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 9}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 1, "args": {"correlation": 9}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9.999, "dur": 3})";
constexpr const char* kRank = R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8})";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string whole() {
  return std::string("{\"schemaVersion\": 1, ") + kRank + ", \"traceEvents\": [" + kList + "\n]}\n";
}

std::string without_white_space() {
  return replaced(replaced(whole(), "\n", ""), " ", "");
}

struct Form {
  const char* name;
  std::string bytes;
  bool is_complete = true;
  bool has_rank = true;
};
void PrintTo(const Form& form, std::ostream* out) {
  *out << form.name;
}

std::vector<Form> forms() {
  const std::string list = kList;
  const std::string strings = replaced(
      replaced(replaced(whole(), "\"dur\": 4", "\"dur\": \"4\""), "\"ts\": 12.5", "\"ts\": \"12.5\""),
      "\"correlation\": 9", "\"correlation\": \"9\"");
  const std::string begin_end = replaced(
      whole(),
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9.999, "dur": 3})",
      R"({"ph": "B", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9.999},
         {"ph": "E", "pid": 1, "tid": 1, "ts": 12.999})");
  const std::string old_kineto = replaced(
      replaced(replaced(replaced(whole(), "\"kernel\"", "\"Kernel\""), "\"cuda_runtime\"", "\"Runtime\""),
               "\"cpu_op\"", "\"Operator\""),
      "\"tid\": 7", "\"tid\": \"7\"");
  return {
      {"object", whole()},
      {"bare_array", "[" + list + "]", true, false},
      {"array_without_end", "[" + list, false, false},
      {"array_with_comma_and_no_end", "[" + list + ",\n", false, false},
      {"object_without_end", replaced(whole(), "\n]}\n", "\n"), false},
      {"trailing_commas", replaced(replaced(whole(), "\n]}", ",\n],}"), "9}}", "9,},}")},
      {"metadata_last",
       std::string("{\"traceEvents\": [") + list + "], \"schemaVersion\": 1, " + kRank + "}"},
      {"numbers_as_strings", strings},
      {"begin_and_end", begin_end},
      {"old_kineto", old_kineto},
      {"rocm", replaced(whole(), "cuda_runtime", "hip_runtime")},
      {"mtia",
       replaced(replaced(whole(), "cuda_runtime", "mtia_runtime"), "\"kernel\"", "\"mtia_ccp_events\"")},
      {"byte_order_mark", "\xEF\xBB\xBF" + whole()},
      {"without_white_space", without_white_space()},
      {"windows_line_ends", replaced(whole(), "\n", "\r\n")},
      {"escaped_names", replaced(whole(), "aten::mm", "aten\\u003a:mm")},
      {"gzip", gzip_of(whole())},
      {"zstd", zstd_of(whole())},
      {"zip", zip_of({{"trace.json", whole()}})},
      {"zip_stored", zip_of({{"trace.json", whole(), false}})},
  };
}

class ReaderForms : public testing::TestWithParam<Form> {
 protected:
  ReaderForms()
      : path_(fs::temp_directory_path() / ("headroom-form-of-" + std::to_string(::getpid()) + "-trace")) {}
  ~ReaderForms() override { fs::remove(path_); }
  fs::path path_;
};

TEST_P(ReaderForms, GivesTheSameColumns) {
  const Form& form = GetParam();
  write_file_atomically(path_, form.bytes);
  const Trace trace = read(path_);
  using Row = std::tuple<std::string, std::int64_t, std::int64_t, Category, std::int64_t, std::string>;
  std::vector<Row> rows;
  const Events& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    rows.emplace_back(trace.names[events.name[i]], events.start_ns[i], events.duration_ns[i],
                      events.category[i], events.correlation[i], trace.threads[events.thread[i]].tid);
  }
  EXPECT_EQ(rows, (std::vector<Row>{{"gemm", 12500, 4000, Category::kKernel, 9, "7"},
                                    {"cudaLaunchKernel", 10000, 1000, Category::kRuntime, 9, "1"},
                                    {"aten::mm", 9999, 3000, Category::kCpuOp, kNoCorrelation, "1"}}));
  ASSERT_EQ(trace.gpu.size(), 1U);
  EXPECT_EQ(trace.gpu[0].device, 0);
  EXPECT_EQ(trace.gpu[0].stream, 7);
  EXPECT_EQ(trace.is_complete, form.is_complete);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(trace.rank.value_or(-1), form.has_rank ? 3 : -1);
}

INSTANTIATE_TEST_SUITE_P(All, ReaderForms, testing::ValuesIn(forms()),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace headroom::trace
