// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../packed_files.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/files/byte_source.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

/// Varying names keep the compressed text long.
std::string trace_text(int count) {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",\n") + std::string(R"({"ph": "X", "cat": "kernel", "name": "k)") +
            std::to_string(std::hash<int>()(i) * 2654435761U % 1000003) + R"(", "pid": 0, "tid": 7, "ts": )" +
            std::to_string(i) + ".5, \"dur\": 1}";
  }
  return text + "]}";
}

class ReaderPacked : public testing::Test {
 protected:
  ReaderPacked() : path_(fs::temp_directory_path() / ("headroom-packed-" + std::to_string(::getpid()))) {}
  ~ReaderPacked() override { fs::remove(path_); }

  Trace read_bytes(const std::string& bytes) {
    write_file_atomically(path_, bytes);
    ReadOptions options;
    options.threads = 1;
    return read(path_, options);
  }

  void expect_whole(const std::string& bytes) {
    const Trace trace = read_bytes(bytes);
    EXPECT_EQ(trace.events.size(), 500U);
    EXPECT_EQ(trace.events.start_ns.back(), 499500);
    EXPECT_TRUE(trace.is_complete);
    EXPECT_EQ(trace.problems.count, 0U);
    EXPECT_EQ(trace.json_bytes, text_.size());
  }

  void expect_damaged(const std::string& bytes, const std::string& what, std::size_t least,
                      std::size_t most) {
    const Trace trace = read_bytes(bytes);
    EXPECT_GE(trace.events.size(), least);
    EXPECT_LE(trace.events.size(), most);
    EXPECT_FALSE(trace.is_complete);
    ASSERT_GE(trace.problems.count, 1U);
    EXPECT_THAT(trace.problems.first.back().what, HasSubstr(what));
  }

  void expect_refused(const std::string& bytes, const std::string& what) {
    try {
      read_bytes(bytes);
      ADD_FAILURE() << "read, but should say: " << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_.string()));
      EXPECT_THAT(error.what(), HasSubstr(what));
    }
  }

  const std::string text_ = trace_text(500);

 private:
  fs::path path_;
};

TEST_F(ReaderPacked, WholeFilesReadAsTheirText) {
  expect_whole(text_);
  expect_whole(gzip_of(text_));
  expect_whole(zstd_of(text_));
  for (const bool is_deflated : {false, true}) {
    for (const bool is_zip64 : {false, true}) {
      SCOPED_TRACE(testing::Message() << is_deflated << is_zip64);
      expect_whole(zip_of({{"trace.json", text_, is_deflated, is_zip64}}));
    }
  }
}

TEST_F(ReaderPacked, SeveralStreamsAreOneText) {
  const std::size_t half = text_.size() / 2;
  expect_whole(gzip_of(text_.substr(0, half)) + gzip_of("") + gzip_of(text_.substr(half)));
  expect_whole(zstd_of(text_.substr(0, half)) + zstd_of("") + zstd_of(text_.substr(half)));
  // Padding by tar and dd, as gzip accepts.
  expect_whole(gzip_of(text_) + std::string(512, '\0'));
}

TEST_F(ReaderPacked, OfAZipTheFirstMemberThatIsJson) {
  expect_whole(zip_of({{"readme.txt", "nothing"}, {"a/", ""}, {"a/trace.json", text_}, {"b.json", "[]"}}));
  expect_whole(zip_of({{"worker0.pt.trace", text_}, {"readme.txt", "nothing"}}));
  expect_whole(zip_of({{"trace.json", text_}}, "a comment that says PK\5\6 itself"));
  expect_refused(zip_of({{"readme.txt", "nothing"}}), "not a Chrome trace");
  expect_refused(zip_of({}), "zip");
}

TEST_F(ReaderPacked, AZipThatCannotBeReadSaysWhy) {
  expect_refused(zip_of({{"trace.json", text_, true, false, true}}), "encrypted");
  expect_refused(zip_of({{"trace.json", text_, true, false, false, 12}}), "compression method 12");
  const std::string whole = zip_of({{"trace.json", text_}});
  expect_refused(whole.substr(0, whole.size() - 30), "truncated");
  // As in self-extracting programs: shifts all offsets.
  expect_refused("PK\3\4" + std::string(100, '\0') + whole, "zip");
}

TEST_F(ReaderPacked, ACutFileGivesWhatIsThere) {
  const std::string gzip = gzip_of(text_);
  expect_damaged(gzip.substr(0, gzip.size() / 2), "truncated", 100, 400);
  expect_damaged(gzip.substr(0, gzip.size() - 4), "truncated", 500, 500);
  const std::string zstd = zstd_of(trace_text(20000));
  expect_damaged(zstd.substr(0, zstd.size() / 2), "truncated", 1000, 19000);
}

TEST_F(ReaderPacked, DamageIsSaidAndWhatCameBeforeKept) {
  std::string gzip = gzip_of(text_);
  gzip[gzip.size() - 6] ^= 1;  // its checksum
  expect_damaged(gzip, "damaged (incorrect data check)", 500, 500);
  expect_damaged(gzip_of(text_) + "rubbish", "damaged (other bytes follow)", 500, 500);
  std::string zstd = zstd_of(trace_text(20000));
  zstd[zstd.size() / 2] ^= 0x55;
  expect_damaged(zstd, "zstd data are damaged", 1000, 20000);
  for (const bool is_deflated : {false, true}) {
    std::string zip = zip_of({{"trace.json", text_, is_deflated}});
    // A digit of a time: only the checksum detects it.
    const std::size_t at = is_deflated ? zip.size() / 2 : zip.find("250.5");
    zip[at] ^= 1;
    const Trace trace = read_bytes(zip);
    EXPECT_FALSE(trace.is_complete) << is_deflated;
    ASSERT_GE(trace.problems.count, 1U) << is_deflated;
    EXPECT_THAT(trace.problems.first.back().what, HasSubstr("damaged")) << is_deflated;
  }
}

TEST_F(ReaderPacked, NothingButDamageIsAnError) {
  expect_refused(gzip_of(text_).substr(0, 12), "truncated");
  std::string zstd = zstd_of(text_);
  zstd.resize(8);
  expect_refused(zstd, "truncated");
  expect_refused("\x1f\x8b" + std::string(40, 'x'), "damaged");
}

struct Unpacked {
  std::string text, damage;
};

/// In pieces of `piece` bytes.
Unpacked unpack(const std::string& bytes, Unpacking by, std::size_t piece) {
  const auto source = unpack_gzip(memory_source(bytes), by);
  Unpacked unpacked;
  std::string room(piece, '\0');
  for (std::size_t count = 0; (count = source->read(room.data(), room.size())) > 0;)
    unpacked.text.append(room, 0, count);
  unpacked.damage = source->damage();
  return unpacked;
}

TEST(Unpacking, IsTheSameByEachLibrary) {
  const std::string text = trace_text(5000);
  const std::string bytes = gzip_of(text.substr(0, 1000)) + gzip_of("") + gzip_of(text.substr(1000));
  for (const Unpacking by : {Unpacking::kFastest, Unpacking::kZlib}) {
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{777}, std::size_t{65536}, std::size_t{1} << 20}) {
      const Unpacked unpacked = unpack(bytes, by, piece);
      EXPECT_TRUE(unpacked.text == text) << piece;
      EXPECT_EQ(unpacked.damage, "") << piece;
    }
  }
}

TEST(Unpacking, SaysOfEachCutAndFlippedBitTheSame) {
  const std::string text = trace_text(60);
  const std::string whole = gzip_of(text);
  const auto compare = [&](const std::string& bytes, const std::string& how) {
    const Unpacked fast = unpack(bytes, Unpacking::kFastest, 4096);
    const Unpacked slow = unpack(bytes, Unpacking::kZlib, 4096);
    EXPECT_EQ(fast.damage.empty(), slow.damage.empty()) << how << ": " << fast.damage << ", " << slow.damage;
    const std::size_t shared = std::min(fast.text.size(), slow.text.size());
    EXPECT_TRUE(fast.text.substr(0, shared) == slow.text.substr(0, shared)) << how;
    if (slow.damage.empty()) {
      EXPECT_TRUE(fast.text == slow.text) << how;
    }
    return std::pair(fast, slow);
  };
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto [fast, slow] = compare(whole.substr(0, size), "cut at " + std::to_string(size));
    EXPECT_EQ(fast.damage, "its compressed data end too early; the file is truncated") << size;
    EXPECT_EQ(fast.damage, slow.damage) << size;
    EXPECT_EQ(fast.text.size(), slow.text.size()) << size;
  }
  for (std::size_t byte = 2; byte < whole.size(); ++byte) {
    std::string bytes = whole;
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << (byte % 8)));
    compare(bytes, "flipped in byte " + std::to_string(byte));
  }
}

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
  using Event = std::tuple<std::string, std::int64_t, std::int64_t, Category, std::int64_t, std::string>;
  std::vector<Event> rows;
  const Events& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    rows.emplace_back(trace.names[events.name[i]], events.start_ns[i], events.duration_ns[i],
                      events.category[i], events.correlation[i], trace.threads[events.thread[i]].tid);
  }
  EXPECT_EQ(rows, (std::vector<Event>{{"gemm", 12500, 4000, Category::kKernel, 9, "7"},
                                      {"cudaLaunchKernel", 10000, 1000, Category::kRuntime, 9, "1"},
                                      {"aten::mm", 9999, 3000, Category::kCpuOp, kNoCorrelation, "1"}}));
  ASSERT_EQ(trace.gpu.size(), 1U);
  EXPECT_EQ(std::tuple(trace.gpu[0].device, trace.gpu[0].stream), std::tuple(0, 7));
  EXPECT_EQ(trace.is_complete, form.is_complete);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(trace.rank.value_or(-1), form.has_rank ? 3 : -1);
}

INSTANTIATE_TEST_SUITE_P(All, ReaderForms, testing::ValuesIn(forms()),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace headroom::trace
