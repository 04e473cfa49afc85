// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

/// A start or end tag of XML; entities in attributes are decoded.
struct XmlTag {
  std::string name;
  StringMap attributes;
  bool starts = false, ends = false;
  std::size_t line = 0;
};

std::string decoded(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string plain;
  while (!text.empty()) {
    const auto entity =
        std::ranges::find_if(kEntities, [&](const auto& entry) { return text.starts_with(entry.first); });
    plain += entity == kEntities.end() ? text.front() : entity->second;
    text.remove_prefix(entity == kEntities.end() ? 1 : entity->first.size());
  }
  return plain;
}

/// Reads the tags that Catch2 writes: no CDATA, no document type.
class XmlTags {
 public:
  XmlTags(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

  std::optional<XmlTag> next() {
    for (;;) {
      const std::size_t open = text_.find('<', at_);
      if (open == std::string_view::npos) return std::nullopt;
      move_to(open);
      if (rest().starts_with("<!--")) {
        move_past("-->");
      } else if (rest().starts_with("<?")) {
        move_past("?>");
      } else {
        return tag();
      }
    }
  }

  std::string where() const { return fmt::format("{}: line {}", source_, line_); }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void move_to(std::size_t position) {
    line_ += static_cast<std::size_t>(std::ranges::count(text_.substr(at_, position - at_), '\n'));
    at_ = position;
  }
  void move_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) refuse(fmt::format("expected {}", end));
    move_to(found + end.size());
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: {}; the XML is damaged or cut off", where(), what));
  }
  void skip_blanks() { move_to(std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size())); }

  std::string word() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n=/>\"<", at_), text_.size());
    const std::string found(text_.substr(at_, end - at_));
    if (found.empty()) refuse("expected a name");
    move_to(end);
    return found;
  }

  XmlTag tag() {
    XmlTag tag;
    tag.line = line_;
    ++at_;
    tag.ends = at('/');
    tag.starts = !tag.ends;
    if (tag.ends) ++at_;
    tag.name = word();
    for (skip_blanks(); !at('>'); skip_blanks()) {
      if (at('/')) {
        tag.ends = true;
        ++at_;
        continue;
      }
      const std::string key = word();
      if (!rest().starts_with("=\"")) refuse("expected the value of the attribute " + quote(key));
      at_ += 2;
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) refuse("expected a quote");
      tag.attributes[key] = decoded(text_.substr(at_, end - at_));
      move_to(end + 1);
    }
    ++at_;
    return tag;
  }

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0, line_ = 1;
};

double catch2_mean(const XmlTag& tag, const std::string& where) {
  const auto found = tag.attributes.find("value");
  const std::optional<double> ns = found == tag.attributes.end() ? std::nullopt : to_number(found->second);
  if (!ns) throw Error(where + ", mean: expected the attribute value, a number");
  return require_time(*ns, where + ", mean");
}

/// Names of the enclosing test case and sections, and of the benchmark.
bool is_scope(const XmlTag& tag) {
  return tag.name == "TestCase" || tag.name == "Section" || tag.name == "BenchmarkResults";
}

bool is_catch2(const FileOutline& outline) {
  const std::string_view head = outline.text().substr(0, std::size_t{64} << 10);
  return outline.is_text() && (contains(head, "<Catch name=") || contains(head, "<Catch2TestRun"));
}

std::vector<Record> read_catch2(const PaddedText& text, const std::string& source) {
  XmlTags tags(text.view(), source);
  std::vector<Record> records;
  std::vector<std::string> scopes;
  bool closed = false;
  while (const std::optional<XmlTag> tag = tags.next()) {
    closed = tag->ends && tag->name.starts_with("Catch");
    const std::string where = fmt::format("{}: line {}", source, tag->line);
    if (tag->starts && is_scope(*tag)) {
      const auto name = tag->attributes.find("name");
      scopes.push_back(name == tag->attributes.end() ? "" : name->second);
      if (tag->name == "BenchmarkResults") {
        records.push_back(headline_record("Catch2", join(scopes, "/"), "latency", "ns"));
        records.back().device = "cpu";
        records.back().outcome = {Outcome::Kind::kFailed, "the file has no mean of it"};
      }
    }
    if (tag->starts && tag->name == "mean" && !records.empty()) {
      set_value(records.back(), catch2_mean(*tag, where));
      records.back().notes = {"The value is a mean: the file has no samples."};
      records.back().outcome = {};
    }
    if (tag->starts && tag->name == "failed" && !records.empty()) {
      const auto message = tag->attributes.find("message");
      records.back().outcome.reason = message == tag->attributes.end() ? "it failed" : message->second;
    }
    if (tag->ends && is_scope(*tag) && !scopes.empty()) scopes.pop_back();
  }
  if (!closed) throw Error(tags.where() + ": the XML is cut off: expected the end of its first element");
  if (records.empty()) throw Error(source + ": has no benchmark; run the program with --benchmark-samples");
  return records;
}

}  // namespace

/// Catch2's --reporter xml (read): means only.
Format catch2_format() {
  return {.name = "catch2",
          .summary = "XML of Catch2",
          .recognises = is_catch2,
          .read = read_catch2,
          .one_run = true};
}

}  // namespace headroom
