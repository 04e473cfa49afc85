// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/headroom_json.h"

#include "headroom/base/text.h"
#include "headroom/record/codec.h"

namespace headroom {
namespace {

std::string write(const std::vector<Record>& records, std::string_view, const std::string&) {
  return to_json_text(records);
}

/// "headroom" is the first member of what we write; whitespace may differ where another program wrote it
/// anew.
bool recognises(std::string_view text) {
  text = trimmed(text.substr(0, 256));
  if (!text.starts_with('{')) return false;
  return trimmed(text.substr(1)).starts_with("\"headroom\"");
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  return records_from_json_text(text, source);
}

}  // namespace

Format headroom_json_format() {
  return {.name = "headroom-json",
          .summary = "everything about every record, all samples included",
          .endings = {".json"},
          .write = write,
          .recognises = recognises,
          .read = read,
          .read_file = records_from_json_file};
}

}  // namespace headroom
