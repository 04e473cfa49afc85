// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "full_record.h"
#include "headroom/base/files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class FormatFiles : public testing::Test {
 protected:
  FormatFiles() : folder_(fs::temp_directory_path() / ("headroom-formats-" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }
  ~FormatFiles() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST(Formats, HaveDifferentNamesAndCanDoSomething) {
  std::set<std::string> names;
  for (const Format& format : all_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(format.write != nullptr || format.read != nullptr) << format.name;
    EXPECT_EQ(format.read == nullptr, format.recognises == nullptr) << format.name;
  }
}

TEST(Formats, AreFoundByName) {
  EXPECT_STREQ(format_named("oss-v3").name, "oss-v3");
  EXPECT_THAT(message_of([] { format_named("seed-cvs"); }),
              AllOf(HasSubstr("did you mean 'seed-csv'"), HasSubstr("headroom-json")));
}

TEST(Formats, AreFoundByTheLongestEnding) {
  EXPECT_STREQ(format_of_file_name("a/b.csv")->name, "seed-csv");
  EXPECT_STREQ(format_of_file_name("b.json")->name, "headroom-json");
  EXPECT_STREQ(format_of_file_name("b.oss.json")->name, "oss-v3");
  EXPECT_STREQ(format_of_file_name("b.jsonl")->name, "seed-jsonl");
  EXPECT_EQ(format_of_file_name("b.csv/c.txt"), nullptr);
}

TEST_F(FormatFiles, WriteAndReadBack) {
  write_records(folder_ / "r.json", format_named("headroom-json"), {full_record(), Record{}});
  const std::vector<Record> records = read_records(folder_ / "r.json");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(identity(records[0]), identity(full_record()));
}

TEST_F(FormatFiles, HeadroomJsonIsReplacedAndTheCsvGrows) {
  const std::vector<Record> records{measured("gemv", "1024", "int8", 10)};
  for (int i = 0; i < 2; ++i) {
    write_records(folder_ / "r.json", format_named("headroom-json"), records);
    write_records(folder_ / "r.csv", format_named("seed-csv"), records);
    write_records(folder_ / "r.jsonl", format_named("seed-jsonl"), records);
  }
  EXPECT_EQ(read_records(folder_ / "r.json").size(), 1U);
  EXPECT_EQ(read_file(folder_ / "r.csv"),
            "name,metric,target,actual,dtype,device,arch,is_model\n"
            "gemv,memory_bandwidth(GB/s),,10.000000,int8,cpu,,False\n"
            "gemv,memory_bandwidth(GB/s),,10.000000,int8,cpu,,False\n");
  const std::string lines = read_file(folder_ / "r.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST_F(FormatFiles, ABrokenCsvIsNotOverwritten) {
  write_file_atomically(folder_ / "r.csv", "a,\"b\n");
  EXPECT_THAT(message_of([&] {
                write_records(folder_ / "r.csv", format_named("seed-csv"),
                              {measured("gemv", "1", "int8", 1)});
              }),
              HasSubstr("line 1"));
  EXPECT_EQ(read_file(folder_ / "r.csv"), "a,\"b\n");
}

TEST_F(FormatFiles, AnUnknownFileIsRefused) {
  write_file_atomically(folder_ / "x", "{\"other\": 1}");
  EXPECT_THAT(message_of([&] { read_records(folder_ / "x"); }), HasSubstr("it reads: headroom-json"));
}

}  // namespace
}  // namespace headroom
