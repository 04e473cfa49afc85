// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "headroom/base/json_reader.h"

namespace headroom {

/// Walks over a report of PyTorch's DDP benchmark:
///
///     {FIELD: ..., "benchmark_results": [{"model", "batch_size", "result": [{"ranks": [...],
///                                                                            "measurements": [...]}]}]}
///
/// Each take_ function must consume the stream's current value. Members come in any order; the last duplicate
/// counts.
class DdpReportWalk {
 public:
  virtual ~DdpReportWalk() = default;
  DdpReportWalk(const DdpReportWalk&) = delete;
  DdpReportWalk& operator=(const DdpReportWalk&) = delete;

 protected:
  DdpReportWalk(JsonReader& stream, std::string source) : stream_(stream), source_(std::move(source)) {}

  /// Reads the whole stream. Throws Error: not JSON (byte offset), wrong type (path), no benchmark_results.
  void walk();

  virtual void begin_results() {}
  virtual void take_field(const std::string& key) = 0;
  virtual void begin_model() = 0;
  virtual void take_model() = 0;
  virtual void take_batch_size() = 0;
  virtual void take_model_field(const std::string& /*key*/) { stream_.skip_value(); }
  virtual void end_model() {}
  virtual void begin_rounds() = 0;
  /// Returns false to skip the round.
  virtual bool begin_round(std::size_t index) = 0;
  virtual void take_ranks() = 0;
  virtual void take_measurements() = 0;
  virtual void end_round() {}

  JsonReader& stream() { return stream_; }
  const std::string& source() const { return source_; }
  std::string where() const { return source_ + ": " + path_; }
  void require(char first, const char* what);

 private:
  void walk_models();
  void walk_model();
  void walk_rounds();
  void walk_round();

  JsonReader& stream_;
  std::string source_;
  std::string path_;
};

}  // namespace headroom
