// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/rank_summary_json.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_trace/report/real_json.h"

namespace headroom::trace {
namespace {

constexpr std::size_t count_of(FindingKind) {
  return kFindingKinds;
}
constexpr std::size_t count_of(PathClass) {
  return kPathClasses;
}
constexpr std::size_t count_of(DeviceTimeStatus) {
  return kDeviceTimeStatuses;
}

class FieldWriter {
 public:
  template <typename... Values>
  void operator()(const Values&... values) {
    (list_.push_back(json(values)), ...);
  }
  Json list() { return std::move(list_); }

 private:
  template <typename Value>
  static Json json(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      return static_cast<std::size_t>(value);
    } else if constexpr (std::is_floating_point_v<Value>) {
      return real_json(value);
    } else {
      return value;
    }
  }
  Json list_ = Json::array();
};

class FieldReader {
 public:
  explicit FieldReader(const Json& list) : list_(list) {}
  template <typename... Values>
  void operator()(Values&... values) {
    (read(list_.at(next_++), values), ...);
  }

 private:
  template <typename Value>
  static void read(const Json& json, Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      const auto number = json.get<std::size_t>();
      if (number >= count_of(Value{})) throw Error(fmt::format("unknown kind: {}", number));
      value = static_cast<Value>(number);
    } else if constexpr (std::is_floating_point_v<Value>) {
      value = real_of(json);
    } else {
      json.get_to(value);
    }
  }
  const Json& list_;
  std::size_t next_ = 0;
};

// Field lists for both directions.

template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, CollectiveCall>
void fields(Value& call, auto& visit) {
  visit(call.group, call.group_ranks, call.group_size, call.index, call.collective, call.kernel, call.dtype,
        call.elements_in, call.elements_out, call.bytes, call.device, call.stream, call.iteration,
        call.start_ns, call.duration_ns, call.exposed_ns, call.ready_for_ns, call.exposed_tail_ns);
}
template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, Finding>
void fields(Value& finding, auto& visit) {
  visit(finding.kind, finding.recoverable_ns, finding.further_ns, finding.share, finding.partner,
        finding.together_ns, finding.rank, finding.step, finding.at_ns, finding.op, finding.module,
        finding.line, finding.evidence, finding.fix);
}
template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, OpTime>
void fields(Value& op, auto& visit) {
  visit(op.name, op.device_ns, op.host_ns);
}
template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, PathStretch>
void fields(Value& stretch, auto& visit) {
  visit(stretch.from_ns, stretch.to_ns, stretch.kind);
}

template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, StepShares>
void fields(Value& shares, auto& visit) {
  visit(shares.step_ns, shares.steps, shares.known, shares.busy, shares.exposed_communication,
        shares.exposed_copies, shares.not_recorded);
  for (auto& share : shares.idle_during) visit(share);
}

template <typename Value>
Json fields_json(const Value& value) {
  FieldWriter writer;
  fields(value, writer);
  return writer.list();
}

template <typename Value>
Json list_json(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(fields_json(value));
  return list;
}

template <typename Value>
std::vector<Value> list_from(const Json& json) {
  std::vector<Value> values;
  for (const Json& one : json) {
    FieldReader reader(one);
    fields(values.emplace_back(), reader);
  }
  return values;
}

}  // namespace

Json rank_summary_json(const RankSummary& summary) {
  Json json{{"steps", summary.steps},
            {"start_ns", summary.recorded.start},
            {"end_ns", summary.recorded.end},
            {"shares", fields_json(summary.shares)},
            {"calls", list_json(summary.calls)},
            {"findings", list_json(summary.findings)},
            {"ops", list_json(summary.ops)}};
  if (summary.path) {
    json["path"] = {{"window", summary.path->window},
                    {"start_ns", summary.path->path.start_ns},
                    {"end_ns", summary.path->path.end_ns},
                    {"stretches", list_json(summary.path->path.stretches)}};
  }
  return json;
}

RankSummary rank_summary_from(const Json& json) {
  RankSummary summary;
  json.at("steps").get_to(summary.steps);
  json.at("start_ns").get_to(summary.recorded.start);
  json.at("end_ns").get_to(summary.recorded.end);
  FieldReader shares(json.at("shares"));
  fields(summary.shares, shares);
  summary.calls = list_from<CollectiveCall>(json.at("calls"));
  summary.findings = list_from<Finding>(json.at("findings"));
  summary.ops = list_from<OpTime>(json.at("ops"));
  if (json.contains("path")) {
    const Json& path = json.at("path");
    summary.path = NamedPath{path.at("window").string(),
                             {path.at("start_ns").get<std::int64_t>(), path.at("end_ns").get<std::int64_t>(),
                              list_from<PathStretch>(path.at("stretches"))}};
  }
  return summary;
}

}  // namespace headroom::trace
