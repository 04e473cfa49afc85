// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <cstring>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/headroom_json.h"
#include "headroom/record/formats/oss_v3.h"
#include "headroom/record/formats/seed_csv.h"
#include "headroom/record/formats/seed_jsonl.h"

namespace headroom {
namespace {

std::string names(bool only_readable) {
  std::vector<std::string> all;
  for (const Format& format : all_formats()) {
    if (!only_readable || format.read != nullptr) all.emplace_back(format.name);
  }
  return join(all, ", ");
}

}  // namespace

std::span<const Format> all_formats() {
  static const std::vector<Format> formats{
      headroom_json_format(),
      oss_v3_format(),
      seed_csv_format(),
      seed_jsonl_format(),
  };
  return formats;
}

const Format& format_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Format& format : all_formats()) {
    if (name == format.name) return format;
    known.emplace_back(format.name);
  }
  throw Error("no format " + in_quotes(name) + did_you_mean(name, known) + "; there are: " + names(false));
}

const Format* format_of_file_name(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  const Format* best = nullptr;
  std::size_t best_length = 0;
  for (const Format& format : all_formats()) {
    for (const char* ending : format.endings) {
      if (file.ends_with(ending) && std::strlen(ending) > best_length) {
        best = &format;
        best_length = std::strlen(ending);
      }
    }
  }
  return best;
}

void write_records(const std::filesystem::path& path, const Format& format,
                   const std::vector<Record>& records) {
  if (format.write == nullptr) {
    throw Error("the format " + in_quotes(format.name) + " can be read but not written");
  }
  std::string previous;
  if (format.appends && std::filesystem::is_regular_file(path)) previous = read_file(path);
  write_file_atomically(path, format.write(records, previous, path.string()));
}

std::vector<Record> read_records(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  for (const Format& format : all_formats()) {
    if (format.recognises != nullptr && format.recognises(text)) return format.read(text, path.string());
  }
  throw Error(path.string() + ": not a file of results that headroom knows; it reads: " + names(true));
}

}  // namespace headroom
