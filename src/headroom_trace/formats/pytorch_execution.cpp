// SPDX-License-Identifier: Apache-2.0
// torch.profiler.ExecutionTraceObserver: operators in order, without times unless chakra_trace_link added
// "ts" and "dur".

#include <string>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/text_feed.h"
#include "headroom_trace/readers/event_fields.h"

namespace headroom::trace::readers {
namespace {

class ExecutionReader {
 public:
  explicit ExecutionReader(EventSink& events) : events_(events) {}

  void read(FormatInput& input) {
    JsonDescent json(input.bytes);
    json.object([&](const std::string& key) {
      if (key == "pid") {
        if (const auto pid = json.take()) pid_ = dump_json(*pid);
      } else if (key == "nodes") {
        json.array([&] {
          const std::uint64_t offset = json.offset();
          const auto node = json.take();
          if (node && node->is_object()) return take_node(*node, offset);
          events_.skip(offset,
                       node ? "a node that is not an object" : "a node cannot be read: " + json.problem());
          events_.progress(input.bytes.done(), input.bytes.size());
        });
      }
    });
    if (!json.damage().empty()) events_.cut_off(json.offset(), json.damage());
    events_.finish(json.offset());
  }

 private:
  void take_node(const Json& node, std::uint64_t offset) {
    constexpr std::int64_t kUserScope = 7;  // at::RecordScope::USER_SCOPE
    const std::string_view name = text_at(node, "name");
    if (name.empty()) return events_.skip(offset, "a node without a name");
    // Process and thread nodes.
    if (name.starts_with("[pytorch|")) return events_.count_without_columns();
    arguments_.clear();
    scope_ = 0;
    thread_ = 0;
    take_attributes(node);
    Category category = scope_ == kUserScope ? Category::kUserAnnotation : Category::kCpuOp;
    if (const std::string_view text = text_at(node, "cat"); category_of(text) != Category::kOther)
      category = category_of(text);
    if (!events_.wants(category)) return events_.count_unneeded();
    take_inputs(node);
    add(node, category, offset);
  }

  /// Before schema 1.0.3 they are members of the node.
  void take_attributes(const Json& node) {
    const auto take = [&](std::string_view name, const Json& holder, std::string_view key) {
      const std::int64_t value = integer_at(holder, key);
      if (name == "tid") thread_ = value;
      if (name == "scope") scope_ = value;
      if (name == "seq_id" && value >= 0) arguments_.add(Argument::kSequence, value);
      if (name == "fw_tid" && value > 0) arguments_.add(Argument::kForwardThread, value);
      if (name == "rf_id" && value > 0) arguments_.add(Argument::kExternalId, value);
    };
    for (const std::string_view name : {"tid", "scope", "seq_id", "fw_tid", "rf_id"}) take(name, node, name);
    const Json& attributes = member_at(node, "attrs");
    if (!attributes.is_array()) return;
    for (const Json& attribute : attributes) take(text_at(attribute, "name"), attribute, "value");
  }

  /// To Kineto's form: "float" for "Tensor(float)", "Scalar" for a number.
  void take_inputs(const Json& node) {
    const Json& inputs = member_at(node, "inputs");
    const bool is_new = inputs.is_object();
    const Json& types = is_new ? member_at(inputs, "types") : member_at(node, "input_types");
    const Json& shapes = is_new ? member_at(inputs, "shapes") : member_at(node, "input_shapes");
    const Json& values = is_new ? member_at(inputs, "values") : inputs;
    if (shapes.is_array()) arguments_.add_json(Argument::kDims, dump_json(shapes));
    if (is_new && member_at(inputs, "strides").is_array())
      arguments_.add_json(Argument::kStrides, dump_json(member_at(inputs, "strides")));
    if (types.is_array()) {
      Json kineto = Json::array();
      for (const Json& type : types) {
        std::string text = type.is_string() ? type.string() : "";
        if (text.starts_with("Tensor(") && text.ends_with(")")) {
          text = text.substr(7, text.size() - 8);
        } else if (text == "Int" || text == "Double" || text == "Bool") {
          text = "Scalar";
        }
        kineto.push_back(text);
      }
      arguments_.add_json(Argument::kTypes, dump_json(kineto));
    }
    if (values.is_array()) {
      Json kineto = Json::array();
      std::size_t i = 0;
      for (const Json& value : values) {
        const bool is_tensor = types.is_array() && i < types.size() && types[i].is_string() &&
                               contains(types[i].string(), "Tensor");
        kineto.push_back(is_tensor ? std::string() : value.is_string() ? value.string() : dump_json(value));
        ++i;
      }
      arguments_.add_json(Argument::kValues, dump_json(kineto));
    }
  }
  void add(const Json& node, Category category, std::uint64_t offset);

  EventSink& events_;
  EventArguments arguments_;
  std::string pid_ = "0";
  std::int64_t scope_ = 0, thread_ = 0, order_ = 0;
};

void ExecutionReader::add(const Json& node, Category category, std::uint64_t offset) {
  const auto time_at = [&](const char* key) {
    const Json& member = member_at(node, key);
    return member.is_number() ? parse_microseconds(dump_json(member)) : std::nullopt;
  };
  const auto start = time_at("ts");
  auto length = time_at("dur");
  if (!length) length = time_at("inclusive_dur");
  std::string tid = std::to_string(thread_);
  if (is_gpu_work(category)) {
    tid = std::to_string(integer_at(node, "stream", 0));
    arguments_.add(Argument::kStream, integer_at(node, "stream", 0));
    arguments_.add(Argument::kDevice, 0);
  }
  events_.add({.category = category,
               .name = text_at(node, "name"),
               .place = {is_gpu_work(category) ? "0" : pid_, tid},
               .start_ns = start ? *start : order_++,
               .duration_ns = start && length && *length >= 0 ? *length : 0,
               .arguments = arguments_,
               .offset = offset});
}

bool is_execution(std::string_view first) {
  const std::size_t at = first.find_first_not_of(" \t\r\n");
  if (at == first.npos || first[at] != '{' || contains(first, "\"traceEvents\"")) return false;
  return contains(first, "\"schema\"") && contains(first, "\"nodes\"");
}

}  // namespace

namespace format {

extern const FileFormat pytorch_execution{
    "an execution trace of PyTorch", is_execution,
    [](FormatInput& input, EventSink& events) { ExecutionReader(events).read(input); }, Writer::kPyTorch};

}  // namespace format
}  // namespace headroom::trace::readers
