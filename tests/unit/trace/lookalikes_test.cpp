// SPDX-License-Identifier: Apache-2.0
// Files that are no trace say what they look like.
#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "format_files.h"

namespace headroom::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal_of(const std::string& name, const std::string& bytes) {
  const std::filesystem::path path = testing::TempDir() + name;
  write_file_atomically(path, bytes);
  std::string said;
  try {
    read(path);
  } catch (const Error& error) {
    said = error.what();
  }
  std::filesystem::remove(path);
  return said;
}

TEST(Lookalikes, AFileThatIsNoTraceSaysWhatItLooksLike) {
  const std::vector<std::pair<std::string, const char*>> files{
      {"\x7f"
       "ELF\x02\x01\x01",
       "ELF"},
      {"\x89PNG\r\n\x1a\n", "PNG"},
      {"PERFILE2abcdefgh", "perf.data"},
      {"<!DOCTYPE html><html></html>", "HTML"},
      {"name,calls,time\na,1,2\nb,3,4\n", "CSV"},
      {"%PDF-1.7", "PDF"},
      {"\xfd"
       "7zXZ",
       "xz -d"},
      {std::string("\x80\x04K\x01.", 5), "pickle"},
      {std::string(257, '\0') + "ustar", "tar archive"},
  };
  for (const auto& [bytes, what] : files)
    EXPECT_THAT(refusal_of("headroom-lookalike", bytes), AllOf(HasSubstr("looks like"), HasSubstr(what)))
        << what;
}

TEST(Lookalikes, AReportOfNsightSystemsSaysHowToExportIt) {
  for (const char* name : {"run.nsys-rep", "run.qdrep"}) {
    EXPECT_THAT(refusal_of(name, "\x01\x02 something of its own"),
                AllOf(HasSubstr("report of Nsight Systems"), HasSubstr("nsys export --type sqlite"),
                      HasSubstr(name)));
  }
  // By content first: a trace may be called anything.
  EXPECT_EQ(refusal_of("trace.nsys-rep", R"({"traceEvents": []})"), "");
}

TEST(Lookalikes, WhatNobodyKnowsIsNoChromeTrace) {
  EXPECT_THAT(refusal_of("headroom-unknown", "nothing"), HasSubstr("no Chrome trace"));
}

}  // namespace
}  // namespace headroom::trace
