// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../memory_file.h"
#include "../model_bytes.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/cache_results.h"
#include "headroom/command/cache_run.h"
#include "headroom/command/command_line.h"
#include "headroom/command/command_records.h"
#include "headroom/command/suite.h"
#include "headroom/compare/verdict.h"
#include "headroom/experiment/experiment.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/record/targets.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/track.h"
#include "headroom/workload/llm_file.h"
#include "headroom/workload/stored_model.h"
#include "headroom_trace/readers/read.h"

namespace headroom::strangers {
namespace {

namespace fs = std::filesystem;

void require(bool is_true, const char* what) {
  if (is_true) return;
  fmt::print(stderr, "strangers: {}\n", what);
  std::abort();
}

template <typename Take>
void tolerant(Take&& take) {
  try {
    take();
  } catch (const Error&) {
    // A user error.
  }
}

void take_cache_run(std::string_view bytes) {
  tolerant([&] {
    const ShownCacheRun shown = cache_run_from_json(parse_json(std::string(bytes), "strange"), "strange");
    static_cast<void>(cache_view(shown.request, shown.run).text());
    const Json once = cache_run_json(shown.request, shown.run);
    const ShownCacheRun again = cache_run_from_json(once, "written");
    require(cache_run_json(again.request, again.run) == once, "the run of a cache changed by being kept");
  });
}

void take_results(std::string_view bytes) {
  tolerant([&] {
    const test::MemoryFile file(bytes);
    const std::string once = to_json_text(read_records(file.path()));
    require(to_json_text(records_from_json_text(once, "written")) == once, "records changed by being kept");
  });
}

void take_toml(std::string_view bytes) {
  tolerant([&] { parse_suite(bytes, "a.toml", "/nowhere"); });
  tolerant([&] { parse_targets(bytes, "a.toml"); });
  tolerant([&] { parse_gate_file(bytes, "a.toml"); });
}

template <typename Message>
void require_same(const Message& message, Message (*read)(const Json&)) {
  const Json once = to_json(message);
  require(dump_json(to_json(read(once))) == dump_json(once), "a message changed by being said again");
}

void take_message(std::string_view bytes) {
  Json json;
  try {
    json = parse_json(bytes, "runner");
  } catch (const Error&) {
    return;
  }
  tolerant([&] { require_same(hello_from_json(json), hello_from_json); });
  tolerant([&] { descriptions_from_json(json); });
  tolerant([&] { require_same(description_from_json(json), description_from_json); });
  tolerant([&] { require_same(case_spec_from_json(json), case_spec_from_json); });
  tolerant([&] { require_same(prepare_reply_from_json(json), prepare_reply_from_json); });
  tolerant([&] { require_same(sample_reply_from_json(json), sample_reply_from_json); });
  tolerant([&] { conclusion_from_json(json); });
  tolerant([&] { require_same(device_from_json(json), device_from_json); });
}

void take_journal(std::string_view bytes) {
  GroupResult group;
  for (const std::string& line : split(bytes, '\n'))
    tolerant([&] { replay(parse_json(line, "journal"), group); });
  tolerant([&] { command_records(group, nullptr); });
}

void take_history(std::string_view bytes) {
  static const fs::path path = [] {
    const fs::path folder = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    return folder / fmt::format("headroom-strange-{}.sqlite", ::getpid());
  }();
  std::ofstream(path, std::ios::binary) << bytes;
  tolerant([&] {
    const auto store = open_store(path.string(), StoreAccess::kRead);
    tolerant([&] { store->verify(); });
    tolerant([&] {
      for (const StoredSeries& series : store->series()) tolerant([&] { store->values(series.id); });
    });
    for (const StoredRun& run : store->runs()) tolerant([&] { store->records(run.id); });
  });
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + ending);
}

/// As any format.
void take_trace(std::string_view bytes) {
  tolerant([&] {
    trace::ReadOptions options;
    options.threads = 1;
    const trace::Trace read = trace::read_text(bytes, "a trace", options);
    require(read.events_seen == read.events.size() + read.memory.size() + read.flows.size() +
                                    read.events_without_columns + read.events_skipped_by_need +
                                    read.problems.events_skipped,
            "the events of a trace do not add up");
  });
}

void take_option(std::string_view bytes) {
  tolerant([&] { parse_time_ns(bytes); });
  tolerant([&] { parse_share(bytes); });
  tolerant([&] { parse_bytes(bytes); });
  tolerant([&] { parse_margin(bytes); });
  tolerant([&] { parse_axis_request(bytes); });
  tolerant([&] {
    for (const std::string& word : split_command_line(bytes))
      require(split_command_line(quoted_word(word)) == std::vector{word}, "a word changed by being quoted");
  });
  require(visible(visible(bytes)) == visible(bytes), "text that is visible is spelled once more");
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void require_readable(const StoredModel& model, std::string_view bytes) {
  for (const auto& [name, tensor] : model.tensors) {
    require(tensor.offset <= bytes.size() && tensor.bytes.size() <= bytes.size() - tensor.offset,
            "a tensor lies outside of its file");
    std::vector<float> values(tensor.bytes.size() / block_bytes(tensor.type) * block_size(tensor.type));
    dequantise(tensor.type, tensor.bytes.data(), values);
  }
}

void take_gguf(std::string_view bytes) {
  tolerant([&] {
    const StoredModel model = parse_gguf(bytes_of(bytes), "a.gguf");
    require_readable(model, bytes);
    describe_llm_gguf(model, "a.gguf");
  });
  tolerant([&] {
    const test::MemoryFile file(bytes);
    if (bytes.empty()) return;
    const LlmFile model = open_llm_file(file.path());
    if (llm_bytes(model.config) < std::size_t{1} << 24)
      load_llm_weights(model, model.config.layers, fresh_threads(1));
  });
}

void take_safetensors(std::string_view bytes) {
  tolerant([&] { require_readable(parse_safetensors(bytes_of(bytes), "a.safetensors"), bytes); });
  tolerant([&] { describe_llm_json(std::string(bytes), "config.json"); });
}

std::vector<std::string> gguf_files() {
  std::vector<std::string> files;
  const model_bytes::Sizes sizes{1, 32, 2, 1, 32, 3};
  for (const std::uint32_t type : {0U, 2U, 8U, 30U})
    files.push_back(
        model_bytes::gguf(model_bytes::llama_metadata(sizes), model_bytes::llama_tensors(sizes, type, true)));
  return files;
}

std::vector<std::string> safetensors_files() {
  const model_bytes::Sizes sizes{1, 8, 2, 1, 8, 3};
  return {model_bytes::safetensors(model_bytes::llama_tensors(sizes, 30, false)),
          model_bytes::config_json(sizes)};
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> texts;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string extension = path.extension().string();
    const bool is_text = extension != ".py" && extension != ".md" && extension != ".bin";
    if (entry.is_regular_file() && is_text && path.filename() != "CMakeLists.txt")
      texts.push_back(read_file(path));
  }
  return texts;
}

std::vector<std::string> results() {
  std::vector<std::string> texts = files_below(fs::path(HEADROOM_TEST_DATA) / "readers");
  for (const char* name : {"record_example.json", "record_schema1.json", "record_schema2.json",
                           "record_schema3.json", "record_schema4.json"})
    texts.push_back(read_file(fs::path(HEADROOM_TEST_DATA) / name));
  return texts;
}

std::vector<std::string> toml_files() {
  std::vector<std::string> texts = files_below(fs::path(HEADROOM_TEST_DATA) / "../../suites");
  texts.push_back(read_file(fs::path(HEADROOM_TEST_DATA) / "../../data/targets.toml"));
  return texts;
}

std::vector<std::string> messages() {
  return {
      R"({"headroom_runner":"r","protocol":1,"version":"0","traces":true,"ids":true,"id":7})",
      R"({"experiments":[{"name":"e","summary":"s","metric":"","device":"cpu","axes":[{"name":"D","integer":true,"values":["1","2"]}],"backends":["b"],"limit":false,"variants":{"b":["v"]},"threads":[1,2]}]})",
      R"({"experiment":"e","axes":{"D":"1"},"backend":"b","threads":2,"cold":true,"seed":1,"variant":"v","most_bytes":5})",
      R"({"outcome":"ready","info":{"flops":1,"bytes":2.5e9,"bytes_written":1,"dtype":"f32","copies":3,"verified":true,"max_error":0.1,"tolerance":1,"metrics":[{"name":"m","unit":"u","higher_is_better":true,"amount":1,"is_rate":true}],"inputs":{"x":"bf16[1]"},"notes":{"isa":"a"},"sums_in":"f32"}})",
      R"({"outcome":"failed","reason":"why"})",
      R"({"elapsed_ns":1e5,"iterations":10,"noise":{"steal_ms":0,"switches":1,"faults":2,"mhz":3.5},"device":{"sm_mhz":1,"memory_mhz":2,"power_w":3,"temperature_c":4,"throttle":5},"columns":[1,2]})",
      R"({"released":7,"conclusion":{"notes":{"a":"b"},"series":[{"name":"s","unit":"us","values":[1,2],"info":{"c":"d"}}]}})"};
}

std::vector<std::string> journals() {
  std::string text;
  const auto write = [&](const Json& line) { text += dump_json(line) + "\n"; };
  GroupResult group;
  group.title = "gemv D=64";
  group.cases.resize(2);
  group.limits.resize(1);
  for (Track* track : {&group.cases[0], &group.cases[1], &group.limits[0].track}) {
    track->pids = {11};
    track->readings = {{0, 0, 1000, {}, {}, {1}, {{5, 900, {2}}}}, {1, 0, 1001, {}}};
  }
  GroupJournal(write).note(group);
  group.limits.clear();
  group.of_commands = true;
  for (Track& track : group.cases) {
    track = command_track({.name = "a", .title = "a", .line = "./a", .parameters = {{"x", "1"}}});
    track.readings = {{0, 0, 1e6, {}, {}, std::vector<double>(kFirstCounter + 1, 1)}};
  }
  GroupJournal(write).note(group);
  return {text};
}

std::vector<std::string> cache_runs() {
  CacheRequest request;
  request.suite.name = "mine";
  request.suite.metric = {MetricSource::From::kWall, "", "wall time", "s"};
  request.suite.layers.resize(2);
  request.suite.layers[0].name = "env:MINE";
  request.suite.layers[0].variable = "MINE";
  request.suite.layers[1].name = "pages";
  request.suite.layers[1].kind = LayerSpec::Kind::kPages;
  request.warm_twice = true;
  request.repeat = 2;
  CacheRun run;
  run.parts = {"env:MINE"};
  run.models = {{"a", {}, ""}, {"b", {}, "exit code 1", "a process was left running"}};
  for (const double cold : {2.0, 2.5}) {
    CachePair pair;
    pair.cold = cold;
    pair.warm = 1;
    pair.warm_again = 1.1;
    pair.layers = {{{0, 0}, {3, 300}, {4, 900}, ""}, {{}, {}, {}, "1 page was there"}};
    pair.without = {{{3, 300}, 1.5}};
    pair.elsewhere = {{1, 10}, "somewhere"};
    run.models[0].pairs.push_back(pair);
  }
  return {dump_json(cache_run_json(request, run))};
}

std::vector<std::string> histories() {
  const fs::path path = fs::temp_directory_path() / fmt::format("headroom-seed-{}.sqlite", ::getpid());
  {
    const auto store = open_store(path.string());
    auto records = read_records(fs::path(HEADROOM_TEST_DATA) / "record_example.json");
    std::vector<Record> run{records.front()};
    auto environment = std::make_shared<Environment>();
    for (const std::uint64_t time : {1000, 2000}) {
      environment = std::make_shared<Environment>(*environment);
      environment->timestamp = time;
      run.front().environment = environment;
      store->append(run);
    }
  }
  std::vector<std::string> seeds{read_file(path)};
  for (const char* ending : {"", "-wal", "-shm"}) fs::remove(path.string() + ending);
  return seeds;
}

std::vector<std::string> traces(std::string_view names) {
  std::vector<std::string> texts;
  for (const std::string& name : split(names, ' '))
    texts.push_back(read_file(fs::path(HEADROOM_TEST_DATA) / "trace" / "formats" / name));
  return texts;
}

std::vector<std::string> options() {
  return {"1.5 min",
          "64KiB",
          "1%",
          "D=1024,4096:8192:x2",
          "a 'b c' \"d\\\"e\" \\f",
          "x=1..3,bf16",
          "500ms",
          "\x1b[31mred\xe2\x80\xae"};
}

}  // namespace

std::span<const Input> inputs() {
  static const std::array all{
      Input{"results", take_results, results},
      Input{"cache_run", take_cache_run, cache_runs},
      Input{"toml", take_toml, toml_files},
      Input{"message", take_message, messages},
      Input{"journal", take_journal, journals},
      Input{"history", take_history, histories},
      Input{"option", take_option, options},
      Input{"gguf", take_gguf, gguf_files},
      Input{"safetensors", take_safetensors, safetensors_files},
      Input{"perfetto", take_trace, [] { return traces("kineto.pftrace rocprofv3.pftrace"); }},
      Input{"xplane", take_trace, [] { return traces("gpu.xplane.pb jax_cpu.xplane.pb"); }},
      Input{"nsight", take_trace, [] { return traces("nsight.sqlite"); }},
      Input{"memory_snapshot", take_trace,
            [] { return traces("snapshot_protocol2.pickle snapshot_protocol5.pickle"); }},
      Input{"rocprof", take_trace, [] { return traces("rocprofv3.json"); }},
      Input{"chakra", take_trace, [] { return traces("chakra.et"); }},
      Input{"pytorch_execution", take_trace, [] { return traces("pytorch_execution.json"); }}};
  return all;
}

}  // namespace headroom::strangers
