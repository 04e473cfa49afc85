# SPDX-License-Identifier: Apache-2.0
"""What aarch64_kernels.cpp calls, in src/headroom_native: the files of every program that checks answers."""
ANSWERING = ("kernels/fixed_point.cpp", "kernels/gemv_kernel.cpp", "kernels/gemv_blocks.cpp", "kernels/gemv_neon.cpp", "kernels/gemv_super_blocks.cpp",
             "kernels/gemv_sve.cpp", "kernels/norm_kernel.cpp", "kernels/norm_sve.cpp", "kernels/isa.cpp", "kernels/amx_tiles.cpp", "limits/amx_peak.cpp",
             "limits/copy_kernels.cpp", "limits/peak_kernels.cpp", "limits/read_kernels.cpp", "limits/write_kernels.cpp")
