// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/cache_estimate.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::string with_unit(double value, const std::string& unit) {
  if (unit == "s") return format_time_ns(value * 1e9);
  return unit.empty() ? format_number(value) : format_number(value) + " " + unit;
}

std::string half_width(const CacheEstimate& estimate) {
  if (!estimate.interval) return "";
  return format_percent(relative_half_width(*estimate.interval, estimate.value));
}

/// The begin of a name that is a whole command line.
std::string shortened(const std::string& name) {
  constexpr std::size_t kShown = 48;
  if (display_width(name) <= kShown) return name;
  std::size_t end = kShown - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80) --end;
  return name.substr(0, end) + "…";
}

std::string factor(double value) {
  return format_number(value) + "x";
}

std::string range(const std::optional<Interval>& interval) {
  return interval ? factor(interval->low) + " to " + factor(interval->high) : "";
}

/// The least and the most of something over all pairs: "12", or "12-14".
std::string over_pairs(const CacheRun& run, std::size_t layer, LayerContent LayerReading::*when,
                       const std::function<std::string(const LayerContent&)>& text,
                       const std::function<std::uint64_t(const LayerContent&)>& number) {
  const LayerContent *least = nullptr, *most = nullptr;
  for (const ModelRun& model : run.models) {
    for (const CachePair& pair : model.pairs) {
      const LayerContent& content = pair.layers[layer].*when;
      if (least == nullptr || number(content) < number(*least)) least = &content;
      if (most == nullptr || number(content) > number(*most)) most = &content;
    }
  }
  if (least == nullptr) return "";
  return number(*least) == number(*most) ? text(*least) : text(*least) + " - " + text(*most);
}

std::string files_over_pairs(const CacheRun& run, std::size_t layer, LayerContent LayerReading::*when) {
  return over_pairs(
      run, layer, when, [](const LayerContent& content) { return std::to_string(content.files); },
      [](const LayerContent& content) { return content.files; });
}

std::string bytes_over_pairs(const CacheRun& run, std::size_t layer, LayerContent LayerReading::*when) {
  return over_pairs(
      run, layer, when,
      [](const LayerContent& content) { return format_bytes(static_cast<double>(content.bytes)); },
      [](const LayerContent& content) { return content.bytes; });
}

std::size_t pair_count(const CacheRun& run) {
  std::size_t count = 0;
  for (const ModelRun& model : run.models) count += model.pairs.size();
  return count;
}

Table model_table(const CacheRequest& request, const CacheRun& run) {
  const MetricSource& metric = request.suite.metric;
  std::vector<Table::Column> columns{{"model"},
                                     {"cold", Align::kRight},
                                     {"± 95 %", Align::kRight},
                                     {"warm", Align::kRight},
                                     {"± 95 %", Align::kRight},
                                     {"speed-up", Align::kRight},
                                     {"95 % interval", Align::kRight},
                                     {"saved", Align::kRight},
                                     {"pairs", Align::kRight, "pairs"}};
  if (request.warm_twice) columns.push_back({"warm / warm again", Align::kRight});
  Table table(columns);
  for (const ModelRun& model : run.models) {
    if (model.pairs.empty() || !model.failure.empty()) continue;
    const CacheEstimate cold = estimate_of(cold_values(model)), warm = estimate_of(warm_values(model));
    const auto gain = speed_up(model, metric.direction);
    const auto saved = gain ? saved_share(*gain, metric.direction) : std::nullopt;
    std::vector<std::string> cells{shortened(model.model),
                                   with_unit(cold.value, metric.unit),
                                   half_width(cold),
                                   with_unit(warm.value, metric.unit),
                                   half_width(warm),
                                   gain ? factor(gain->value) : "",
                                   gain ? range(gain->interval) : "",
                                   saved ? format_percent(*saved) : "",
                                   std::to_string(model.pairs.size())};
    if (const auto again = settling(model, metric.direction)) {
      cells.push_back(factor(again->value) + (again->interval ? " (" + range(again->interval) + ")" : ""));
    }
    table.row(std::move(cells));
  }
  const auto mean = suite_speed_up(run, metric.direction);
  if (mean && table.size() > 1) {
    table.rule();
    table.row({"geometric mean", "", "", "", "", factor(mean->value), range(mean->interval), "",
               std::to_string(mean->count)});
  }
  return table;
}

Table layer_table(const CacheRequest& request, const CacheRun& run) {
  Table table({{"cache layer"},
               {"made cold by"},
               {"files before", Align::kRight},
               {"after cold", Align::kRight},
               {"after warm", Align::kRight},
               {"bytes before", Align::kRight},
               {"after cold", Align::kRight},
               {"after warm", Align::kRight}});
  for (std::size_t i = 0; i < request.suite.layers.size(); ++i) {
    const LayerSpec& layer = request.suite.layers[i];
    std::vector<std::string> cells{layer.name, layer.method()};
    for (const auto when : {&LayerReading::before, &LayerReading::after_cold, &LayerReading::after_warm}) {
      cells.push_back(files_over_pairs(run, i, when));
    }
    for (const auto when : {&LayerReading::before, &LayerReading::after_cold, &LayerReading::after_warm}) {
      cells.push_back(bytes_over_pairs(run, i, when));
    }
    table.row(std::move(cells));
  }
  return table;
}

/// What each cache is worth: runs without that one alone, against the warm run among them.
Table part_table(const CacheRequest& request, const CacheRun& run) {
  const MetricSource& metric = request.suite.metric;
  Table table({{"model"},
               {"cold alone"},
               {"held", Align::kRight},
               {metric.name, Align::kRight},
               {"over warm", Align::kRight},
               {"95 % interval", Align::kRight},
               {"saves", Align::kRight}});
  for (const ModelRun& model : run.models) {
    for (std::size_t part = 0; part < run.parts.size(); ++part) {
      const auto worth = worth_of_part(model, part, metric.direction);
      if (!worth || !model.failure.empty()) continue;
      const PartSamples samples = part_samples(model, part);
      table.row({shortened(model.model), run.parts[part],
                 format_bytes(static_cast<double>(samples.held.bytes)),
                 with_unit(median(samples.without), metric.unit), factor(worth->value),
                 range(worth->interval), with_unit(saved_by_part(samples, metric.direction), metric.unit)});
    }
  }
  return table;
}

void add_parts(Sheet& sheet, const CacheRequest& request, const CacheRun& run) {
  Table table = part_table(request, run);
  std::vector<std::string> empty;
  for (std::size_t part = 0; part < run.parts.size(); ++part) {
    const bool held = std::ranges::any_of(
        run.models, [&](const ModelRun& model) { return !part_samples(model, part).without.empty(); });
    if (!held) empty.push_back(run.parts[part]);
  }
  if (table.size() > 0) {
    sheet.table(std::move(table))
        .notes(
            "  each is a run with that cache alone taken away, put back after it; what one loses another may "
            "have: they do not add up\n");
  }
  if (!empty.empty()) sheet.notes("  held nothing: " + join(empty, ", ") + "\n");
}

/// What is in TMPDIR that no layer has, of the pair that left most of it; empty where there is nothing.
std::string left_over_text(const CacheRun& run) {
  const LeftOver* most = nullptr;
  for (const ModelRun& model : run.models) {
    for (const CachePair& pair : model.pairs) {
      if (most == nullptr || pair.elsewhere.content.bytes > most->content.bytes) most = &pair.elsewhere;
    }
  }
  if (most == nullptr || most->content.files == 0) return "";
  const std::string where = most->where.empty() ? "" : ", most of it in TMPDIR/" + most->where;
  return fmt::format(
      "in no layer: commands left {} file{}, {}, in their TMPDIR{}; it was empty before each cold run, too\n",
      most->content.files, most->content.files == 1 ? "" : "s",
      format_bytes(static_cast<double>(most->content.bytes)), where);
}

/// Whether any pair shows `holds` for the layer.
bool any_pair(const CacheRun& run, std::size_t layer, const std::function<bool(const LayerReading&)>& holds) {
  return std::ranges::any_of(run.models, [&](const ModelRun& model) {
    return std::ranges::any_of(model.pairs, [&](const CachePair& pair) { return holds(pair.layers[layer]); });
  });
}

/// Where cold was not cold: what says so, a line each.
std::string warm_lines(const CacheRequest& request, const CacheRun& run) {
  std::string text;
  for (std::size_t i = 0; i < request.suite.layers.size(); ++i) {
    for (const ModelRun& model : run.models) {
      const auto warm = std::ranges::find_if(
          model.pairs, [i](const CachePair& pair) { return !pair.layers[i].warmth.empty(); });
      if (warm == model.pairs.end()) continue;
      text += fmt::format("NOT COLD: {} before a cold run of {}: {}\n", request.suite.layers[i].name,
                          model.model, warm->layers[i].warmth);
    }
  }
  for (const ModelRun& model : run.models) {
    const std::string unnamed = unnamed_cache(model, request.suite.metric.direction);
    if (unnamed.empty() || !model.failure.empty()) continue;
    text += fmt::format("NOT COLD: {}: {}; name it with --layer, or pages where it is the page cache\n",
                        shortened(model.model), unnamed);
  }
  return text;
}

/// What the layers say about how they were used.
std::string layer_lines(const CacheRequest& request, const CacheRun& run) {
  std::string text;
  for (std::size_t i = 0; i < request.suite.layers.size(); ++i) {
    const LayerSpec& layer = request.suite.layers[i];
    if (layer.kind == LayerSpec::Kind::kPages) continue;
    if (!any_pair(run, i, [](const LayerReading& reading) { return reading.after_cold.files > 0; })) {
      text += fmt::format("unused: no command left anything in {}\n", layer.name);
    } else if (any_pair(run, i, [](const LayerReading& reading) {
                 return reading.after_warm.bytes > 2 * reading.after_cold.bytes;
               })) {
      text += fmt::format("still filling: warm runs more than doubled what was in {}\n", layer.name);
    }
  }
  return text + left_over_text(run);
}

std::string cold_sentence(const CacheRequest& request, const CacheRun& run) {
  const bool drops_pages = std::ranges::any_of(request.suite.layers, [](const LayerSpec& layer) {
    return layer.kind == LayerSpec::Kind::kPages && layer.path.empty();
  });
  return fmt::format("cold was cold: before each of the {} cold runs every layer was {}", pair_count(run),
                     drops_pages ? "empty or dropped" : "empty");
}

/// "warm 3.21x as fast as cold (2.90x to 3.50x)"; whether the interval holds 1 is said.
void answer_worth(Sheet& sheet, const CacheRequest& request, const CacheRun& run) {
  const Direction direction = request.suite.metric.direction;
  const auto text = [&](const std::string& what, const CacheEstimate& gain) {
    const std::string over = gain.interval ? " (95 % interval " + range(gain.interval) + ")"
                                           : ", of too few pairs to say how sure that is";
    const bool undecided = gain.interval && gain.interval->contains(1);
    return fmt::format("{}: warm is {} as {} as cold{}{}", what, factor(gain.value),
                       direction == Direction::kLowerIsBetter ? "fast" : "good", over,
                       undecided ? ": not told apart" : "");
  };
  std::vector<std::pair<std::string, CacheEstimate>> gains;
  for (const ModelRun& model : run.models) {
    if (model.pairs.empty() || !model.failure.empty()) continue;
    if (const auto gain = speed_up(model, direction)) gains.emplace_back(shortened(model.model), *gain);
  }
  if (gains.size() == 1) sheet.answer(text(gains.front().first, gains.front().second));
  const auto mean = suite_speed_up(run, direction);
  if (gains.size() < 2 || !mean) return;
  sheet.answer(text(fmt::format("geometric mean of {} models", mean->count), *mean));
  const auto least = std::ranges::min_element(gains, {}, [](const auto& gain) { return gain.second.value; });
  sheet.answer(fmt::format("least for {}: {}", least->first, factor(least->second.value)));
}

}  // namespace

Sheet cache_sheet(const CacheRequest& request, const CacheRun& run) {
  const Suite& suite = request.suite;
  Sheet sheet;
  const auto failed =
      std::ranges::count_if(run.models, [](const ModelRun& model) { return !model.failure.empty(); });
  if (failed > 0) {
    sheet.answer(fmt::format("{} of {} model{} failed: the last lines say why", failed, run.models.size(),
                             run.models.size() == 1 ? "" : "s"),
                 Tone::kBad);
  }
  if (pair_count(run) > 0) {
    answer_worth(sheet, request, run);
    const std::string warm = warm_lines(request, run);
    if (warm.empty()) {
      sheet.answer(cold_sentence(request, run));
    } else {
      sheet.answer(warm, Tone::kBad);
    }
    sheet.title(fmt::format("{}: {} ({}), cold against warm, {} order", suite.name, suite.metric.name,
                            suite.metric.unit, suite.random_order ? "models in random" : "models in listed"));
    sheet.table(model_table(request, run));
    const bool few = std::ranges::any_of(
        run.models, [](const ModelRun& model) { return model.pairs.size() > 1 && model.pairs.size() < 6; });
    if (few) sheet.notes("  fewer than 6 pairs: intervals are Student's t of the logarithms\n");
    if (request.repeat == 1)
      sheet.notes("  one pair says nothing about its spread: --repeat 6 gives intervals\n");
    if (!run.parts.empty()) add_parts(sheet, request, run);
    sheet.table(layer_table(request, run)).notes(layer_lines(request, run), Tone::kPlain);
  }
  for (const ModelRun& model : run.models) {
    if (!model.left_running.empty())
      sheet.notes(fmt::format("{}: {}\n", shortened(model.model), model.left_running), Tone::kPlain);
    if (model.failure.empty()) continue;
    sheet.notes(
        fmt::format("FAILED: {}: {}{}\n", shortened(model.model), model.failure,
                    model.pairs.empty() ? "" : fmt::format(" ({} pairs before that)", model.pairs.size())),
        Tone::kBad);
  }
  return sheet;
}

}  // namespace headroom
