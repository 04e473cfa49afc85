// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/csv.h"

#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

/// Python's csv.reader, default dialect: quotes inside unquoted fields are ordinary, text after a closing
/// quote extends the field, a blank line is an empty row.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  std::vector<CsvRow> rows() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (quoted_) {
        inside_quotes(c);
      } else if (c == '\n' || c == '\r') {
        if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
        end_row();
      } else {
        outside_quotes(c);
      }
    }
    if (quoted_) {
      throw Error(fmt::format("{}: line {}: a quoted field starts here and never ends; close its quote",
                              source_, quote_line_));
    }
    if (row_started_) end_row();
    return std::move(rows_);
  }

 private:
  void inside_quotes(char c) {
    if (c != '"') {
      if (c == '\n') ++line_;
      field_ += c;
    } else if (at_ < text_.size() && text_[at_] == '"') {
      field_ += '"';
      ++at_;
    } else {
      quoted_ = false;
    }
  }

  void outside_quotes(char c) {
    row_started_ = true;
    if (c == ',') {
      end_field();
    } else if (c == '"' && !field_started_) {
      quoted_ = field_started_ = true;
      quote_line_ = line_;
    } else {
      field_ += c;
      field_started_ = true;
    }
  }

  void end_field() {
    row_.push_back(std::move(field_));
    field_.clear();
    field_started_ = false;
  }

  void end_row() {
    if (row_started_) end_field();
    rows_.push_back(std::move(row_));
    row_.clear();
    row_started_ = false;
    ++line_;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, quote_line_ = 1;
  bool quoted_ = false, field_started_ = false, row_started_ = false;
  std::string field_;
  CsvRow row_;
  std::vector<CsvRow> rows_;
};

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& source) {
  return CsvReader(text, source).rows();
}

std::string csv_line(const CsvRow& row) {
  // An empty line would read back as an empty row.
  if (row.size() == 1 && row[0].empty()) return "\"\"\n";
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ',';
    line += csv_field(row[i]);
  }
  return line + '\n';
}

}  // namespace headroom
