// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline_json.h"

#include "headroom/report/interval_json.h"

namespace headroom {
namespace {

Json case_json(const RooflineCase& one) {
  Json json{{"name", one.name},
            {"backend", one.backend},
            {"runner", one.runner},
            {"dtype", one.dtype},
            {"device", one.device},
            {"caches", one.caches},
            {"threads", one.threads},
            {"flop_per_byte", one.intensity},
            {"gflops", one.gflops},
            {"unit", one.unit},
            {"low", low_of(one.interval)},
            {"high", high_of(one.interval)},
            {"n", one.samples},
            {"bandwidth_gb_s", one.bandwidth},
            {"bytes", one.counted ? "counted" : "declared"},
            {"limit", nullptr}};
  if (one.counted) {
    json["counted_bytes"] = {{"value", one.counted->bytes},
                             {"low", one.counted->low},
                             {"high", one.counted->high},
                             {"n", one.counted->passes}};
    json["declared_flop_per_byte"] = one.counted->declared_intensity;
  }
  if (one.limit) {
    json["limit"] = {{"name", limit_name(*one.limit)},
                     {"share", one.limit->fraction},
                     {"low", low_of(one.limit->interval)},
                     {"high", high_of(one.limit->interval)},
                     {"unstable", one.limit->unstable}};
  }
  return json;
}

Json roof_json(const Roof& roof) {
  const bool is_peak = roof.kind == Roof::Kind::kPeak;
  return {{"name", name_of(roof)},
          {"kind", is_peak ? "peak" : "bandwidth"},
          {"what", roof.what},
          {"level", roof.level},
          {"device", roof.device},
          {"threads", roof.threads},
          {"rate", roof.rate},
          {"unit", unit_of(roof)},
          {"low", low_of(roof.interval)},
          {"high", high_of(roof.interval)},
          {"n", roof.samples},
          {"source", roof.source}};
}

}  // namespace

Json roofline_json(const Roofline& roofline) {
  Json cases = Json::array(), roofs = Json::array(), left_out = Json::array();
  for (const RooflineCase& one : roofline.cases) cases.push_back(case_json(one));
  for (const Roof& roof : roofline.roofs) roofs.push_back(roof_json(roof));
  for (const auto& [name, reason] : roofline.left_out)
    left_out.push_back({{"name", name}, {"reason", reason}});
  return {{"headroom_roofline", {{"schema", 1}}},
          {"work", source_of_bytes(roofline)},
          {"findings", roofline.findings},
          {"cases", std::move(cases)},
          {"roofs", std::move(roofs)},
          {"left_out", std::move(left_out)}};
}

}  // namespace headroom
