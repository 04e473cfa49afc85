# SPDX-License-Identifier: Apache-2.0
"""gpt-fast's benchmark in PyTorch on the CPU, eager (`torch`) and compiled (`torch_compile`):

    headroom run --python gpt_fast --backend native,aten,torch,torch_compile

Models (`headroom run --python gpt_fast llama2_7b_int8 --layers 4`) have random weights with the distributions of headroom's.
"""
from ._gpt_fast import declare

declare(("torch", "torch_compile"), "cpu")
