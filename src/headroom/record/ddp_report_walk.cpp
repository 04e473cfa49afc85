// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/ddp_report_walk.h"

#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

constexpr const char* kResults = "/benchmark_results";

}  // namespace

void DdpReportWalk::require(char first, const char* what) {
  if (stream_.peek() != first) {
    stream_.refuse((path_.empty() ? "the report" : path_) + ": expected " + what);
  }
}

void DdpReportWalk::walk() {
  bool has_results = false;
  require('{', "an object");
  stream_.members([&](const std::string& key) {
    path_ = "/" + key;
    if (path_ == kResults) {
      has_results = true;
      begin_results();
      walk_models();
    } else {
      take_field(key);
    }
  });
  stream_.finish();
  if (!has_results) throw Error(fmt::format("{}: {}: missing: this is no DDP report", source_, kResults));
}

void DdpReportWalk::walk_models() {
  require('[', "a list");
  std::size_t index = 0;
  stream_.elements([&] {
    path_ = fmt::format("{}/{}", kResults, index++);
    require('{', "an object");
    begin_model();
    walk_model();
    end_model();
  });
}

void DdpReportWalk::walk_model() {
  const std::string path = path_;
  stream_.members([&](const std::string& key) {
    path_ = path + "/" + key;
    if (key == "model") {
      take_model();
    } else if (key == "batch_size") {
      take_batch_size();
    } else if (key == "result") {
      begin_rounds();
      walk_rounds();
    } else {
      take_model_field(key);
    }
  });
  path_ = path;
}

void DdpReportWalk::walk_rounds() {
  const std::string path = path_;
  require('[', "a list");
  std::size_t index = 0;
  stream_.elements([&] {
    path_ = fmt::format("{}/{}", path, index);
    if (begin_round(index++)) {
      walk_round();
      end_round();
    } else {
      stream_.skip_value();
    }
  });
}

void DdpReportWalk::walk_round() {
  const std::string path = path_;
  require('{', "an object");
  stream_.members([&](const std::string& key) {
    path_ = path + "/" + key;
    if (key == "measurements") require('[', "a list");
    if (key == "ranks") {
      take_ranks();
    } else if (key == "measurements") {
      take_measurements();
    } else {
      stream_.skip_value();
    }
  });
  path_ = path;
}

}  // namespace headroom
