#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds adaptors for external libraries, and prints the options of `headroom run` that load them.

  bench/peers/build.py OUT [--mkl DIR] [--onednn DIR] [--ggml DIR] [--llama DIR]

DIR has headers and library at any depth, as after

  python3 -m venv DIR && DIR/bin/pip install --no-deps mkl mkl-include
  python3 -m venv DIR && DIR/bin/pip install onednn onednn-devel
  cmake -S llama.cpp -B llama.cpp/build -DBUILD_SHARED_LIBS=ON -DGGML_OPENMP=OFF && cmake --build llama.cpp/build --target ggml-cpu

--llama builds OUT/llama_passes for bench/llm_beside_ggml.py from a whole llama.cpp (targets llama and ggml-cpu).

PyPI's oneDNN runs on SYCL with its own threads: pass threads=own, and set OCL_ICD_FILENAMES=DIR/lib/libintelocl.so.

Then: bench/kernels_at_limit.py build/release/bin gemv -a dtype=bf16 --peer OUT/libmkl_gemv.so:mkl_gemv,dtype=bf16 --peer ...
"""
import argparse
import pathlib
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parent
# Source, header and library to find the folders by, functions with options.
PEERS = {
    "mkl": ("mkl_gemv.c", "mkl_cblas.h", "libmkl_rt.so*", ["mkl_gemv,dtype=bf16"]),
    "onednn": ("onednn_gemv.cpp", "oneapi/dnnl/dnnl.hpp", "libdnnl.so*", ["onednn3,dtype=bf16,threads=own", "onednn3_packed,dtype=bf16,threads=own"]),
    "ggml": ("ggml_gemv.c", "ggml-cpu.h", "libggml-cpu.so*", ["ggml_gemv,dtype=bf16"]),
}


def found(folder, name):
    files = sorted(folder.rglob(name))
    if not files:
        sys.exit(f"{folder}: no {name} in this folder; see --help for how to install it")
    return files[0]


def build(folder, out, source, header, library, symbols):
    include = found(folder, header)
    for _ in pathlib.PurePath(header).parts:
        include = include.parent
    binary = found(folder, library)
    # Dependencies are next to the library or below it (ggml's parts, compiler run times).
    paths = [f"-Wl,-rpath,{path}" for path in sorted({file.parent for file in folder.rglob("*.so*")})]
    others = [str(found(folder, "libggml-base.so*"))] if "ggml" in library else []
    target = out / f"lib{pathlib.Path(source).stem}.so"
    compiler = ["g++", "-std=c++20"] if source.endswith(".cpp") else ["gcc"]
    command = [*compiler, "-O3", "-march=native", "-shared", "-fPIC", "-Wall", "-I", SOURCES.parents[1] / "src", "-I", include,
               SOURCES / source, "-o", target, binary, *others, *paths, "-Wl,--disable-new-dtags"]
    if subprocess.run([str(word) for word in command], check=False).returncode != 0:
        sys.exit(f"{source} was not built")
    for symbol in symbols:
        print(f"--peer {target}:{symbol}")


def build_program(folder, out):
    """Builds llama_passes; headers of llama.cpp and its ggml are in different folders."""
    includes = [f"-I{found(folder, name).parent}" for name in ("llama.h", "ggml.h")]
    libraries = [found(folder, name) for name in ("libllama.so", "libggml.so", "libggml-base.so")]
    paths = [f"-Wl,-rpath,{path}" for path in sorted({library.parent for library in libraries})]
    command = ["gcc", "-O2", "-Wall", *includes, SOURCES / "llama_passes.c", *libraries, *paths, "-o", out / "llama_passes"]
    finished = subprocess.run([str(word) for word in command], check=False)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: ended with {finished.returncode}")
    print(out / "llama_passes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    for name in PEERS:
        parser.add_argument(f"--{name}", type=pathlib.Path, metavar="DIR", help=f"folder of {name}")
    parser.add_argument("--llama", type=pathlib.Path, metavar="DIR", help="folder of a whole, built llama.cpp")
    arguments = parser.parse_args()
    chosen = [name for name in PEERS if getattr(arguments, name)]
    if not chosen and not arguments.llama:
        parser.error("nothing to build: name a folder with --mkl, --onednn, --ggml or --llama")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        build(getattr(arguments, name).resolve(), arguments.out.resolve(), *PEERS[name])
    if arguments.llama:
        build_program(arguments.llama.resolve(), arguments.out.resolve())


if __name__ == "__main__":
    main()
