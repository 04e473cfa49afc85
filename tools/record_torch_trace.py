#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records training steps on the GPU with torch.profiler, for headroom trace to read.

    tools/record_torch_trace.py FILE        exits with 77 if python3 has no torch that sees a GPU
"""
import sys


def main(path):
    try:
        import torch
    except ImportError:
        print("python3 has no torch")
        return 77
    if not torch.cuda.is_available():
        print("torch sees no GPU")
        return 77
    model = torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU()))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(512, 2048)

    def step():
        optimizer.zero_grad()
        loss = model(data.cuda()).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()  # the host waits here, which gives a finding

    for _ in range(3):
        step()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(5):
            step()
        torch.cuda.synchronize()
    profile.export_chrome_trace(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
