# SPDX-License-Identifier: Apache-2.0
"""The files in src/headroom_native that aarch64_kernels.cpp calls."""
ANSWERING = ("kernels/gemv/gemv_kernel.cpp", "kernels/gemv/gemv_blocks.cpp", "kernels/gemv/gemv_neon.cpp", "kernels/gemv/gemv_sve.cpp", "kernels/norm_kernel.cpp",
             "kernels/norm_sve.cpp", "kernels/isa.cpp", "limits/memory_kernels.cpp", "limits/peak_kernels.cpp")
