// SPDX-License-Identifier: Apache-2.0
#include "fake_runtime.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace headroom::cuda {
namespace {

using Work = std::vector<std::size_t>;

FakeRuntime runtime;
double now_ns = 0;
std::unique_ptr<Work> captured;

void run(std::size_t which) {
  runtime.ran.push_back(which);
  now_ns += runtime.work_ns;
}

void say(const char* call) {
  runtime.calls.emplace_back(call);
}

template <typename Handle, typename T>
Handle handle_of(T* object) {
  return reinterpret_cast<Handle>(object);
}
template <typename T, typename Handle>
T* object_of(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

}  // namespace

FakeRuntime& fake_runtime() {
  return runtime;
}

void reset_fake_runtime() {
  runtime = {};
  captured.reset();
}

void FakeRuntime::put_work(std::size_t which) {
  captured ? captured->push_back(which) : run(which);
}

extern "C" {

#define SUCCEEDS(function) \
  cudaError_t function {   \
    return cudaSuccess;    \
  }
SUCCEEDS(cudaSetDevice(int))
SUCCEEDS(cudaDeviceSynchronize())
SUCCEEDS(cudaGetLastError())
SUCCEEDS(cudaStreamDestroy(cudaStream_t))
SUCCEEDS(cudaStreamSynchronize(cudaStream_t))
SUCCEEDS(cudaEventSynchronize(cudaEvent_t))
#undef SUCCEEDS

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "Fake GPU");
  properties->major = 9;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* place, int length, int) {
  std::snprintf(place, static_cast<std::size_t>(length), "0000:00:00.0");
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error of the test";
}
const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorOfTheTest";
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  say("begin capture");
  captured = std::make_unique<Work>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  say("end capture");
  *graph = handle_of<cudaGraph_t>(captured.release());
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = handle_of<cudaGraphExec_t>(new Work(*object_of<Work>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  say("upload");
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  say("graph");
  for (const std::size_t which : *object_of<Work>(executable)) run(which);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete object_of<Work>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete object_of<Work>(executable);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = handle_of<cudaEvent_t>(new double(0));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete object_of<double>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  say("event");
  *object_of<double>(event) = now_ns;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = static_cast<float>((*object_of<double>(stop) - *object_of<double>(start)) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::calloc(1, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned) {
  *on_device = on_host;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
}

}  // namespace headroom::cuda
