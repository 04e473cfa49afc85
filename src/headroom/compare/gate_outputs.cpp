// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/gate_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/diff_report.h"
#include "headroom/report/metric_text.h"
#include "headroom/tables/table.h"

namespace headroom {
namespace {

/// Untrusted text on one line, of bounded length.
std::string gated_text(std::string_view text) {
  constexpr std::size_t kLongest = 400;
  std::string line = abridged(text, kLongest);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return visible(line);
}

std::string side_value(double value, const Comparison& comparison) {
  if (!std::isfinite(value)) return "-";
  return value_text(value, comparison.unit, comparison.baseline->metric.name);
}

std::string verdict_words(const Comparison& comparison, GateOutcome outcome) {
  if (!comparison.problem.empty()) return comparison.problem;
  const std::string reason = undecided_reason(comparison), margin = format_percent(comparison.margin);
  std::string words = to_string(comparison.verdict);
  if (comparison.verdict == Verdict::kSame) words += " within " + margin;
  if (comparison.verdict == Verdict::kRegression) words += " beyond " + margin;
  const bool is_undirected = comparison.direction == Direction::kUnknown;
  if (!reason.empty() && outcome == GateOutcome::kPassed && !is_undirected) {
    words = "not slower by more than " + margin;
  } else if (!reason.empty()) {
    words += ": " + reason;
  }
  if (is_undirected) words += "; not gated: the better direction is unknown";
  for (const TailVerdict& tail : comparison.tails) {
    words +=
        fmt::format("; p{:g}: ratio {}, {} (margin {})", tail.margin.percentile, format_ratio(tail.ratio),
                    to_string(tail.verdict), format_percent(tail.margin.margin));
  }
  return words;
}

std::size_t count_of(const GateReport& report, GateOutcome outcome) {
  return static_cast<std::size_t>(std::ranges::count(report.cases, outcome, &GatedCase::outcome));
}

std::string sides(const GateReport& report) {
  return gated_text(report.candidate) + " against " + gated_text(report.baseline);
}

/// XML 1.0 has no U+FFFE and U+FFFF.
std::string xml(std::string_view text) {
  std::string out = markup_text(gated_text(text), " ");
  for (const char* none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = 0; (at = out.find(none, at)) != std::string::npos;)
      out.replace(at, 3, "\xEF\xBF\xBD");
  }
  return out;
}

/// The schema of Jenkins' xUnit plugin, junit-10.xsd.
std::string gate_junit(const GateReport& report) {
  struct Element {
    GateOutcome outcome;
    const char *name, *type;
  };
  constexpr std::array kElements{Element{GateOutcome::kRegressed, "failure", "regression"},
                                 Element{GateOutcome::kFailed, "error", "failed"},
                                 Element{GateOutcome::kOpen, "skipped", "inconclusive"}};
  const std::string counts =
      fmt::format(R"(tests="{}" failures="{}" errors="{}")", report.cases.size(),
                  count_of(report, GateOutcome::kRegressed), count_of(report, GateOutcome::kFailed));
  std::string out = fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="headroom" {}>
<testsuite name="{}" {} skipped="{}">
<properties><property name="gate" value="{}"/></properties>
)",
      counts, xml(sides(report)), counts, count_of(report, GateOutcome::kOpen), xml(report.result.sentence));
  for (const GatedCase& one : report.cases) {
    out += fmt::format(R"(<testcase classname="headroom" name="{}">)", xml(one.name + ", " + one.metric));
    const auto* element = std::ranges::find(kElements, one.outcome, &Element::outcome);
    const std::string sentence = xml(one.sentence());
    if (element == kElements.end()) {
      out += fmt::format("<system-out>{}</system-out>", sentence);
    } else {
      out +=
          fmt::format(R"(<{0} type="{1}" message="{2}">{2}</{0}>)", element->name, element->type, sentence);
    }
    out += "</testcase>\n";
  }
  return out + "</testsuite>\n</testsuites>\n";
}

/// Escapes what means anything in Markdown or HTML, or makes a link; numbers and sentences stay readable.
std::string markdown(std::string_view text) {
  const std::string line = gated_text(text);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i], next = i + 1 < line.size() ? line[i + 1] : ' ';
    const bool is_word = static_cast<unsigned char>(c) >= 0x80 || is_digit(c) || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z');
    const bool is_plain = is_word || contains(" -=,/()+%", std::string_view(&c, 1)) ||
                          (c == ':' && next == ' ') ||
                          (c == '.' && i > 0 && is_digit(line[i - 1]) && is_digit(next));
    out += is_plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return out;
}

/// GitHub mentions nobody, and no issue, in code.
std::string code(std::string_view text) {
  return text.empty() ? "" : "<code>" + markdown(text) + "</code>";
}

std::string markdown_cell(std::string_view text) {
  return text.find_first_of("@#") == std::string_view::npos ? markdown(text) : code(text);
}

constexpr std::size_t kMaxComment = 60'000;

/// As many rows as fit into the limit with `taken` bytes.
std::string case_table(const std::vector<const GatedCase*>& cases, std::size_t taken) {
  std::string out =
      "| case | metric | baseline | candidate | ratio (95 %) | verdict |\n|---|---|---:|---:|---:|---|\n";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const GatedCase& one = *cases[i];
    const std::string row =
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(one.name), markdown_cell(one.metric),
                    markdown_cell(one.baseline), markdown_cell(one.candidate), markdown_cell(one.ratio),
                    markdown_cell(one.verdict));
    if (taken + out.size() + row.size() > kMaxComment)
      return out + fmt::format("| and {} more | | | | | |\n", cases.size() - i);
    out += row;
  }
  return out;
}

bool stands_out(const GatedCase& one) {
  return one.is_change || one.outcome == GateOutcome::kRegressed || one.outcome == GateOutcome::kFailed;
}

const char* sign(ExitCode exit) {
  return exit == ExitCode::kSuccess ? "✅" : exit == ExitCode::kFailure ? "❌" : "❔";
}

/// Escapes the message or a property of a workflow command as GitHub's toolkit does.
std::string command_text(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : gated_text(text))
    out += c == '%' || (is_property && (c == ':' || c == ',')) ? fmt::format("%{:02X}", static_cast<int>(c))
                                                               : std::string(1, c);
  return out;
}

std::string annotation(const char* command, std::string_view title, std::string_view message) {
  return fmt::format("::{} title={}::{}\n", command, command_text(title, true), command_text(message, false));
}

/// GitHub shows ten annotations of each kind for a step.
std::string gate_annotations(const GateReport& report) {
  constexpr std::ptrdiff_t kMax = 9;
  const ExitCode exit = report.result.exit;
  const char* command = exit == ExitCode::kSuccess        ? "notice"
                        : exit == ExitCode::kInconclusive ? "warning"
                                                          : "error";
  std::string out = annotation(command, "headroom", report.result.sentence + " (" + sides(report) + ")");
  for (const char* kind : {"error", "warning"}) {
    std::ptrdiff_t left = kMax;
    for (const GatedCase& one : report.cases) {
      const bool is_open = one.outcome == GateOutcome::kOpen;
      if (one.outcome == GateOutcome::kPassed || is_open != (kind == std::string_view("warning"))) continue;
      if (left-- > 0) out += annotation(kind, one.name, one.sentence());
    }
  }
  return out;
}

constexpr std::array kGateForms{GateForm{"junit", gate_junit}, GateForm{"comment", gate_comment},
                                GateForm{"github", gate_annotations}};

}  // namespace

std::string GatedCase::sentence() const {
  if (baseline.empty()) return fmt::format("{}: {}", metric, verdict);
  return fmt::format("{} {} to {}{}{}: {}", metric, baseline, candidate, ratio.empty() ? "" : ", ratio ",
                     ratio, verdict);
}

GatedCase gated_case(std::string name, const Comparison& comparison, GateOutcome outcome) {
  GatedCase one{
      outcome, is_change(comparison.verdict), std::move(name), comparison.baseline->metric.name, {}, {}, {},
      {}};
  one.verdict = verdict_words(comparison, outcome);
  if (!comparison.problem.empty()) return one;
  one.baseline = side_value(comparison.baseline_value, comparison);
  one.candidate = side_value(comparison.test_value, comparison);
  if (!comparison.ratio) return one;
  one.ratio = format_ratio(comparison.ratio->ratio);
  if (const auto& interval = comparison.ratio->interval)
    one.ratio += fmt::format(" ({} to {})", format_ratio(interval->low), format_ratio(interval->high));
  return one;
}

GateReport gate_report(const DiffReport& report) {
  GateReport out{report.baseline, {}, *report.gate, {}, diff_summary(report)};
  const std::vector<std::string> names = compared_names(report);
  for (std::size_t i = 0; i < report.comparisons.size(); ++i) {
    const Comparison& comparison = report.comparisons[i];
    out.cases.push_back(gated_case(names[i], comparison, gate_outcome(comparison)));
  }
  for (const DiffTest& test : report.tests) {
    out.candidate += (out.candidate.empty() ? "" : ", ") + test.label;
    for (const Record* record : test.only_baseline) {
      const std::string& backend = record->model.backend;
      out.cases.push_back({GateOutcome::kOpen,
                           false,
                           case_name(*record) + (backend.empty() ? "" : " " + backend),
                           record->metric.name,
                           {},
                           {},
                           {},
                           "missing from " + test.label});
    }
  }
  return out;
}

std::span<const GateForm> gate_forms() {
  return kGateForms;
}

std::string gate_comment(const GateReport& report) {
  std::vector<const GatedCase*> shown, folded;
  for (const GatedCase& one : report.cases) (stands_out(one) ? shown : folded).push_back(&one);
  // Worst first, else as compared.
  std::ranges::stable_sort(shown, {},
                           [](const GatedCase* one) { return one->outcome == GateOutcome::kPassed; });
  std::string out =
      fmt::format("<!-- headroom -->\n{} **headroom: {}**\n\n{} against {}\n\n", sign(report.result.exit),
                  markdown(report.result.sentence), code(report.candidate), code(report.baseline));
  const std::string details =
      View().drawing(abridged(report.details, kMaxComment / 6)).text({.markdown = true});
  if (!shown.empty()) out += case_table(shown, out.size() + details.size()) + "\n";
  const std::size_t open = count_of(report, GateOutcome::kOpen);
  out += fmt::format("<details><summary>{}{}</summary>\n\n",
                     folded.empty() ? "Details" : counted(folded.size(), "case") + " without a change",
                     open == 0 ? "" : fmt::format(", {} of them inconclusive", open));
  if (!folded.empty()) out += case_table(folded, out.size() + details.size()) + "\n";
  return out + details + "\n</details>\n";
}

}  // namespace headroom
