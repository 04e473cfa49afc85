// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/collectives_protocol.h"

#include "headroom/runner/idle_answer.h"
#include "headroom/runner/json_integer.h"
#include "headroom/runner/json_numbers.h"

namespace headroom {
Json to_json(const CollectiveSetup& setup) {
  return {{"op", setup.op},
          {"bytes", setup.bytes},
          {"dtype", setup.dtype},
          {"ranks", setup.ranks},
          {"seed", setup.seed}};
}

CollectiveSetup collective_setup_from_json(const Json& json) {
  CollectiveSetup setup;
  setup.op = json_string(json, "op", "");
  setup.bytes = json_integer<std::int64_t>(json, "bytes", "", 1);
  setup.dtype = json_string(json, "dtype", "");
  setup.ranks = json_integer<int>(json, "ranks", "", 1);
  setup.seed = json_integer<std::uint64_t>(json, "seed", "");
  return setup;
}

Json to_json(const CollectiveReady& ready) {
  if (ready.idle) return {{"idle", true}};
  return {{"bytes", ready.bytes}, {"how", ready.how}, {"skipped", ready.skipped}};
}

CollectiveReady collective_ready_from_json(const Json& json) {
  CollectiveReady ready;
  ready.idle = is_idle(json);
  if (ready.idle) return ready;
  ready.bytes = json_integer<std::int64_t>(json, "bytes", "");
  ready.how = json_string(json, "how", "");
  ready.skipped = json_string(json, "skipped", "");
  return ready;
}

Json to_json(const CollectiveSamples& samples) {
  if (samples.idle) return {{"idle", true}};
  return {{"ns", samples.ns}, {"wrong", samples.wrong}};
}

CollectiveSamples collective_samples_from_json(const Json& json) {
  CollectiveSamples samples;
  samples.idle = is_idle(json);
  if (samples.idle) return samples;
  samples.ns = json_numbers(json, "ns", "");
  samples.wrong = json_string(json, "wrong", "");
  return samples;
}

}  // namespace headroom
