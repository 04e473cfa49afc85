// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/read.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/document.h"
#include "headroom/trace/readers/formats.h"
#include "headroom/trace/readers/lookalikes.h"
#include "headroom/trace/readers/metadata.h"
#include "headroom/trace/readers/peeked_source.h"
#include "headroom/trace/readers/rewrite.h"

namespace headroom::trace {
namespace {

using OpenSource = std::function<std::unique_ptr<readers::ByteSource>()>;

void read_as_what_it_is(readers::PeekedSource& bytes, const std::filesystem::path& path,
                        const OpenSource& again, const ReadOptions& options, Trace& trace,
                        const readers::RewriteSink* sink) {
  const readers::FileFormat* const format = readers::format_of(bytes.first());
  if (format == nullptr) {
    readers::refuse_lookalike(bytes.first(), path);
    return readers::Document(bytes, options, trace, sink).read();
  }
  readers::EventWriter events(trace, options, sink);
  readers::FormatInput input{bytes, bytes.first(), path, bytes.size() > 0 ? again : nullptr};
  with_context(fmt::format("as {}", format->name), [&] { format->read(input, events); });
}

Trace read_source(const OpenSource& open, const std::string& source, const std::filesystem::path& path,
                  const ReadOptions& options, const readers::RewriteSink* sink = nullptr) {
  Trace trace;
  trace.source = source;
  readers::PeekedSource bytes(open(), readers::kFirstBytes);
  with_context(fmt::format("cannot read the trace {}", in_quotes(source)), [&] {
    try {
      read_as_what_it_is(bytes, path, open, options, trace, sink);
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
  return read_source([&] { return readers::open_json(path); }, path.string(), path, options);
}

Trace rewrite(const std::filesystem::path& path, const readers::RewriteSink& sink,
              const ReadOptions& options) {
  return read_source([&] { return readers::open_json(path); }, path.string(), path, options, &sink);
}

Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options) {
  return read_source([&] { return readers::from_memory(json); }, source, {}, options);
}

}  // namespace headroom::trace
