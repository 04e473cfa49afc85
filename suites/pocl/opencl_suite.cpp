// SPDX-License-Identifier: Apache-2.0
// Compiles one OpenCL kernel from source, runs it, checks the result, and prints {"compile_s": source to
// first result, "run_s": second run, "device": "..."} (suites/pocl.toml).
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "opencl_kernels.h"

namespace {

constexpr double kTolerance = 1e-4;

void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS)
    throw std::runtime_error(std::string(call) + ": OpenCL error " + std::to_string(status));
}

/// Returns PoCL's first device, or nullptr.
cl_device_id pocl_device() {
  std::vector<cl_platform_id> platforms(16);
  cl_uint count = 0;
  if (clGetPlatformIDs(static_cast<cl_uint>(platforms.size()), platforms.data(), &count) != CL_SUCCESS)
    return nullptr;
  platforms.resize(std::min<std::size_t>(count, platforms.size()));
  for (cl_platform_id platform : platforms) {
    char name[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    cl_device_id device = nullptr;
    if (std::string(name) == "Portable Computing Language" &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  return nullptr;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A context with buffers for one problem. Never released: the process measures one kernel.
class Session {
 public:
  Session(cl_device_id device, OpenclProblem& problem)
      : device_(device), problem_(problem), result_(problem.outputs) {
    cl_int status = CL_SUCCESS;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    check(status, "clCreateCommandQueue");
    input_ = clCreateBuffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                            problem.input.size() * sizeof(float), problem.input.data(), &status);
    check(status, "clCreateBuffer");
    output_ = clCreateBuffer(context_, CL_MEM_WRITE_ONLY, problem.outputs * sizeof(float), nullptr, &status);
    check(status, "clCreateBuffer");
  }

  void compile() {
    cl_int status = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context_, 1, &problem_.source, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = clCreateKernel(program, "run", &status);
    check(status, "clCreateKernel");
    check(clSetKernelArg(kernel_, 0, sizeof(cl_mem), &input_), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 1, sizeof(cl_mem), &output_), "clSetKernelArg");
  }

  /// PoCL finishes compiling here, once it knows the work-group size.
  void run() {
    check(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &problem_.global, &problem_.local, 0, nullptr,
                                 nullptr),
          "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue_, output_, CL_TRUE, 0, result_.size() * sizeof(float), result_.data(), 0,
                              nullptr, nullptr),
          "clEnqueueReadBuffer");
  }

  void verify() const {
    for (std::size_t i = 0; i < result_.size(); ++i) {
      if (std::abs(result_[i] - problem_.expected[i]) <= kTolerance * (1 + std::abs(problem_.expected[i])))
        continue;
      throw std::runtime_error(std::string(problem_.name) + " is wrong at " + std::to_string(i) + ": " +
                               std::to_string(result_[i]) + ", not " + std::to_string(problem_.expected[i]));
    }
  }

 private:
  cl_device_id device_;
  OpenclProblem& problem_;
  std::vector<float> result_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem input_ = nullptr, output_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

void measure(cl_device_id device, const std::string& name) {
  OpenclProblem problem = opencl_problem(name);
  Session session(device, problem);
  const auto start = std::chrono::steady_clock::now();
  session.compile();
  session.run();
  const double compile_s = seconds_since(start);
  session.verify();
  const auto again = std::chrono::steady_clock::now();
  session.run();
  const double run_s = seconds_since(again);
  char device_name[256] = "";
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof device_name - 1, device_name, nullptr);
  std::string shown;
  for (const char c : std::string(device_name)) {
    if (c == '"' || c == '\\') shown += '\\';
    shown += c;
  }
  std::printf("{\"compile_s\": %.9f, \"run_s\": %.9f, \"device\": \"%s\"}\n", compile_s, run_s,
              shown.c_str());
}

std::string usage() {
  std::string text = "usage: headroom-opencl-suite --check";
  for (const char* name : opencl_problem_names()) text += std::string(" | ") + name;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::invalid_argument(usage());
    cl_device_id device = pocl_device();
    if (device == nullptr) throw std::runtime_error("PoCL, an OpenCL platform (Debian: pocl-opencl-icd)");
    if (std::string(argv[1]) != "--check") measure(device, argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
