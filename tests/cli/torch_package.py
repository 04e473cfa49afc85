# SPDX-License-Identifier: Apache-2.0
"""Writes one module twice, for torch_modules_test.py: torch_package.py FOLDER

    scripted.pt    as TorchScript
    compiled.pt2   as a package that AOTInductor has compiled
"""
import sys

import torch


def main():
    folder = sys.argv[1]
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()
    rows = torch.randn(4, 16)
    with torch.no_grad():
        torch.jit.trace(module, rows).save(f"{folder}/scripted.pt")
        torch._inductor.aoti_compile_and_package(torch.export.export(module, (rows,)),
                                                 package_path=f"{folder}/compiled.pt2")


if __name__ == "__main__":
    main()
