// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/formats/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_trace/readers/chrome_trace.h"
#include "headroom_trace/readers/device_timelines.h"
#include "headroom_trace/readers/event_rewriter.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/readers/trace_assembly.h"

namespace headroom::trace::readers {
namespace {

constexpr const char* kGiveATrace = "give a trace written by a profiler";

struct Magic {
  std::string_view bytes;
  std::size_t at;
  const char* what;
  const char* advice = kGiveATrace;
};

constexpr std::array kMagics{
    Magic{"\x7f"
          "ELF",
          0, "a program or library (ELF)"},
    Magic{"MZ", 0, "a Windows program"},
    Magic{"\x89PNG\r\n\x1a\n", 0, "a PNG image"},
    Magic{"\xff\xd8\xff", 0, "a JPEG image"},
    Magic{"GIF8", 0, "a GIF image"},
    Magic{"%PDF-", 0, "a PDF document"},
    Magic{"PERFILE2", 0, "perf.data of Linux perf", "view it with `perf script`; give a GPU trace here"},
    Magic{std::string_view("NVR\0", 4), 0, "an Nsight Compute report",
          "it covers single kernels; record a timeline with Nsight Systems or torch.profiler"},
    Magic{"ustar", 257, "a tar archive", "unpack it and give the trace in it"},
    Magic{"\xfd"
          "7zXZ",
          0, "xz data", "unpack it (xz -d)"},
    Magic{"BZh", 0, "bzip2 data", "unpack it (bzip2 -d)"},
    Magic{"\x04\x22\x4d\x18", 0, "lz4 data", "unpack it (lz4 -d)"},
    Magic{"7z\xbc\xaf\x27\x1c", 0, "a 7z archive", "unpack it and give the trace in it"},
    Magic{"PAR1", 0, "a Parquet file",
          "export the profile as SQLite: nsys export --type sqlite REPORT.nsys-rep"},
    Magic{"ARROW1", 0, "an Arrow file",
          "export the profile as SQLite: nsys export --type sqlite REPORT.nsys-rep"},
    Magic{"\x89HDF\r\n\x1a\n", 0, "an HDF5 file",
          "export the profile as SQLite: nsys export --type sqlite REPORT.nsys-rep"},
    Magic{"\x93NUMPY", 0, "a NumPy array"},
    Magic{"#!", 0, "a script"},
    Magic{"!<arch>\n", 0, "a static library"},
    Magic{"QDSTRM", 0, "a raw Nsight Systems recording (.qdstrm)",
          "import it (QdstrmImporter), then nsys export --type sqlite REPORT.nsys-rep"},
};

[[noreturn]] void refuse(std::string_view what, std::string_view advice) {
  throw Error(fmt::format("not a trace: it looks like {}; {}", what, advice));
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::ranges::equal(text.substr(0, lower.size()), lower,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

bool is_table(std::string_view text, char separator) {
  std::size_t lines = 0;
  std::ptrdiff_t columns = 0;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos && lines < 3;
       text.remove_prefix(end + 1), ++lines) {
    const std::ptrdiff_t here = std::ranges::count(text.substr(0, end), separator);
    if (here == 0 || (lines > 0 && here != columns)) return false;
    columns = here;
  }
  return lines >= 2;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

/// By extension: the first bytes are undocumented.
void refuse_nsight_report(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending != ".nsys-rep" && ending != ".qdrep") return;
  refuse("an Nsight Systems report",
         fmt::format("export it and give the result: nsys export --type sqlite {}", path.string()));
}

/// Throws Error, with advice, for known formats without a reader.
void refuse_lookalike(std::string_view first, const std::filesystem::path& path) {
  const std::size_t start = std::min(first.find_first_not_of(" \t\r\n"), first.size());
  const std::string_view text = first.substr(start);
  if (text.starts_with('{') || text.starts_with('[') || text.empty() || text.starts_with("\xEF\xBB\xBF"))
    return;
  refuse_nsight_report(path);
  for (const Magic& magic : kMagics) {
    if (first.size() > magic.at && first.substr(magic.at).starts_with(magic.bytes))
      refuse(magic.what, magic.advice);
  }
  const auto byte = [&](std::size_t at) {
    return at < first.size() ? static_cast<unsigned char>(first[at]) : 0U;
  };
  if (byte(0) == 0x80 && byte(1) >= 2 && byte(1) <= 5)
    refuse("a Python pickle, but not a PyTorch memory snapshot",
           "give a file written by torch.cuda.memory._dump_snapshot(), or a trace");
  if (starts_with_ignoring_case(text, "<!doctype html") || starts_with_ignoring_case(text, "<html"))
    refuse("a page (HTML)", "give the trace itself, not a page that shows it");
  if (text.starts_with("<?xml")) refuse("XML", kGiveATrace);
  if (!is_printable(first)) return;
  if (is_table(text, ',')) refuse("a table (CSV)", "give the trace that the table was made from");
  if (is_table(text, '\t')) refuse("a table (TSV)", "give the trace that the table was made from");
}

}  // namespace

// In the order tried.
#define HEADROOM_TRACE_FORMATS(FORMAT) \
  FORMAT(perfetto)                     \
  FORMAT(xplane)                       \
  FORMAT(nsight)                       \
  FORMAT(memory_snapshot)              \
  FORMAT(rocprofv3)                    \
  FORMAT(pytorch_execution)            \
  FORMAT(chakra)

namespace format {

#define HEADROOM_DECLARE(name) extern const FileFormat name;
HEADROOM_TRACE_FORMATS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace format

const FileFormat* format_of(std::string_view first) {
#define HEADROOM_ENTRY(name) &format::name,
  static constexpr const FileFormat* kFormats[] = {HEADROOM_TRACE_FORMATS(HEADROOM_ENTRY)};
#undef HEADROOM_ENTRY
  for (const FileFormat* one : kFormats) {
    if (one->is(first)) return one;
  }
  return nullptr;
}

}  // namespace headroom::trace::readers

namespace headroom::trace {
namespace {

using OpenSource = std::function<std::unique_ptr<ByteSource>()>;

void read_by_format(PeekedSource& bytes, const std::filesystem::path& path, const OpenSource& again,
                    const ReadOptions& options, Trace& trace, const readers::RewriteSink* sink) {
  const readers::FileFormat* const format = readers::format_of(bytes.first());
  if (format == nullptr) {
    readers::refuse_lookalike(bytes.first(), path);
    return readers::Document(bytes, options, trace, sink).read();
  }
  ReadOptions own = options;
  own.needs = own.needs | format->always;
  const auto events =
      sink == nullptr ? readers::column_sink(trace, own) : readers::chrome_json_sink(trace, own, *sink);
  readers::FormatInput input{bytes, bytes.first(), path, bytes.size() > 0 ? again : nullptr};
  with_context(fmt::format("as {}", format->name), [&] { format->read(input, *events); });
  if (format->writer != Writer::kUnknown) trace.writer = format->writer;
}

Trace read_once(const OpenSource& open, const std::string& source, const std::filesystem::path& path,
                const ReadOptions& options, const readers::RewriteSink* sink, bool& is_repeatable) {
  Trace trace;
  trace.source = source;
  PeekedSource bytes(open(), readers::kFirstBytes);
  with_context(fmt::format("cannot read the trace {}", quote(source)), [&] {
    try {
      read_by_format(bytes, path, open, options, trace, sink);
    } catch (const Error& error) {
      // A damaged file may not look like a trace.
      if (bytes.damage().empty()) throw;
      throw Error(bytes.damage());
    }
  });
  is_repeatable = bytes.size() > 0;
  trace.file_bytes = bytes.size() > 0 ? bytes.size() : bytes.done();
  if (const std::string damage = bytes.damage(); !damage.empty()) {
    trace.is_complete = false;
    ++trace.problems.count;
    trace.problems.first.push_back({trace.json_bytes, damage});
  }
  readers::read_rank_from_name(trace);
  return trace;
}

Trace read_source(const OpenSource& open, const std::string& source, const std::filesystem::path& path,
                  const ReadOptions& options, const readers::RewriteSink* sink = nullptr) {
  bool is_repeatable = false;
  Trace trace = read_once(open, source, path, options, sink, is_repeatable);
  if (sink != nullptr || !is_repeatable || !readers::wants_launch_arrows(trace, options.needs)) return trace;
  ReadOptions with_arrows = options;
  with_arrows.needs = with_arrows.needs | Needs::kFlows;
  trace = {};
  trace = read_once(open, source, path, with_arrows, sink, is_repeatable);
  trace.events_skipped_by_need += trace.flows.size();
  trace.flows.clear();
  return trace;
}

}  // namespace

Trace read(const std::filesystem::path& path, const ReadOptions& options) {
  return read_source([&] { return open_unpacked(path); }, path.string(), path, options);
}

Trace rewrite(const std::filesystem::path& path, const readers::RewriteSink& sink,
              const ReadOptions& options) {
  return read_source([&] { return open_unpacked(path); }, path.string(), path, options, &sink);
}

Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options) {
  return read_source([&] { return memory_source(json); }, source, {}, options);
}

}  // namespace headroom::trace
