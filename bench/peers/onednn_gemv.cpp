// SPDX-License-Identifier: Apache-2.0
// oneDNN 3, newer than the distribution's; weights in its preferred and in plain layout.
#include <exception>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "headroom/experiment/peer.h"

namespace {

using dnnl::memory;

struct Product {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul matmul;
  memory x, weights, y;
};

void* prepare(const headroom_peer_call* call, memory::format_tag wanted) try {
  if (call->operation != HEADROOM_PEER_GEMV || call->dtype != HEADROOM_PEER_BF16) return nullptr;
  const auto rows = static_cast<memory::dim>(call->rows), columns = static_cast<memory::dim>(call->columns);
  constexpr auto kType = memory::data_type::bf16;
  // y^T[1, rows] = x^T[1, columns] W^T[columns, rows]: plain weights are transposed (ba).
  const memory::desc lying({columns, rows}, kType, memory::format_tag::ba);
  const memory::desc x({1, columns}, kType, memory::format_tag::ab),
      y({1, rows}, kType, memory::format_tag::ab);
  auto product = std::make_unique<Product>();
  const dnnl::matmul::primitive_desc described(product->engine, x,
                                               memory::desc({columns, rows}, kType, wanted), y);
  product->matmul = dnnl::matmul(described);
  product->x = memory(x, product->engine, const_cast<uint16_t*>(call->x));
  product->y = memory(y, product->engine, nullptr);
  product->weights = memory(lying, product->engine, const_cast<void*>(call->weights));
  if (described.weights_desc() != lying) {
    memory packed(described.weights_desc(), product->engine);
    dnnl::reorder(product->weights, packed).execute(product->stream, product->weights, packed);
    product->stream.wait();
    product->weights = packed;
  }
  return product.release();
} catch (const std::exception&) {
  return nullptr;
}

int run(const headroom_peer_call* call) try {
  auto& product = *static_cast<Product*>(call->prepared);
  product.y.set_data_handle(call->y);
  product.matmul.execute(
      product.stream,
      {{DNNL_ARG_SRC, product.x}, {DNNL_ARG_WEIGHTS, product.weights}, {DNNL_ARG_DST, product.y}});
  product.stream.wait();
  return HEADROOM_PEER_DONE;
} catch (const std::exception&) {
  return -1;
}

}  // namespace

extern "C" {
void* onednn3_prepare(const headroom_peer_call* call) {
  return prepare(call, memory::format_tag::ba);
}
void* onednn3_packed_prepare(const headroom_peer_call* call) {
  return prepare(call, memory::format_tag::any);
}
int onednn3(const headroom_peer_call* call) {
  return run(call);
}
int onednn3_packed(const headroom_peer_call* call) {
  return run(call);
}
void onednn3_release(void* prepared) {
  delete static_cast<Product*>(prepared);
}
void onednn3_packed_release(void* prepared) {
  delete static_cast<Product*>(prepared);
}
}
