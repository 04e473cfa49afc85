// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/read.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/document.h"
#include "headroom/trace/readers/metadata.h"
#include "headroom/trace/readers/rewrite.h"

namespace headroom::trace {
namespace {

Trace read_source(readers::ByteSource& bytes, const std::string& source, const ReadOptions& options,
                  const readers::RewriteSink* sink = nullptr) {
  Trace trace;
  trace.source = source;
  with_context(fmt::format("cannot read the trace {}", in_quotes(source)), [&] {
    try {
      readers::Document(bytes, options, trace, sink).read();
    } catch (const Error& error) {
      // What is left of a damaged file may not even look like a trace.
      if (bytes.damage().empty()) throw;
      throw Error(bytes.damage());
    }
  });
  trace.file_bytes = bytes.size() > 0 ? bytes.size() : bytes.done();
  if (const std::string damage = bytes.damage(); !damage.empty()) {
    trace.is_complete = false;
    ++trace.problems.count;
    trace.problems.first.push_back({trace.json_bytes, damage});
  }
  readers::read_rank_from_name(trace);
  return trace;
}

}  // namespace

Trace read(const std::filesystem::path& path, const ReadOptions& options) {
  return read_source(*readers::open_json(path), path.string(), options);
}

Trace rewrite(const std::filesystem::path& path, const readers::RewriteSink& sink,
              const ReadOptions& options) {
  return read_source(*readers::open_json(path), path.string(), options, &sink);
}

Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options) {
  return read_source(*readers::from_memory(json), source, options);
}

}  // namespace headroom::trace
