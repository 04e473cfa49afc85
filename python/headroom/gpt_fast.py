# SPDX-License-Identifier: Apache-2.0
"""The experiments of gpt-fast's benchmark in PyTorch on the CPU, eager (`torch`) and by torch.compile (`torch_compile`).

    headroom run --python gpt_fast --backend native,aten,torch,torch_compile

The models of `headroom run --python gpt_fast llama2_7b_int8 --layers 4` have weights of the same distributions as headroom's, drawn by
PyTorch.
"""
from ._gpt_fast import declare

declare(("torch", "torch_compile"), "cpu")
