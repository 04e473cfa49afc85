# SPDX-License-Identifier: Apache-2.0
"""gpt-fast's benchmark in PyTorch on a GPU, eager (`torch_cuda`) and compiled (`torch_compile_cuda`):

    headroom run --python gpt_fast_cuda --backend cuda,cublas,torch_cuda,torch_compile_cuda

A separate runner, so that CPU cases do not hold the GPU.
"""
from ._gpt_fast import declare

declare(("torch_cuda", "torch_compile_cuda"), "cuda")
