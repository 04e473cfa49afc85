// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/read.h"

#include <fmt/format.h>

#include "headroom/base/compressed_file.h"
#include "headroom/base/error.h"
#include "headroom/base/padded_text.h"
#include "headroom/base/text.h"
#include "headroom/trace/readers/document.h"
#include "headroom/trace/readers/metadata.h"

namespace headroom::trace {
namespace {

Trace read_padded(const PaddedText& json, const std::string& source, const ReadOptions& options) {
  Trace trace;
  trace.source = source;
  trace.json_bytes = trace.file_bytes = json.size();
  with_context(fmt::format("cannot read the trace {}", in_quotes(source)),
               [&] { Document(json.view(), options, trace).read(); });
  read_rank_from_name(trace);
  return trace;
}

}  // namespace

Trace read(const std::filesystem::path& path, const ReadOptions& options) {
  const PaddedText json = read_compressed_file(path);
  Trace trace = read_padded(json, path.string(), options);
  std::error_code none;
  trace.file_bytes = std::filesystem::file_size(path, none);
  return trace;
}

Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options) {
  return read_padded(PaddedText(json), source, options);
}

}  // namespace headroom::trace
