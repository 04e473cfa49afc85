// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/identity.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/dtype.h"
#include "headroom/record/operation_rate.h"

namespace headroom {
namespace {

std::string axis_identity(const AxisValues::value_type& axis) {
  // Not every tool calls a dtype the same.
  std::string text = axis.first;
  text += '=';
  return text += axis.first == "dtype" ? torch_dtype(axis.second.text()) : axis.second.text();
}

/// identity() is a JSON array whose last element is the metric: what stands before it.
std::string case_identity(const Record& record) {
  std::vector<std::string> axes;
  axes.reserve(record.axes.size());
  for (const auto& axis : record.axes) axes.push_back(axis_identity(axis));
  std::ranges::sort(axes);
  // A JSON array keeps the parts apart whatever characters they hold.
  std::string text;
  text.reserve(192);
  text += '[';
  const auto add = [&text](const std::string& part) {
    append_json_string(text, part);
    text += ',';
  };
  add(record.benchmark.name);
  add(record.benchmark.mode);
  add(record.model.name);
  add(record.model.backend);
  text += '[';
  std::ranges::for_each(axes, add);
  if (!axes.empty()) text.pop_back();
  text += "],";
  add(torch_dtype(record.benchmark.dtype));
  add(record.device);
  add(record.caches);
  text += std::to_string(record.threads);
  return text;
}

/// What is_same_metric() says is one: as older records have it, so that the history goes on.
const std::string& metric_identity(const Record& record) {
  static const std::string kRate = kFloatRate;
  return is_operation_rate(record.metric.name) ? kRate : record.metric.name;
}

/// Of the text as identity() has it: bytes that are no UTF-8 are all the same there.
std::size_t text_hash(const std::string& text) {
  const bool is_ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) return std::hash<std::string_view>()(text);
  std::string written;
  append_json_string(written, text);
  return std::hash<std::string_view>()(written);
}

/// What makes no other identity, however it is written, is not looked at.
bool written_alike(const Record& a, const Record& b) {
  return a.model.name == b.model.name && a.axes == b.axes && a.benchmark.name == b.benchmark.name &&
         a.benchmark.mode == b.benchmark.mode && a.benchmark.dtype == b.benchmark.dtype &&
         a.model.backend == b.model.backend && a.device == b.device && a.caches == b.caches &&
         a.threads == b.threads;
}

}  // namespace

std::string identity(const Record& record) {
  std::string text = case_identity(record);
  text += ',';
  append_json_string(text, metric_identity(record));
  return text += ']';
}

std::size_t case_hash(const Record& record) {
  std::size_t hash = 0;
  const auto add = [&hash](std::size_t part) { hash = (hash ^ part) * 0x9e3779b97f4a7c15U; };
  for (const std::string* part : {&record.benchmark.name, &record.benchmark.mode, &record.model.name,
                                  &record.model.backend, &record.device, &record.caches})
    add(text_hash(*part));
  add(text_hash(torch_dtype(record.benchmark.dtype)));
  add(static_cast<std::size_t>(record.threads));
  std::size_t axes = 0;  // in any order
  for (const auto& axis : record.axes) axes += text_hash(axis_identity(axis));
  add(axes);
  return hash ^ hash >> 32;
}

bool same_case(const Record& a, const Record& b) {
  return written_alike(a, b) || case_identity(a) == case_identity(b);
}

std::size_t identity_hash(const Record& record) {
  return case_hash(record) * 31 + text_hash(metric_identity(record));
}

bool same_identity(const Record& a, const Record& b) {
  return (metric_identity(a) == metric_identity(b) && written_alike(a, b)) || identity(a) == identity(b);
}

}  // namespace headroom
