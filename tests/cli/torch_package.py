# SPDX-License-Identifier: Apache-2.0
"""Writes modules for torch_packages_test.py: torch_package.py FOLDER
NAME.pt     as TorchScript
NAME.pt2    as a package compiled by AOTInductor
layers: f32[4,16] to f32[4,8]. pair: the same, with the row sums in a tuple. product: f32[3,4,5] times f32[3,5,6].
doubled: f32[1024], entirely AOTInductor's code."""
import sys

import torch


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 8)

    def forward(self, rows):
        result = self.layer(rows)
        return result, result.sum(1)


class Product(torch.nn.Module):
    def forward(self, left, right):
        return torch.bmm(left, right)


class Doubled(torch.nn.Module):
    def forward(self, values):
        return torch.relu(values) * 2 + 1


def write(folder, name, module, *inputs):
    torch.jit.trace(module, inputs).save(f"{folder}/{name}.pt")
    torch._inductor.aoti_compile_and_package(torch.export.export(module, inputs), package_path=f"{folder}/{name}.pt2")


def main():
    folder = sys.argv[1]
    torch.manual_seed(1)
    rows = torch.randn(4, 16)
    with torch.no_grad():
        write(folder, "layers",
              torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval(), rows)
        write(folder, "pair", Pair().eval(), rows)
        write(folder, "product", Product().eval(), torch.randn(3, 4, 5), torch.randn(3, 5, 6))
        write(folder, "doubled", Doubled().eval(), torch.randn(1024))


if __name__ == "__main__":
    main()
