# SPDX-License-Identifier: Apache-2.0
"""The experiments of gpt-fast's benchmark in PyTorch on a GPU, eager (`torch_cuda`) and by torch.compile (`torch_compile_cuda`).

    headroom run --python gpt_fast_cuda --backend cuda,cublas,torch_cuda,torch_compile_cuda

They are a runner of their own, beside that of the CPU: what its cases take of the GPU, no case of the CPU has around it.
"""
from ._gpt_fast import declare

declare(("torch_cuda", "torch_compile_cuda"), "cuda")
