// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "full_record.h"
#include "headroom/record/formats.h"

namespace headroom {

/// A file in tests/data/readers.
inline std::string reader_file(const std::string& name) {
  return std::string(HEADROOM_TEST_DATA) + "/readers/" + name;
}

inline std::vector<Record> read_text(const std::string& text) {
  return records_from_text(PaddedText(text), "file");
}

/// What reading the text is refused with.
inline std::string refusal(const std::string& text) {
  return message_of([&] { read_text(text); });
}

inline std::vector<std::string> metric_names(const std::vector<Record>& records) {
  std::vector<std::string> names;
  for (const Record& record : records) names.push_back(record.metric.name);
  return names;
}

}  // namespace headroom
