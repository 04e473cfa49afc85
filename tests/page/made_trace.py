# SPDX-License-Identifier: Apache-2.0
"""A made-up trace of training on one of eight GPUs: always the same, with a slow DataLoader, exposed communication and small kernels."""
import json

HOST, AUTOGRAD = 900, 901
TOKENS, WIDTH, BLOCKS, STEPS = 8192, 2048, 6, 4
FLOPS_PER_US = 600e6  # 600 TFLOP/s


class Recorder:
    """Times in us. Kernels of a stream follow each other."""

    def __init__(self):
        self.events, self.correlation, self.free = [], 0, {7: 0.0, 20: 0.0}

    def host(self, category, name, start, end, thread=HOST, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": HOST, "tid": thread, "ts": round(start, 3),
                            "dur": round(end - start, 3), "args": args})

    def kernel(self, name, launched, duration, stream=7, after=0.0, thread=HOST):
        """`after`: what it waits for besides its stream."""
        self.correlation += 1
        self.host("cuda_runtime", "cudaLaunchKernel", launched, launched + 4, thread, correlation=self.correlation)
        start = max(self.free[stream], launched + 6, after)
        self.free[stream] = start + duration
        self.events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": round(start, 3), "dur": round(duration, 3),
                            "args": {"device": 0, "stream": stream, "correlation": self.correlation}})

    def op(self, name, at, kernel, duration, shapes, thread=HOST):
        """An operator of 30 us with one kernel."""
        self.host("cpu_op", name, at, at + 30, thread, **{"Input Dims": shapes, "Input type": ["c10::BFloat16"] * len(shapes),
                                                         "Concrete Inputs": [""] * len(shapes)})
        self.kernel(kernel, at + 14, duration, thread=thread)
        return at + 34


def product(recorder, at, m, k, n, thread=HOST):
    return recorder.op("aten::mm", at, f"sm90_xmma_gemm_bf16bf16_bf16f32_tn_n_tilesize128x128x64_{n}", 2 * m * k * n / FLOPS_PER_US,
                       [[m, k], [k, n]], thread)


def element_wise(recorder, name, at, kernel, n, thread=HOST):
    return recorder.op(name, at, f"void at::native::vectorized_elementwise_kernel<4, at::native::{kernel}>", 3 * 2 * TOKENS * n / 2.6e6,
                       [[TOKENS, n], [TOKENS, n]], thread)


def forward(recorder, at):
    for block in range(BLOCKS):
        begin = at
        at = element_wise(recorder, "aten::mul", at + 12, "MulFunctor", WIDTH)
        at = product(recorder, at, TOKENS, WIDTH, 4 * WIDTH)
        at = element_wise(recorder, "aten::gelu", at, "GeluFunctor", 4 * WIDTH)
        at = product(recorder, at, TOKENS, 4 * WIDTH, WIDTH)
        at = element_wise(recorder, "aten::add", at, "AddFunctor", WIDTH)
        recorder.host("python_function", f"nn.Module: Block_{block}", begin, at)
    return at


def backward(recorder, at):
    """Each block's gradients are reduced while the next block computes; the last one is exposed."""
    for block in reversed(range(BLOCKS)):
        begin = at
        for m, k, n in ((TOKENS, WIDTH, 4 * WIDTH), (WIDTH, TOKENS, 4 * WIDTH), (TOKENS, 4 * WIDTH, WIDTH), (4 * WIDTH, TOKENS, WIDTH)):
            at = product(recorder, at + 4, m, k, n, AUTOGRAD)
        at = element_wise(recorder, "aten::gelu_backward", at, "GeluBackwardFunctor", 4 * WIDTH, AUTOGRAD)
        recorder.host("cpu_op", f"autograd::engine::evaluate_function: Block_{block}Backward", begin, at, AUTOGRAD)
        recorder.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at, 1700, 20, recorder.free[7], AUTOGRAD)
    return at


def wait(recorder, name, at):
    """The host waits for both streams."""
    end = max(at + 12, *recorder.free.values()) + 8
    recorder.host("cpu_op", name, at, end)
    recorder.host("cuda_runtime", "cudaStreamSynchronize", at + 3, end - 2)
    return end + 2


def optimizer(recorder, at):
    """Clips by the norm of the gradients, which the host reads; then the kernels are shorter than their launches."""
    at = begin = wait(recorder, "aten::item", at)
    for _ in range(240):
        recorder.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AddcdivFunctor>", at, 2.5)
        at += 9
    recorder.host("user_annotation", "Optimizer.step#AdamW.step", begin - 1, at)
    return at


def step(recorder, number, start):
    recorder.host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start + 5, start + 5200)
    at = forward_begin = start + 5260
    at = forward(recorder, at)
    recorder.host("python_function", "nn.Module: Model_0", forward_begin - 10, at + 5)
    begin = at + 20
    at = backward(recorder, begin)
    recorder.host("python_function", "<built-in method run_backward>", begin - 5, at + 5)
    end = wait(recorder, "aten::item", optimizer(recorder, at + 30) + 20)
    recorder.host("python_function", "train.py(31): train_step", start + 2, end + 5)
    recorder.host("user_annotation", f"ProfilerStep#{number}", start, end + 10)
    return end + 12


def made_trace():
    recorder, at = Recorder(), 1_000_000.0
    begin = at
    for number in range(STEPS):
        at = step(recorder, number, at)
    recorder.host("python_function", "train.py(52): main", begin - 10, at)
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}], "traceEvents": recorder.events}


def write(path):
    path.write_text(json.dumps(made_trace()))
    return path
