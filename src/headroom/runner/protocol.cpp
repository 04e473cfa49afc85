// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {

Json to_json(const BlasLibrary& blas) {
  return json_of(blas);
}

std::optional<BlasLibrary> blas_of_json(const Json& json) {
  return json_member_or<std::optional<BlasLibrary>>(json, "blas", std::nullopt, "");
}

template <>
struct JsonMembers<DeviceDescription> {
  using D = DeviceDescription;
  static constexpr std::tuple kTable{sparse("name", &D::name),
                                     sparse("uuid", &D::uuid),
                                     sparse("pci_bus_id", &D::pci_bus_id),
                                     sparse("driver", &D::driver),
                                     sparse("cuda", &D::cuda),
                                     sparse("compute_capability", &D::compute_capability),
                                     sparse("ecc", &D::ecc),
                                     sparse("mig", &D::mig),
                                     sparse("memory_bytes", &D::memory_bytes),
                                     sparse("l2_bytes", &D::l2_bytes),
                                     sparse("multiprocessors", &D::multiprocessors),
                                     sparse("memory_bus_bits", &D::memory_bus_bits),
                                     sparse("max_sm_mhz", &D::max_sm_mhz),
                                     sparse("max_memory_mhz", &D::max_memory_mhz),
                                     sparse("power_limit_w", &D::power_limit_w)};
};

Json to_json(const DeviceDescription& device) {
  return json_of(device);
}

DeviceDescription device_from_json(const Json& json) {
  return json_to<DeviceDescription>(json, JsonPath("/devices"));
}

template <>
struct JsonMembers<Hello> {
  static constexpr std::tuple kTable{required("headroom_runner", &Hello::name),
                                     required("protocol", &Hello::protocol),
                                     required("version", &Hello::version),
                                     sparse("traces", &Hello::traces),
                                     sparse("ids", &Hello::ids),
                                     sparse("counts", &Hello::counts)};
};

/// Kinds other than "integer" came later; older readers take such an axis for text.
template <>
struct JsonCodec<Axis> {
  static Json write(const Axis& axis) {
    Json json{{"name", axis.name}, {"integer", axis.kind == Axis::Kind::kInteger}, {"values", axis.values}};
    if (axis.kind == Axis::Kind::kFree) json["free"] = true;
    if (axis.kind == Axis::Kind::kWhole) json["whole"] = true;
    if (axis.kind == Axis::Kind::kReal) json["real"] = true;
    if (!axis.types.empty()) json["types"] = json_of(axis.types);
    return json;
  }
  static Axis read(const Json& json, const JsonPath& path) {
    const std::string where = path.text();
    Axis::Kind kind = json_bool(json, "integer", where) ? Axis::Kind::kInteger : Axis::Kind::kText;
    if (json_member_or<bool>(json, "free", false, where)) kind = Axis::Kind::kFree;
    if (json_member_or<bool>(json, "whole", false, where)) kind = Axis::Kind::kWhole;
    if (json_member_or<bool>(json, "real", false, where)) kind = Axis::Kind::kReal;
    return {json_string(json, "name", where), kind,
            json_member_as<std::vector<std::string>>(json, "values", where),
            json_member_or<std::vector<AxisType>>(json, "types", {}, where)};
  }
};

template <>
struct JsonMembers<ExperimentDescription> {
  using D = ExperimentDescription;
  static constexpr std::tuple kTable{required("name", &D::name),
                                     required("summary", &D::summary),
                                     required("metric", &D::metric),
                                     required("device", &D::device),
                                     required("axes", &D::axes),
                                     required("backends", &D::backends),
                                     required("limit", &D::is_limit),
                                     sparse("variants", &D::variants),
                                     sparse("also_metrics", &D::also_metrics),
                                     sparse("model", &D::model),
                                     sparse("on_request", &D::is_on_request),
                                     sparse("each_rank_counts", &D::each_rank_counts),
                                     sparse("threads", &D::threads)};
};

template <>
struct JsonMembers<ReportedSeries> {
  static constexpr std::tuple kTable{
      required("name", &ReportedSeries::name), required("unit", &ReportedSeries::unit),
      required("values", &ReportedSeries::values), required("info", &ReportedSeries::info),
      sparse("numbers", &ReportedSeries::numbers)};
};

template <>
struct JsonMembers<Conclusion> {
  static constexpr std::tuple kTable{
      required("notes", &Conclusion::notes), required("series", &Conclusion::series),
      sparse("wrong", &Conclusion::wrong), sparse("changed", &Conclusion::changed)};
};

namespace {

template <typename Message>
Message message_of(const Json& json, std::string_view where = "") {
  return json_to<Message>(json, JsonPath(where));
}

template <typename Message>
Message checked_message(Message message) {
  if (const std::string what = invalid_number_text(message); !what.empty()) throw Error("it " + what);
  return message;
}

void require_valid_axes(const ExperimentDescription& description) {
  std::set<std::string> names;
  double points = 1;
  for (const Axis& axis : description.axes) {
    if (!names.insert(axis.name).second) throw Error("it has the axis " + quote(axis.name) + " twice");
    points *= std::max<double>(1, static_cast<double>(axis.values.size()));
  }
  if (points > static_cast<double>(kMaxAxisPoints))
    throw Error(fmt::format("its axes have {:.3g} points in all, more than {}", points, kMaxAxisPoints));
}

}  // namespace

ExperimentDescription describe(const Experiment& experiment) {
  return {experiment.name(),     experiment.summary(),       experiment.metric(),
          experiment.device(),   experiment.axes(),          experiment.backends(),
          experiment.is_limit(), experiment.variants(),      experiment.also_metrics(),
          experiment.model(),    experiment.is_on_request(), experiment.is_each_rank_counting(),
          experiment.threads()};
}

Json to_json(const Hello& hello) {
  return json_of(hello);
}

Hello hello_from_json(const Json& json) {
  return message_of<Hello>(json);
}

Json to_json(const ExperimentDescription& description) {
  return json_of(description);
}

ExperimentDescription description_from_json(const Json& json) {
  auto description = message_of<ExperimentDescription>(json);
  if (description.backends.empty()) throw Error("/backends: expected at least one");
  with_context("experiment " + quote(description.name), [&] { require_valid_axes(description); });
  return description;
}

std::vector<ExperimentDescription> descriptions_from_json(const Json& reply) {
  const Json& list = json_array(reply, "experiments", "");
  if (list.size() > kMaxExperiments)
    throw Error(fmt::format("/experiments: {} experiments, more than {}", list.size(), kMaxExperiments));
  std::vector<ExperimentDescription> descriptions;
  std::set<std::string> names;
  for (const Json& description : list) {
    descriptions.push_back(description_from_json(description));
    const std::string& name = descriptions.back().name;
    if (!names.insert(name).second) throw Error("/experiments: " + quote(name) + " appears twice");
  }
  return descriptions;
}

Json to_json(const CaseSpec& spec) {
  return json_of(spec);
}

CaseSpec case_spec_from_json(const Json& json) {
  return message_of<CaseSpec>(json);
}

Json to_json(const PrepareReply& reply) {
  switch (reply.outcome.kind) {
    case Outcome::Kind::kMeasured:
      return {{"outcome", "ready"}, {"info", json_of(reply.info)}};
    case Outcome::Kind::kSkipped:
      return {{"outcome", "skipped"}, {"reason", reply.outcome.reason}};
    case Outcome::Kind::kFailed:
      break;
  }
  return {{"outcome", "failed"}, {"reason", reply.outcome.reason}};
}

PrepareReply prepare_reply_from_json(const Json& json) {
  const std::string outcome = json_string(json, "outcome", "");
  if (outcome == "ready") return {{}, checked_message(json_member_as<CaseInfo>(json, "info", ""))};
  const std::string reason = json_string(json, "reason", "");
  if (outcome == "skipped") return {{Outcome::Kind::kSkipped, reason}, {}};
  if (outcome == "failed") return {{Outcome::Kind::kFailed, reason}, {}};
  throw Error("/outcome: expected ready, skipped or failed, found " + outcome);
}

Json to_json(const SampleReply& reply) {
  if (!reply.failure.empty()) return {{"failed", reply.failure}};
  return json_of(reply.sample);
}

SampleReply sample_reply_from_json(const Json& json) {
  SampleReply reply;
  if (json.contains("failed")) {
    reply.failure = json_string(json, "failed", "");
  } else {
    reply.sample = checked_message(message_of<Sample>(json));
  }
  return reply;
}

Json to_json(const CountReply& reply) {
  if (!reply.failure.empty()) return {{"uncounted", reply.failure}};
  return {{"counts", json_of(reply.counts)}};
}

CountReply count_reply_from_json(const Json& json) {
  if (json.contains("uncounted")) return {{}, json_string(json, "uncounted", "")};
  return {checked_message(json_member_as<WorkCounts>(json, "counts", "")), {}};
}

Json to_json(const Conclusion& conclusion) {
  if (!conclusion.failure.empty()) return {{"failed", conclusion.failure}};
  return json_of(conclusion);
}

Conclusion conclusion_from_json(const Json& json) {
  if (!json.contains("conclusion")) return {};
  const Json& conclusion = json_member(json, "conclusion", "");
  if (conclusion.contains("failed")) return {json_string(conclusion, "failed", "/conclusion")};
  return message_of<Conclusion>(conclusion, "/conclusion");
}

}  // namespace headroom
