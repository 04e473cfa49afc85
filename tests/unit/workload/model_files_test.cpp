// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "../error_message.h"
#include "../model_bytes.h"
#include "headroom/base/files.h"
#include "headroom/experiment/bf16.h"
#include "headroom/workload/llm_file.h"
#include "headroom/workload/llm_model.h"
#include "headroom/workload/llm_workload.h"
#include "headroom/workload/stored_model.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using namespace model_bytes;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

fs::path write_in(const fs::path& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name, std::ios::binary) << text;
  return folder / name;
}

class ModelFiles : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    return write_in(folder_, name, text);
  }
  LlmFile open_tensors(const std::vector<Tensor>& tensors) const {
    return open_llm_file(write("a.gguf", gguf(llama_metadata(sizes_), tensors)));
  }
  std::string message(const fs::path& path) const {
    return test::message_of([&] { open_llm_file(path); });
  }
  template <typename Change>
  std::string message_of_changed(Change&& change) const {
    std::vector<Tensor> tensors = llama_tensors(sizes_, 30, true);
    change(tensors);
    return message(write("a.gguf", gguf(llama_metadata(sizes_), tensors)));
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  const Sizes sizes_;
};

std::string whole_gguf(std::uint32_t type = 30) {
  return gguf(llama_metadata({}), llama_tensors({}, type, true));
}

TEST(Gguf, SaysWhatIsInIt) {
  for (const std::uint32_t version : {2U, 3U}) {
    const std::string text = gguf(llama_metadata({}), llama_tensors({}, 8, true), version);
    const StoredModel model = parse_gguf(bytes_of(text), "a.gguf");
    EXPECT_EQ(model.tensors.size(), 2 * 9 + 3U);
    const StoredTensor* key = model.find("blk.1.attn_k.weight");
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(key->type, StoredType::kQ8Block);
    EXPECT_THAT(key->shape, ElementsAre(32, 64));
    EXPECT_EQ(key->bytes.size(), 32U * 2 * 34);
    EXPECT_EQ(reinterpret_cast<const char*>(key->bytes.data()), text.data() + key->offset);
    EXPECT_EQ(std::get<std::uint64_t>(model.metadata.at("llama.block_count")), 2U);
    EXPECT_EQ(std::get<ModelArray>(model.metadata.at("tokenizer.ggml.tokens")).count, 2U);
    EXPECT_EQ(std::get<std::string>(model.metadata.at("general.architecture")), "llama");
  }
}

TEST(Gguf, CutAnywhereIsRefusedWithASentence) {
  const std::string whole = gguf(llama_metadata({}), {tensor("a", {2, 3}, 0, 1), tensor("b", {4}, 0, 1)});
  EXPECT_NO_THROW(parse_gguf(bytes_of(whole), "a.gguf"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_THROW(parse_gguf(bytes_of(cut), "a.gguf"), Error) << size;
  }
  const std::string cut = whole.substr(0, whole.size() - 1);
  EXPECT_THAT(test::message_of([&] { parse_gguf(bytes_of(cut), "a.gguf"); }),
              AllOf(HasSubstr("a.gguf: tensor 'b' [4] of F32 takes 16 bytes from byte "),
                    HasSubstr("it is truncated")));
}

TEST(Gguf, AbsurdSizesAreRefused) {
  const auto message_of = [](std::string text, std::size_t at, std::uint64_t value) {
    std::memcpy(text.data() + at, &value, sizeof value);
    return test::message_of([&] { parse_gguf(bytes_of(text), "a.gguf"); });
  };
  const std::string whole = whole_gguf();
  for (const std::uint64_t value : {std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_THAT(message_of(whole, 8, value), HasSubstr("tensors, which do not fit"));
    EXPECT_THAT(message_of(whole, 16, value), HasSubstr("metadata entries, which do not fit"));
    EXPECT_THAT(message_of(whole, 24, value), HasSubstr("the file is truncated"));  // a key's length
  }
  const std::uint64_t most = ~std::uint64_t{0};
  for (const std::vector<std::uint64_t>& shape :
       {std::vector{most}, std::vector{most, most},
        std::vector{std::uint64_t{1} << 33, std::uint64_t{1} << 33}, std::vector<std::uint64_t>{0, 4},
        std::vector<std::uint64_t>{}, std::vector<std::uint64_t>(5, 1)}) {
    const std::string text = gguf({}, {{"t", shape, 0, "0123456789abcdef"}});
    EXPECT_THROW(parse_gguf(bytes_of(text), "a.gguf"), Error);
  }
  const std::string odd = gguf({}, {{"t", {2, 33}, 8, std::string(136, 'a')}});
  EXPECT_THAT(test::message_of([&] { parse_gguf(bytes_of(odd), "a.gguf"); }),
              HasSubstr("tensor 't' [2,33] of Q8_0 is impossible"));
}

TEST(Gguf, OtherFilesAreNamed) {
  const auto message_of = [](const std::string& text) {
    return test::message_of([&] { parse_gguf(bytes_of(text), "a.gguf"); });
  };
  EXPECT_THAT(message_of("PK\x03\x04 something"), HasSubstr("this is not a GGUF file"));
  EXPECT_THAT(message_of(gguf({}, {}, 1)), HasSubstr("GGUF version 1 is not supported"));
  EXPECT_THAT(message_of(gguf({}, {}, 0x03000000)), HasSubstr("big-endian"));
  EXPECT_THAT(message_of(gguf({}, {{"t", {1}, 11, "x"}})),
              AllOf(HasSubstr("tensor 't'"), HasSubstr("type Q3_K, ggml's type 11, which is not supported")));
  EXPECT_THAT(message_of(gguf({}, {tensor("t", {1}, 0, 1), tensor("t", {1}, 0, 1)})),
              HasSubstr("tensor 't' appears twice"));
}

TEST(Safetensors, CutAnywhereIsRefusedWithASentence) {
  const std::string whole = safetensors({tensor("a", {2, 3}, 0, 1), tensor("b", {4}, 30, 1)});
  const StoredModel model = parse_safetensors(bytes_of(whole), "a.safetensors");
  EXPECT_THAT(model.find("a")->shape, ElementsAre(2, 3));
  EXPECT_EQ(model.find("b")->type, StoredType::kBf16);
  EXPECT_EQ(reinterpret_cast<const char*>(model.find("b")->bytes.data()), whole.data() + whole.size() - 8);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_THROW(parse_safetensors(bytes_of(cut), "a.safetensors"), Error) << size;
  }
}

TEST(Safetensors, WhatCannotBeIsRefused) {
  const auto message_of = [](const std::string& header) {
    std::string text;
    append(text, std::uint64_t{header.size()});
    text += header + "01234567";
    return test::message_of([&] { parse_safetensors(bytes_of(text), "a.safetensors"); });
  };
  EXPECT_THAT(
      message_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,12]}})"),
      AllOf(HasSubstr("tensor 't' [2] of F32 at byte "), HasSubstr("does not take its declared 12 bytes")));
  EXPECT_THAT(message_of(R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})"),
              HasSubstr("it is truncated"));
  EXPECT_THAT(message_of(R"({"t":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}})"),
              HasSubstr("'I8', which is not supported"));
  for (const char* header :
       {R"({"t":{"dtype":"F32","shape":[18446744073709551615,18446744073709551615],"data_offsets":[0,8]}})",
        R"({"t":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", R"({"t":{"dtype":"F32","shape":[2]}})",
        R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", R"({"t":4})", "[]", "nonsense"})
    EXPECT_FALSE(message_of(header).empty()) << header;
}

TEST_F(ModelFiles, AGgufAndSafetensorsOfTheSameModelGiveTheSameLogits) {
  const std::string config = config_json(sizes_, "qwen2");
  fs::create_directories(folder_ / "hub");
  std::vector<Tensor> stored = llama_tensors(sizes_, 30, false);
  for (std::uint64_t layer = 0; layer < sizes_.layers; ++layer) {
    for (const auto& [part, rows] : {std::pair{"q", 64U}, std::pair{"k", 32U}, std::pair{"v", 32U}})
      stored.push_back(
          tensor(fmt::format("model.layers.{}.self_attn.{}_proj.bias", layer, part), {rows}, 0, 1));
  }
  std::vector<Tensor> renamed = llama_tensors(sizes_, 30, true);
  for (std::size_t i = 0; i < renamed.size(); ++i) renamed[i].bytes = stored[i].bytes;
  const char* const biases[] = {"attn_q", "attn_k", "attn_v"};
  for (std::size_t i = renamed.size(); i < stored.size(); ++i) {
    const std::size_t bias = i - (2 * 9 + 3);
    Tensor one = stored[i];
    one.name = fmt::format("blk.{}.{}.bias", bias / 3, biases[bias % 3]);
    renamed.push_back(one);
  }
  write("hub/config.json", config);
  write("hub/model-1.safetensors", safetensors({stored.begin(), stored.begin() + 5}));
  write("hub/model-2.safetensors", safetensors({stored.begin() + 5, stored.end()}));
  std::string map;
  for (std::size_t i = 0; i < stored.size(); ++i)
    map += fmt::format("{}\"{}\":\"model-{}.safetensors\"", i > 0 ? "," : "", stored[i].name, i < 5 ? 1 : 2);
  write("hub/model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  const fs::path path = write("a.gguf", gguf(llama_metadata(sizes_, "qwen2"), renamed));

  const LlmFile hub = open_llm_file(folder_ / "hub"), packed = open_llm_file(path);
  EXPECT_EQ(hub.config.model, "hub");
  EXPECT_EQ(packed.config.model, "a");
  EXPECT_TRUE(packed.config.has_bias);
  EXPECT_EQ(packed.stored, "BF16");
  EXPECT_EQ(packed.longest, 128U);
  const Team team = fresh_threads(2);
  const std::vector<std::int32_t> tokens{1, 40, 7};
  const auto logits = [&](const LlmFile& file) {
    return exact_logits(team, load_llm_weights(file, 2, team), tokens).logits;
  };
  const std::vector<double> found = logits(hub);
  EXPECT_EQ(found, logits(packed));
  EXPECT_EQ(found.size(), 50U);
}

TEST_F(ModelFiles, HalvesOfHeadsComeToLieSideBySide) {
  const auto stored = llama_tensors(sizes_, 30, false);
  write("config.json", config_json(sizes_));
  const LlmFile file = open_llm_file(write("model.safetensors", safetensors(stored)));
  const LlmWeights weights = load_llm_weights(file, 1, fresh_threads(1));
  const std::size_t row_bytes = 64 * 2, width = 16;
  const auto row = [&](std::size_t index) { return weights.layer(0).qkv.weights + index * row_bytes; };
  const auto is_row = [&](const char* name, std::size_t of_matrix, std::size_t of_file) {
    const StoredTensor* tensor =
        file.model.find(fmt::format("model.layers.0.self_attn.{}_proj.weight", name));
    return std::memcmp(row(of_matrix), tensor->bytes.data() + of_file * row_bytes, row_bytes) == 0;
  };
  EXPECT_TRUE(is_row("q", 0, 0));
  EXPECT_TRUE(is_row("q", 1, width / 2));
  EXPECT_TRUE(is_row("q", 3 * width + 14, 3 * width + 7));
  EXPECT_TRUE(is_row("k", 64 + width + 15, width + 15));
  EXPECT_TRUE(is_row("v", 64 + 32 + 5, 5));  // unrotated values stay
}

TEST_F(ModelFiles, BlocksStayAsTheyAre) {
  for (const auto& [type, format] :
       {std::pair{8U, LlmFormat::kInt8Blocks}, std::pair{2U, LlmFormat::kInt4Blocks}}) {
    const LlmFile file = open_llm_file(write("a.gguf", whole_gguf(type)));
    const LlmWeights weights = load_llm_weights(file, 1, fresh_threads(2));
    const LlmMatrix& down = weights.layer(0).w2.front();
    ASSERT_EQ(down.format, format);
    const StoredTensor* stored = file.model.find("blk.0.ffn_down.weight");
    EXPECT_EQ(std::memcmp(down.weights, stored->bytes.data(), stored->bytes.size()), 0);
    EXPECT_EQ(weights.output().format, format);
  }
}

TEST_F(ModelFiles, QueriesKeysAndValuesOfSeveralTypesLieByThemselves) {
  std::vector<Tensor> tensors = llama_tensors(sizes_, 8, true);
  for (Tensor& one : tensors) {
    if (one.name == "blk.0.attn_v.weight") one = tensor(one.name, one.shape, 2, 1);
  }
  const LlmFile file = open_tensors(tensors);
  EXPECT_EQ(file.config.formats_of(0).qkv, LlmFormat::kInt8Blocks);
  EXPECT_EQ(file.config.formats_of(0).value, LlmFormat::kInt4Blocks);
  EXPECT_TRUE(file.config.formats_of(1).has_one_qkv());
  EXPECT_EQ(file.stored, "Q8_0");
  const LlmWeights weights = load_llm_weights(file, 2, fresh_threads(1));
  const LlmLayer& layer = weights.layer(0);
  EXPECT_EQ(layer.qkv.rows, 64U);
  EXPECT_EQ(layer.keys.rows, 32U);
  for (const auto& [name, matrix] : {std::pair{"blk.0.attn_q.weight", &layer.qkv},
                                     {"blk.0.attn_k.weight", &layer.keys},
                                     {"blk.0.attn_v.weight", &layer.values}}) {
    const StoredTensor* stored = file.model.find(name);
    EXPECT_EQ(std::memcmp(matrix->weights, stored->bytes.data(), stored->bytes.size()), 0) << name;
  }
  EXPECT_EQ(weights.layer(1).qkv.rows, 128U);
  EXPECT_EQ(weights.layer(1).keys.rows, 0U);
  // As in the file, without the embedding; norms of bf16.
  double bytes = (5.0 * 64) * 2;
  for (const auto& [name, stored] : file.model.tensors) {
    if (stored.shape.size() == 2 && name != "token_embd.weight")
      bytes += static_cast<double>(stored.bytes.size());
  }
  EXPECT_EQ(llm_activated(file.config).bytes, bytes);
}

TEST_F(ModelFiles, HeadsMayHaveASizeOfTheirOwn) {
  Sizes sizes;
  sizes.head = 24;  // 4 of them are wider than the model
  std::vector<Tensor> stored = llama_tensors(sizes, 30, false), renamed = llama_tensors(sizes, 30, true);
  write("config.json", config_json(sizes));
  const LlmFile hub = open_llm_file(write("model.safetensors", safetensors(stored)));
  EXPECT_EQ(hub.config.head_dim(), 24U);
  EXPECT_EQ(hub.config.qkv_rows(), 4U * 24 + 2 * 2 * 24);
  const Team team = fresh_threads(2);
  const std::vector<std::int32_t> tokens{1, 40, 7};
  const LlmWeights weights = load_llm_weights(hub, 2, team);
  EXPECT_EQ(weights.layer(0).out.columns, 96U);
  EXPECT_EQ(exact_logits(team, weights, tokens).logits.size(), 50U);
  const auto logits = [&](std::uint64_t head) {
    Sizes same;
    same.head = head;
    const LlmFile file =
        open_llm_file(write("a.gguf", gguf(llama_metadata(same), llama_tensors(same, 30, true))));
    return exact_logits(team, load_llm_weights(file, 2, team), tokens).logits;
  };
  EXPECT_EQ(logits(16), logits(0));
  const auto message_with = [&](const char* key, std::uint32_t value) {
    Metadata metadata = llama_metadata(sizes);
    metadata.number(key, value);
    return message(write("b.gguf", gguf(metadata, renamed)));
  };
  EXPECT_THAT(message_with("llama.attention.value_length", 16),
              HasSubstr("keys of 24 numbers and values of 16"));
  EXPECT_THAT(message_with("llama.rope.dimension_count", 12), HasSubstr("12 of the 24 numbers of each head"));
  EXPECT_EQ(message_with("llama.attention.value_length", 24), "nothing was thrown");
  EXPECT_THAT(message(write("c.gguf", gguf(llama_metadata(sizes_), renamed))),
              AllOf(HasSubstr("tensor 'blk.0.attn_q.weight' [96,64] of BF16"), HasSubstr("require [64,64]")));
}

/// Named and numbered like llama-gguf-split's.
std::vector<std::string> shards_of(const std::vector<Tensor>& tensors, std::uint32_t count) {
  std::vector<std::string> files;
  const std::size_t each = (tensors.size() + count - 1) / count;
  for (std::uint32_t number = 0; number < count; ++number) {
    Metadata metadata = number == 0 ? llama_metadata({}) : Metadata();
    metadata.number("split.no", number);
    metadata.number("split.count", count);
    metadata.number("split.tensors.count", static_cast<std::uint32_t>(tensors.size()));
    const auto begin = tensors.begin() + static_cast<std::ptrdiff_t>(std::min(tensors.size(), number * each)),
               end = tensors.begin() +
                     static_cast<std::ptrdiff_t>(std::min(tensors.size(), (number + 1) * each));
    files.push_back(gguf(metadata, {begin, end}));
  }
  return files;
}

TEST_F(ModelFiles, AllShardsOfASplitGgufAreReadFromAnyOfThem) {
  const auto tensors = llama_tensors(sizes_, 8, true);
  const std::vector<std::string> files = shards_of(tensors, 3);
  for (std::size_t i = 0; i < 3; ++i) write(fmt::format("m-{:05}-of-00003.gguf", i + 1), files[i]);
  const LlmFile whole = open_llm_file(write("m.gguf", whole_gguf(8)));
  const Team team = fresh_threads(1);
  const auto logits = [&](const LlmFile& file) {
    return exact_logits(team, load_llm_weights(file, 2, team), std::vector<std::int32_t>{3, 4}).logits;
  };
  for (int number = 1; number <= 3; ++number) {
    const LlmFile split = open_llm_file(folder_ / fmt::format("m-{:05}-of-00003.gguf", number));
    EXPECT_EQ(split.config.model, "m");
    EXPECT_EQ(split.model.tensors.size(), tensors.size());
    EXPECT_EQ(logits(split), logits(whole)) << number;
  }
}

TEST_F(ModelFiles, ShardsThatAreNotAllThereAreNamed) {
  const std::vector<std::string> files = shards_of(llama_tensors(sizes_, 8, true), 3);
  const fs::path first = write("m-00001-of-00003.gguf", files[0]);
  EXPECT_THAT(message(first), AllOf(HasSubstr("is shard 1 of 3 of a model"),
                                    HasSubstr("m-00002-of-00003.gguf' is missing"), HasSubstr("merge them")));
  EXPECT_THAT(
      message(write("renamed.gguf", files[1])),
      AllOf(HasSubstr("is shard 2 of 3 of a model"), HasSubstr("does not end in -00001-of-00003.gguf")));
  write("m-00002-of-00003.gguf", files[0]);
  write("m-00003-of-00003.gguf", files[2]);
  EXPECT_THAT(message(first), HasSubstr("says shard 1 of 3, but its name says 2 of 3"));
  write("m-00002-of-00003.gguf", files[1]);
  write("m-00003-of-00003.gguf", shards_of({tensor("t", {32}, 0, 1)}, 3)[2]);
  EXPECT_THAT(message(first), HasSubstr("one belongs to another model"));
}

TEST_F(ModelFiles, OtherBlocksOfThirtyTwoBecomeBf16) {
  for (const auto& [type, name, bytes] :
       {std::tuple{3U, "Q4_1", 20U}, {6U, "Q5_0", 22U}, {7U, "Q5_1", 24U}}) {
    std::vector<Tensor> tensors = llama_tensors(sizes_, 30, true);
    for (Tensor& one : tensors) {
      if (one.shape.size() < 2) continue;
      one.type = type;
      const std::size_t blocks = one.bytes.size() / 2 / 32;
      one.bytes.clear();
      for (std::size_t i = 0; i < blocks; ++i) {
        std::string block;
        append(block, std::uint16_t{0x2400});  // 2^-6
        if (type != 6) append(block, std::uint16_t{0xa400});
        while (block.size() < bytes) block += static_cast<char>(block.size() * 37 + i);
        one.bytes += block;
      }
    }
    const LlmFile file = open_tensors(tensors);
    EXPECT_EQ(file.stored, name);
    EXPECT_EQ(file.config.formats_of(0).qkv, LlmFormat::kBf16);
    const StoredTensor* stored = file.model.find("blk.0.ffn_down.weight");
    std::vector<float> values(96);
    dequantise(stored->type, stored->bytes.data(), values);
    const LlmWeights weights = load_llm_weights(file, 1, fresh_threads(1));
    const auto* row = reinterpret_cast<const Bf16*>(weights.layer(0).w2.front().weights);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(to_float(row[i]), to_float(to_bf16(values[i])));
  }
}

TEST_F(ModelFiles, WithoutAnOutputTheEmbeddingIsTheOutput) {
  std::vector<Tensor> tensors = llama_tensors(sizes_, 30, true);
  tensors.pop_back();
  const LlmFile file = open_tensors(tensors);
  const LlmWeights weights = load_llm_weights(file, 2, fresh_threads(1));
  EXPECT_EQ(std::memcmp(weights.output().weights, weights.embedding(0), 50 * 64 * 2), 0);
}

TEST_F(ModelFiles, WrongShapesAndMissingTensorsAreNamed) {
  const auto of_tensor = [](std::vector<Tensor>& tensors, const char* name) -> Tensor& {
    return *std::ranges::find(tensors, name, &Tensor::name);
  };
  EXPECT_THAT(message_of_changed([&](auto& tensors) {
                auto& wrong = of_tensor(tensors, "blk.1.ffn_down.weight");
                wrong = tensor(wrong.name, {64, 64}, 30, 1);
              }),
              AllOf(HasSubstr("tensor 'blk.1.ffn_down.weight' [64,64] of BF16 at byte "),
                    HasSubstr("require [64,96]")));
  EXPECT_THAT(
      message_of_changed([&](auto& tensors) { of_tensor(tensors, "blk.0.attn_q.weight").name = "other"; }),
      HasSubstr("tensor 'blk.0.attn_q.weight' is missing"));
  EXPECT_THAT(message_of_changed([&](auto& tensors) { tensors.clear(); }),
              HasSubstr("'token_embd.weight' is missing"));
}

TEST_F(ModelFiles, OtherModelsAreRefused) {
  const auto message_of = [&](Metadata metadata) {
    return message(write("a.gguf", gguf(metadata, llama_tensors(sizes_, 30, true))));
  };
  EXPECT_THAT(message_of(llama_metadata(sizes_, "mamba")), HasSubstr("unsupported architecture 'mamba'"));
  Metadata scaled = llama_metadata(sizes_);
  scaled.text("llama.rope.scaling.type", "longrope");
  EXPECT_THAT(message_of(scaled), HasSubstr("the rotation is scaled as 'longrope'"));
  Metadata experts = llama_metadata(sizes_);
  experts.number("llama.expert_count", 1);
  experts.number("llama.expert_used_count", 1);
  EXPECT_THAT(message_of(experts), HasSubstr("the model has one expert"));
  Sizes odd = sizes_;
  odd.heads = 7;
  EXPECT_THAT(message_of(llama_metadata(odd)), HasSubstr("the heads do not divide dim"));
  odd.heads = 0xffffffff;
  EXPECT_THAT(message_of(llama_metadata(odd)), HasSubstr("it must be a whole number from 1 to"));
  EXPECT_THAT(test::message_of([] { describe_llm_json(R"({"model_type":"gpt2"})", "config.json"); }),
              HasSubstr("'gpt2'"));
  EXPECT_THAT(test::message_of([] { describe_llm_json("[]", "config.json"); }),
              HasSubstr("not a JSON object"));
}

/// By transformers' modeling_rope_utils.py.
TEST(RotaryScaling, FactorsAreThoseOfTheModelsLibraries) {
  LlmConfig config;
  config.dim = 256;
  config.heads = 2;
  config.rope_base = 500000;
  scale_rotation(config, {.kind = "llama3", .factor = 8, .original = 8192});
  ASSERT_EQ(config.rope_factors.size(), 64U);
  for (const auto& [pair, right] : {std::pair{0U, 1.0F},
                                    {28U, 1.0F},
                                    {29U, 1.20748387F},
                                    {31U, 2.02631321F},
                                    {33U, 3.68425253F},
                                    {34U, 5.25732659F},
                                    {35U, 8.0F},
                                    {63U, 8.0F}})
    EXPECT_NEAR(config.rope_factors[pair], right, 1e-6F * right) << pair;
  EXPECT_EQ(config.rope_magnitude, 1.0F);
  config.rope_base = 1e6;
  scale_rotation(config, {.kind = "yarn", .factor = 4, .original = 32768});
  for (const auto& [pair, right] :
       {std::pair{0U, 1.0F}, {23U, 1.0F}, {24U, 1.04615385F}, {30U, 1.44680851F}, {39U, 3.4F}, {40U, 4.0F}})
    EXPECT_NEAR(config.rope_factors[pair], right, 1e-6F * right) << pair;
  EXPECT_FLOAT_EQ(config.rope_magnitude, 1.13862944F);
  scale_rotation(config, {.kind = "linear", .factor = 2.5});
  EXPECT_THAT(config.rope_factors, Each(2.5F));
}

TEST_F(ModelFiles, ScaledRotationsAreReadAsTheyAreDeclared) {
  Metadata metadata = llama_metadata(sizes_);
  metadata.text("llama.rope.scaling.type", "yarn");
  metadata.number("llama.rope.scaling.factor", 4);
  metadata.number("llama.rope.scaling.original_context_length", 64);
  const LlmFile packed = open_llm_file(write("a.gguf", gguf(metadata, llama_tensors(sizes_, 30, true))));
  const auto of_json = [&](const std::string& rope) {
    std::string text = config_json(sizes_);
    const std::string none = R"("rope_scaling":null)";
    return describe_llm_json(text.replace(text.find(none), none.size(), rope), "config.json").config;
  };
  const LlmConfig yarn =
      of_json(R"("rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":64})");
  EXPECT_EQ(packed.config.rope_factors, yarn.rope_factors);
  EXPECT_EQ(packed.config.rope_magnitude, yarn.rope_magnitude);
  EXPECT_GT(yarn.rope_factors.back(), yarn.rope_factors.front());
  const LlmConfig newer = of_json(R"("rope_parameters":{"rope_type":"linear","factor":2,"rope_theta":5e5})");
  EXPECT_THAT(newer.rope_factors, Each(2.0F));
  EXPECT_EQ(newer.rope_base, 5e5);
  EXPECT_TRUE(of_json(R"("rope_scaling":{"rope_type":"default"})").rope_factors.empty());
  for (const auto& [rope, wanted] :
       {std::pair{R"("rope_scaling":{"type":"dynamic","factor":2})", "scaled as 'dynamic'"},
        {R"("rope_scaling":{"type":"linear","factor":0})", "must be at least 1"},
        {R"("rope_scaling":{"type":"yarn","factor":2,"beta_fast":0.5})", "beta_fast must be at least"},
        {R"("rope_scaling":{"type":"yarn","factor":2,"mscale":1})", "'mscale' is not supported"},
        {R"("rope_scaling":{"type":"llama3","factor":2,"high_freq_factor":1})", "must be above"},
        {R"("rope_scaling":7)", "'rope_scaling' is not an object"}})
    EXPECT_THAT(test::message_of([&] { of_json(rope); }), HasSubstr(wanted)) << rope;
}

TEST_F(ModelFiles, LogitsDependOnTheScaling) {
  const Team team = fresh_threads(1);
  const LlmFile file = open_llm_file(write("a.gguf", whole_gguf()));
  const std::vector<std::int32_t> tokens{1, 40, 7, 3};
  LlmFile scaled = open_llm_file(folder_ / "a.gguf");
  const auto logits = [&](const LlmFile& one) {
    return exact_logits(team, load_llm_weights(one, 2, team), tokens).logits;
  };
  const std::vector<double> plain = logits(file);
  scaled.config.rope_factors.assign(8, 2.0F);
  const std::vector<double> stretched = logits(scaled);
  scaled.config.rope_factors.clear();
  scaled.config.rope_magnitude = 1.5F;
  EXPECT_NE(plain, stretched);
  EXPECT_NE(plain, logits(scaled));
}

TEST_F(ModelFiles, PathsThatHoldNoModelAreNamed) {
  EXPECT_THAT(message(folder_ / "nothing.gguf"), HasSubstr("there is no such file or folder"));
  EXPECT_THAT(message(folder_), HasSubstr("there is no config.json"));
  EXPECT_THAT(message(write("empty.gguf", "")), HasSubstr("is empty"));
  write("config.json", config_json(sizes_));
  EXPECT_THAT(message(folder_), HasSubstr("has neither model.safetensors nor"));
  write("model.safetensors.index.json", R"({"weight_map":{"a":"../../etc/passwd"}})");
  EXPECT_THAT(message(folder_), HasSubstr("is in no file of this folder"));
}

TEST(StoredTypes, NumbersAreThoseOfGgml) {
  // Q4_K, scale 0.5, minimum 0.25: factors 1 to 8, minima 8 to 15, the last with upper bits of 2 and 1.
  std::string block;
  append(block, std::uint16_t{0x3800});
  append(block, std::uint16_t{0x3400});
  for (const unsigned packed : {1U, 2U, 3U, 4U | 2U << 6U, 8U, 9U, 10U, 11U | 1U << 6U, 5U | 12U << 4U,
                                6U | 13U << 4U, 7U | 14U << 4U, 8U | 15U << 4U})
    block += static_cast<char>(packed);
  for (std::size_t i = 0; i < 128; ++i) block += static_cast<char>(i % 16 | (15 - i % 16) << 4U);
  std::vector<float> values(256);
  dequantise(StoredType::kQ4Super, bytes_of(block).data(), values);
  EXPECT_EQ(values[5], 0.5F * 1 * 5 - 0.25F * 8);        // of the first 32, low halves
  EXPECT_EQ(values[32 + 5], 0.5F * 2 * 10 - 0.25F * 9);  // of the second, high ones
  EXPECT_EQ(values[3 * 32 + 5], 0.5F * 4 * 10 - 0.25F * 11);
  EXPECT_EQ(values[4 * 32 + 7], 0.5F * 5 * 7 - 0.25F * 12);
  EXPECT_EQ(values[7 * 32 + 16], 0.5F * (8 + 32) * 15 - 0.25F * (15 + 16));

  // Q5_K: fifth bits of the second and last part.
  block.insert(16, 32, static_cast<char>(0x82));
  dequantise(StoredType::kQ5Super, bytes_of(block).data(), values);
  EXPECT_EQ(values[5], 0.5F * 1 * 5 - 0.25F * 8);
  EXPECT_EQ(values[32 + 5], 0.5F * 2 * (16 + 10) - 0.25F * 9);
  EXPECT_EQ(values[4 * 32 + 7], 0.5F * 5 * 7 - 0.25F * 12);
  EXPECT_EQ(values[7 * 32 + 16], 0.5F * (8 + 32) * (16 + 15) - 0.25F * (15 + 16));

  // Q6_K: lower halves 0..15, upper bits 2 (0 stands for 32 - 32), scales 1..16 times 0.5.
  block.clear();
  for (std::size_t i = 0; i < 128; ++i) block += static_cast<char>(i % 16 | (15 - i % 16) << 4U);
  block.append(64, static_cast<char>(0xaa));
  for (int i = 1; i <= 16; ++i) block += static_cast<char>(i);
  append(block, std::uint16_t{0x3800});
  dequantise(StoredType::kQ6Super, bytes_of(block).data(), values);
  EXPECT_EQ(values[3], 0.5F * 1 * 3);
  EXPECT_EQ(values[16 + 3], 0.5F * 2 * 3);
  EXPECT_EQ(values[32 + 3], 0.5F * 3 * 3);
  EXPECT_EQ(values[64 + 3], 0.5F * 5 * 12);
  EXPECT_EQ(values[128 + 96 + 16 + 15], 0.5F * 16 * 0);
  EXPECT_EQ(values[128 + 96 + 16 + 1], 0.5F * 16 * 14);

  // Q4_1, Q5_0, Q5_1: halves i and 15 - i, fifth bits of numbers 1 and 17, scale 0.5, minimum -2.
  const std::string halves = [] {
    std::string text;
    for (std::size_t i = 0; i < 16; ++i) text += static_cast<char>(i | (15 - i) << 4U);
    return text;
  }();
  std::string scale, minimum, fifths;
  append(scale, std::uint16_t{0x3800});
  append(minimum, std::uint16_t{0xc000});
  append(fifths, std::uint32_t{1U << 1U | 1U << 17U});
  values.resize(32);
  dequantise(StoredType::kQ4Least, bytes_of(scale + minimum + halves).data(), values);
  EXPECT_THAT((std::array{values[0], values[1], values[16], values[17]}), ElementsAre(-2, -1.5F, 5.5F, 5));
  const std::string five = scale + fifths + halves, five_least = scale + minimum + fifths + halves;
  dequantise(StoredType::kQ5Block, bytes_of(five).data(), values);
  EXPECT_THAT((std::array{values[0], values[1], values[16], values[17]}), ElementsAre(-8, 0.5F, -0.5F, 7));
  dequantise(StoredType::kQ5Least, bytes_of(five_least).data(), values);
  EXPECT_THAT((std::array{values[0], values[1], values[16], values[17]}), ElementsAre(-2, 6.5F, 5.5F, 13));

  EXPECT_EQ(float_of_half(0x3c00), 1.0F);
  EXPECT_EQ(float_of_half(0xc000), -2.0F);
  EXPECT_EQ(float_of_half(0x0001), 0x1p-24F);
  EXPECT_EQ(float_of_half(0x83ff), -0x1.ff8p-15F);
  EXPECT_EQ(float_of_half(0x7c00), INFINITY);
  EXPECT_TRUE(std::isnan(float_of_half(0x7e00)));
}

using Numbers = std::vector<double>;
constexpr std::uint64_t kExperts = 5, kChosen = 2, kShared = 40;

Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers;
  for (std::size_t at = 0; at < tensor.bytes.size();) {
    if (tensor.type == 0) {
      float value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      numbers.push_back(to_float(to_bf16(value)));
      at += sizeof value;
    } else {
      Bf16 value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      numbers.push_back(to_float(value));
      at += sizeof value;
    }
  }
  return numbers;
}

/// Mixtral, or Qwen's with a shared expert and biases, GGUF's names.
struct ExpertModel {
  Sizes sizes;
  bool is_qwen = false;
  std::vector<Tensor> tensors;

  explicit ExpertModel(bool qwen) : is_qwen(qwen) {
    for (Tensor& one : llama_tensors(sizes, 30, true)) {
      if (one.name.find("ffn_gate") == std::string::npos && one.name.find("ffn_up") == std::string::npos &&
          one.name.find("ffn_down") == std::string::npos)
        tensors.push_back(one);
    }
    for (std::uint64_t layer = 0; layer < sizes.layers; ++layer) {
      const auto add = [&](const char* name, std::vector<std::uint64_t> shape, float scale) {
        tensors.push_back(tensor(fmt::format("blk.{}.{}", layer, name), std::move(shape), 30, scale));
      };
      add("ffn_gate_inp.weight", {kExperts, sizes.dim}, 1);
      add("ffn_gate_exps.weight", {kExperts, sizes.hidden, sizes.dim}, 0.5F);
      add("ffn_up_exps.weight", {kExperts, sizes.hidden, sizes.dim}, 0.5F);
      add("ffn_down_exps.weight", {kExperts, sizes.dim, sizes.hidden}, 0.5F);
      if (!is_qwen) continue;
      add("ffn_gate_inp_shexp.weight", {sizes.dim}, 0.5F);
      add("ffn_gate_shexp.weight", {kShared, sizes.dim}, 0.5F);
      add("ffn_up_shexp.weight", {kShared, sizes.dim}, 0.5F);
      add("ffn_down_shexp.weight", {sizes.dim, kShared}, 0.5F);
      for (const auto& [name, rows] : {std::pair{"attn_q", 64U}, {"attn_k", 32U}, {"attn_v", 32U}})
        add((std::string(name) + ".bias").c_str(), {rows}, 1);
    }
  }

  std::string gguf() const {
    Metadata metadata = llama_metadata(sizes, is_qwen ? "qwen2moe" : "llama");
    const std::string family = is_qwen ? "qwen2moe." : "llama.";
    metadata.number(family + "expert_count", kExperts);
    metadata.number(family + "expert_used_count", kChosen);
    if (is_qwen)
      metadata.number(family + "expert_feed_forward_length", static_cast<std::uint32_t>(sizes.hidden));
    return model_bytes::gguf(metadata, tensors);
  }

  std::vector<Tensor> hub_tensors() const {
    const std::map<std::string, std::string> names{
        {"attn_norm", "input_layernorm"},
        {"attn_q", "self_attn.q_proj"},
        {"attn_k", "self_attn.k_proj"},
        {"attn_v", "self_attn.v_proj"},
        {"attn_output", "self_attn.o_proj"},
        {"ffn_norm", "post_attention_layernorm"},
        {"ffn_gate_inp", is_qwen ? "mlp.gate" : "block_sparse_moe.gate"},
        {"ffn_gate_exps", is_qwen ? "mlp.experts.{}.gate_proj" : "block_sparse_moe.experts.{}.w1"},
        {"ffn_up_exps", is_qwen ? "mlp.experts.{}.up_proj" : "block_sparse_moe.experts.{}.w3"},
        {"ffn_down_exps", is_qwen ? "mlp.experts.{}.down_proj" : "block_sparse_moe.experts.{}.w2"},
        {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
        {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
        {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
        {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
    const std::map<std::string, std::string> ends{{"token_embd.weight", "model.embed_tokens.weight"},
                                                  {"output_norm.weight", "model.norm.weight"},
                                                  {"output.weight", "lm_head.weight"}};
    std::vector<Tensor> renamed;
    for (Tensor one : tensors) {
      if (const auto end = ends.find(one.name); end != ends.end()) {
        one.name = end->second;
        renamed.push_back(one);
        continue;
      }
      const std::size_t part = one.name.find('.', 4) + 1, ending = one.name.rfind('.');
      const std::string layer = "model.layers." + one.name.substr(4, part - 4);
      const std::string name = layer + names.at(one.name.substr(part, ending - part));
      const std::string last = one.name.substr(ending);
      if (one.shape.size() < 3) {
        if (one.name.find("ffn_gate_inp_shexp") != std::string::npos) one.shape = {1, sizes.dim};
        one.name = name + last;
        renamed.push_back(one);
        continue;
      }
      const std::size_t bytes = one.bytes.size() / kExperts;
      for (std::uint64_t expert = 0; expert < kExperts; ++expert) {
        renamed.push_back({fmt::format(fmt::runtime(name), expert) + last,
                           {one.shape[1], one.shape[2]},
                           one.type,
                           one.bytes.substr(expert * bytes, bytes)});
      }
    }
    return renamed;
  }

  std::string config_json() const {
    std::string text = model_bytes::config_json(sizes, is_qwen ? "qwen2_moe" : "mixtral");
    text.pop_back();
    if (!is_qwen) return text + R"(,"num_local_experts":5,"num_experts_per_tok":2})";
    return text +
           R"(,"num_experts":5,"num_experts_per_tok":2,"moe_intermediate_size":96,"norm_topk_prob":false)" +
           R"(,"shared_expert_intermediate_size":40,"decoder_sparse_step":1,"mlp_only_layers":[]})";
  }

  Numbers numbers(const std::string& name) const {
    return numbers_of(*std::ranges::find(tensors, name, &Tensor::name));
  }
};

Numbers times(const double* matrix, std::size_t rows, const Numbers& x) {
  Numbers y(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < x.size(); ++i) y[row] += matrix[row * x.size() + i] * x[i];
  }
  return y;
}
Numbers normalised(const Numbers& x, const Numbers& weight) {
  double squares = 0;
  for (const double value : x) squares += value * value / static_cast<double>(x.size());
  Numbers y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] / std::sqrt(squares + 1e-5) * weight[i]);
  return y;
}
Numbers feed_forward(const double* gate, const double* up, const double* down, std::size_t hidden,
                     const Numbers& x) {
  Numbers inner = times(gate, hidden, x);
  const Numbers other = times(up, hidden, x);
  for (std::size_t i = 0; i < hidden; ++i) inner[i] = inner[i] / (1 + std::exp(-inner[i])) * other[i];
  return times(down, x.size(), inner);
}

/// transformers' modeling_mixtral.py (softmax over all experts; chosen shares scaled to sum 1) and
/// modeling_qwen2_moe.py (not scaled; a shared expert times a sigmoid).
Numbers experts(const ExpertModel& model, const std::string& layer, const Numbers& x) {
  const std::size_t hidden = model.sizes.hidden, each = hidden * model.sizes.dim;
  const Numbers scores = times(model.numbers(layer + "ffn_gate_inp.weight").data(), kExperts, x);
  double sum = 0, taken = 0;
  for (const double score : scores) sum += std::exp(score);
  std::vector<std::size_t> order(kExperts);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (std::size_t i = 0; i < kChosen; ++i) taken += std::exp(scores[order[i]]) / sum;
  const Numbers gate = model.numbers(layer + "ffn_gate_exps.weight"),
                up = model.numbers(layer + "ffn_up_exps.weight"),
                down = model.numbers(layer + "ffn_down_exps.weight");
  Numbers y(x.size());
  for (std::size_t i = 0; i < kChosen; ++i) {
    const std::size_t at = order[i] * each;
    const double share = std::exp(scores[order[i]]) / sum / (model.is_qwen ? 1 : taken);
    const Numbers part = feed_forward(&gate[at], &up[at], &down[at], hidden, x);
    for (std::size_t k = 0; k < y.size(); ++k) y[k] += share * part[k];
  }
  if (!model.is_qwen) return y;
  const double score = times(model.numbers(layer + "ffn_gate_inp_shexp.weight").data(), 1, x).front();
  const Numbers part = feed_forward(model.numbers(layer + "ffn_gate_shexp.weight").data(),
                                    model.numbers(layer + "ffn_up_shexp.weight").data(),
                                    model.numbers(layer + "ffn_down_shexp.weight").data(), kShared, x);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] += part[k] / (1 + std::exp(-score));
  return y;
}

/// A single token attends only to itself: its value.
Numbers logits_of(const ExpertModel& model, std::size_t token) {
  const std::size_t dim = model.sizes.dim, width = dim / model.sizes.heads;
  const Numbers embedding = model.numbers("token_embd.weight");
  Numbers x(embedding.begin() + static_cast<std::ptrdiff_t>(token * dim),
            embedding.begin() + static_cast<std::ptrdiff_t>((token + 1) * dim));
  const auto add = [&](const Numbers& more) {
    for (std::size_t i = 0; i < dim; ++i) x[i] += more[i];
  };
  for (std::uint64_t index = 0; index < model.sizes.layers; ++index) {
    const std::string layer = fmt::format("blk.{}.", index);
    Numbers value = times(model.numbers(layer + "attn_v.weight").data(), model.sizes.kv_heads * width,
                          normalised(x, model.numbers(layer + "attn_norm.weight")));
    if (model.is_qwen) {
      const Numbers bias = model.numbers(layer + "attn_v.bias");
      for (std::size_t i = 0; i < value.size(); ++i) value[i] += bias[i];
    }
    Numbers attended;
    for (std::uint64_t head = 0; head < model.sizes.heads; ++head) {
      const std::uint64_t from = head / (model.sizes.heads / model.sizes.kv_heads) * width;
      for (std::size_t i = 0; i < width; ++i) attended.push_back(value[from + i]);
    }
    add(times(model.numbers(layer + "attn_output.weight").data(), dim, attended));
    add(experts(model, layer, normalised(x, model.numbers(layer + "ffn_norm.weight"))));
  }
  return times(model.numbers("output.weight").data(), model.sizes.vocab,
               normalised(x, model.numbers("output_norm.weight")));
}

class ExpertFiles : public testing::TestWithParam<bool> {
 protected:
  ExpertFiles() { fs::create_directories(folder_ / "hub"); }
  fs::path write(const std::string& name, const std::string& text) const {
    return write_in(folder_, name, text);
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  const ExpertModel model_{GetParam()};
};

TEST_P(ExpertFiles, TokensGoToTheExpertsThatTheFamilySendsThemTo) {
  const Team team = fresh_threads(1);
  const LlmFile packed = open_llm_file(write("a.gguf", model_.gguf()));
  write("hub/config.json", model_.config_json());
  write("hub/model.safetensors", safetensors(model_.hub_tensors()));
  const LlmFile hub = open_llm_file(folder_ / "hub");
  for (const LlmFile* file : {&packed, &hub}) {
    EXPECT_EQ(file->config.experts, kExperts);
    EXPECT_EQ(file->config.shared_hidden, GetParam() ? kShared : 0);
    const LlmWeights weights = load_llm_weights(*file, 2, team);
    for (const std::int32_t token : {1, 17, 40}) {
      const std::vector<double> found = exact_logits(team, weights, std::vector{token}).logits;
      const Numbers right = logits_of(model_, static_cast<std::size_t>(token));
      double squares = 0;
      for (const double value : right) squares += value * value / static_cast<double>(right.size());
      for (std::size_t i = 0; i < right.size(); ++i)
        EXPECT_NEAR(found[i], right[i], 1e-6 * std::sqrt(squares)) << token << " " << i;
    }
  }
}

TEST_P(ExpertFiles, ATokenReadsTheExpertsThatItChooses) {
  const LlmFile file = open_llm_file(write("a.gguf", model_.gguf()));
  double bytes = 5 * 64 * 2 + (GetParam() ? 2 * 128 * 4 : 0);  // norms of bf16, biases of f32
  for (const auto& [name, stored] : file.model.tensors) {
    const bool is_gate = name.find("inp_shexp") != std::string::npos;
    if ((stored.shape.size() < 2 && !is_gate) || name == "token_embd.weight") continue;
    const double share = stored.shape.size() == 3 ? static_cast<double>(kChosen) / kExperts : 1;
    bytes += share * static_cast<double>(stored.bytes.size());
  }
  EXPECT_EQ(llm_activated(file.config).bytes, bytes);
}

TEST_P(ExpertFiles, WhatIsMissingOrNotComputedIsNamed) {
  const auto message = [&](const ExpertModel& model) {
    return test::message_of([&] { open_llm_file(write("a.gguf", model.gguf())); });
  };
  ExpertModel wrong = model_;
  const auto found = std::ranges::find(wrong.tensors, "blk.1.ffn_up_exps.weight", &Tensor::name);
  *found = tensor(found->name, {kExperts + 1, 96, 64}, 30, 1);
  EXPECT_THAT(message(wrong),
              AllOf(HasSubstr("'blk.1.ffn_up_exps.weight' [6,96,64]"), HasSubstr("require [5,96,64]")));
  found->name = "other";
  EXPECT_THAT(message(wrong), HasSubstr("'blk.1.ffn_up_exps.weight' is missing"));
  std::string config = model_.config_json();
  config.replace(config.find("\"num_experts_per_tok\":2"), 23, "\"num_experts_per_tok\":6");
  write("hub/config.json", config);
  EXPECT_THAT(test::message_of([&] { open_llm_file(folder_ / "hub"); }),
              HasSubstr("more experts are chosen than the model has"));
}

INSTANTIATE_TEST_SUITE_P(Families, ExpertFiles, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "qwen2_moe" : "mixtral"; });

}  // namespace
}  // namespace headroom
