// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "headroom/files/json_stream.h"

namespace headroom {

/// Walks over a report of PyTorch's DDP benchmark:
///
///     {FIELD: ..., "benchmark_results": [{"model", "batch_size", "result": [{"ranks": [...],
///                                                                            "measurements": [...]}]}]}
///
/// What the parts mean is for the one who derives from it: each take_ function must take the value that the
/// stream stands at. Members may come in any order; of one that is there twice the last counts.
class DdpReportWalk {
 public:
  virtual ~DdpReportWalk() = default;
  DdpReportWalk(const DdpReportWalk&) = delete;
  DdpReportWalk& operator=(const DdpReportWalk&) = delete;

 protected:
  DdpReportWalk(JsonStream& stream, std::string source) : stream_(stream), source_(std::move(source)) {}

  /// Reads the whole stream. Throws Error: not JSON (byte offset), no object or list where the form above has
  /// one (path), no benchmark_results.
  void walk();

  virtual void begin_results() {}
  virtual void take_field(const std::string& key) = 0;
  virtual void begin_model() = 0;
  virtual void take_model() = 0;
  virtual void take_batch_size() = 0;
  /// Any other member of a model.
  virtual void take_model_field(const std::string& /*key*/) { stream_.skip_value(); }
  virtual void end_model() {}
  virtual void begin_rounds() = 0;
  /// Returns false to skip the round at this index.
  virtual bool begin_round(std::size_t index) = 0;
  virtual void take_ranks() = 0;
  virtual void take_measurements() = 0;
  virtual void end_round() {}

  JsonStream& stream() { return stream_; }
  const std::string& source() const { return source_; }
  /// Returns the current position: "FILE: /benchmark_results/0/result/1/ranks".
  std::string where() const { return source_ + ": " + path_; }
  void require(char first, const char* what);

 private:
  void walk_models();
  void walk_model();
  void walk_rounds();
  void walk_round();

  JsonStream& stream_;
  std::string source_;
  std::string path_;
};

}  // namespace headroom
