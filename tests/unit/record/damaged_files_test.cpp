// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "sample_records.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct FormatFile {
  const char* name;
  const char* format;
};
constexpr std::array<FormatFile, 25> kFiles{
    {{"ddp_report.json", "ddp"},
     {"gpt_fast.csv", "seed-csv"},
     {"hyperfine.json", "hyperfine"},
     {"hyperfine.csv", "hyperfine"},
     {"llama_bench.jsonl", "llama-bench"},
     {"nvbench.json", "nvbench"},
     {"oss_v3.jsonl", "oss-v3"},
     {"pytest_benchmark.json", "pytest-benchmark"},
     {"asv/results/vm/58056d72-existing-py_usr_bin_python3.json", "asv"},
     {"bencher.json", "bmf"},
     {"benchmark_dotnet.json", "benchmark-dotnet"},
     {"cargo_criterion.jsonl", "criterion"},
     {"criterion/Fibonacci/Recursive/10/new/estimates.json", "criterion"},
     {"criterion/Fibonacci/Recursive/10/new/sample.json", "criterion"},
     {"catch2.xml", "catch2"},
     {"github_action_benchmark.json", "github-action-benchmark"},
     {"github_action_data.js", "github-action-benchmark"},
     {"go_testing.txt", "go-testing"},
     {"google_benchmark.csv", "google-benchmark"},
     {"guidellm.json", "guidellm"},
     {"jmh.json", "jmh"},
     {"nccl_tests.txt", "nccl-tests"},
     {"nccl_tests.json", "nccl-tests"},
     {"pyperf.json", "pyperf"},
     {"vllm_bench.json", "vllm-bench"}}};

std::vector<std::string> texts_of_all_formats() {
  std::vector<std::string> texts;
  for (const FormatFile& file : kFiles) texts.push_back(read_file(reader_file(file.name)));
  texts.push_back(read_file(std::string(HEADROOM_TEST_DATA) + "/record_example.json"));
  for (const char* format : {"headroom-json", "oss-v3"}) {
    texts.push_back(format_named(format).write({measured("gemv", "1024", "int8", 10)}, "", "file"));
  }
  texts.emplace_back(R"({"context": {"date": "2026-11-21T02:25:21+01:00", "num_cpus": 2}, "benchmarks": [
      {"name": "BM", "run_name": "BM", "run_type": "iteration", "iterations": 10, "real_time": 4e1, "cpu_time": 3,
       "time_unit": "ns", "counter": NaN, "other": 7}]})");
  return texts;
}

/// HEADROOM_DAMAGED_FILES, or a few thousand.
int damaged_files() {
  const char* text = std::getenv("HEADROOM_DAMAGED_FILES");
  return text == nullptr ? 4000 : std::atoi(text);
}

/// Damage as by disks, editors and interrupted downloads.
std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random()) % limit; };
  constexpr std::string_view kLikely = "{}[],:\"\\-0e.N\n ";
  for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text[at] = kLikely[below(kLikely.size())];
        break;
      case 3:
        text.erase(at, 1 + below(40));
        break;
      default:
        text.insert(at, text.substr(below(text.size()), below(40)));
    }
  }
  return text;
}

TEST(DamagedFiles, GiveRecordsOrAnError) {
  std::mt19937 random(20261121);
  const std::vector<std::string> texts = texts_of_all_formats();
  const int files = damaged_files();
  int read = 0, refused = 0;
  for (int i = 0; i < files; ++i) {
    const std::string text = damaged(texts[static_cast<std::size_t>(i) % texts.size()], random);
    try {
      EXPECT_FALSE(read_text(text).empty()) << text;
      ++read;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("file")) << text;
      ++refused;
    }
  }
  EXPECT_GT(read, files / 20);
  EXPECT_GT(refused, files / 20);
}

std::vector<double> numbers_of(const Json& array) {
  std::vector<double> numbers;
  for (const Json& value : array) numbers.push_back(value.is_null() ? -1 : value.get<double>());
  return numbers;
}

TEST(DamagedFiles, OurRecordsAreReadAsAnotherParserReadsThem) {
  std::mt19937 random(7);
  const std::string text = to_json_text({full_record(), full_record()});
  const int files = damaged_files() / 4;
  int read = 0;
  for (int i = 0; i < files; ++i) {
    const std::string broken = damaged(text, random);
    std::vector<Record> records;
    try {
      records = records_from_json_text(broken, "file");
    } catch (const Error&) {
      continue;
    }
    ++read;
    ASSERT_TRUE(is_json(broken)) << broken;
    const Json document = parse_json(broken, "file");
    ASSERT_EQ(records.size(), document["records"].size());
    for (std::size_t r = 0; r < records.size(); ++r) {
      for (std::size_t p = 0; p < records[r].samples.size(); ++p) {
        std::vector<double> values = records[r].samples[p].values;
        std::ranges::replace_if(
            values, [](double value) { return std::isnan(value); }, -1);
        EXPECT_EQ(values, numbers_of(document["records"][r]["samples"][p]["values"])) << broken;
      }
    }
  }
  EXPECT_GT(read, files / 25);
}

TEST(DamagedFiles, EachFormatIsRecognisedAsItself) {
  std::vector<std::string> found;
  for (const std::string& text : texts_of_all_formats()) {
    const Format* format = format_of_text(text);
    found.emplace_back(format == nullptr ? "none" : format->name);
    for (const Format& other : all_formats()) {
      EXPECT_EQ(other.recognises != nullptr && other.recognises(FileOutline(text)), &other == format)
          << other.name;
    }
  }
  std::vector<std::string> expected;
  for (const FormatFile& file : kFiles) expected.emplace_back(file.format);
  for (const char* format : {"headroom-json", "headroom-json", "oss-v3", "google-benchmark"})
    expected.emplace_back(format);
  EXPECT_EQ(found, expected);
}

TEST(DamagedFiles, NestingIsLimited) {
  std::string deep = R"({"results": [{"command": "x", "times": [1], "mean": )";
  deep.append(100000, '[').append(100000, ']').append("}]}");
  EXPECT_THAT(refusal(deep), HasSubstr("nested more than 500 deep"));
  std::string report = R"({"benchmark_results": [], "a": )";
  report.append(100000, '[').append(100000, ']').append("}");
  EXPECT_THAT(refusal(report), HasSubstr("file: "));
}

class OddFiles : public testing::Test {
 protected:
  std::string message(const fs::path& path) {
    return message_of([&] { read_records(path); });
  }
  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(OddFiles, AreNamed) {
  EXPECT_THAT(message(folder_), HasSubstr("Is a directory"));
  EXPECT_THAT(message(folder_ / "none"), HasSubstr("No such file"));
  write_file_atomically(folder_ / "empty", "");
  EXPECT_THAT(message(folder_ / "empty"), HasSubstr("empty: is empty; there is nothing to read"));
  write_file_atomically(folder_ / "blank", std::string(10000, '\n'));
  EXPECT_THAT(message(folder_ / "blank"), HasSubstr("is empty"));
  write_file_atomically(folder_ / "noise", std::string("\0\1\2\xff", 4));
  EXPECT_THAT(message(folder_ / "noise"), HasSubstr("unknown file format"));
}

TEST_F(OddFiles, APipeIsReadToItsEnd) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << read_file(reader_file("hyperfine.json")); });
  const std::vector<Record> records = read_records(pipe);
  writer.join();
  EXPECT_EQ(records.size(), 6U);
}

TEST_F(OddFiles, AHoleOfFiveGigabytesIsRefused) {
  std::ofstream(folder_ / "hole") << "{";
  fs::resize_file(folder_ / "hole", std::uintmax_t{5} << 30);
  EXPECT_THAT(message(folder_ / "hole"), HasSubstr("it holds more than 4 GiB; split it"));
}

TEST_F(OddFiles, ManyCasesAreRead) {
  constexpr int kCases = 20000;
  std::string text = R"({"context": {}, "benchmarks": [)";
  for (int i = 0; i < kCases; ++i) {
    text += (i == 0 ? "" : ",") + (R"({"name": "b)" + std::to_string(i)) +
            R"(", "run_type": "iteration", "real_time": 2, "cpu_time": 1})";
  }
  EXPECT_EQ(read_text(text + "]}").size(), 2U * kCases);
}

}  // namespace
}  // namespace headroom
