# SPDX-License-Identifier: Apache-2.0
"""A GGUF file of a Llama with random weights, for programs of the ggml family.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3.
"""
import math
import os
import struct

ALIGNMENT = 32
UINT32, FLOAT32, STRING = 4, 6, 8  # metadata types
F32_RANDOM = -1  # F32 whose values are not all 1
F32, Q4_0, Q8_0, Q4_K, Q5_K, Q6_K, BF16 = 0, 2, 8, 12, 13, 14, 30  # tensor types
LLAMA2_7B = {"dim": 4096, "heads": 32, "kv_heads": 32, "hidden": 11008, "vocab": 32000}
BLOCK = 1 << 20  # values made at once, then repeated


def random_bf16(count):
    """Magnitudes from 2^-9 to 2^-5, random sign."""
    values = bytearray(2 * count)
    values[0::2] = os.urandom(count)
    values[1::2] = os.urandom(count).translate(bytes((0xBC if i & 1 else 0x3C) - (i >> 1 & 1) for i in range(256)))
    return bytes(values)


def random_blocks(count, weights, size, at, scales):
    """`count` numbers in blocks of `weights`, `size` bytes each: random, except for the bytes `scales` at offset `at`."""
    blocks = count // weights
    values = bytearray(os.urandom(size * blocks))
    for i, byte in enumerate(scales):
        values[at + i::size] = bytes([byte]) * blocks
    return bytes(values)


def random_q8_0(count):
    """A binary16 scale (0.0005), then 32 signed bytes."""
    return random_blocks(count, 32, 34, 0, struct.pack("<e", 0.0005))


def random_q4_0(count):
    """A binary16 scale (0.01), then 32 values of 4 bits."""
    return random_blocks(count, 32, 18, 0, struct.pack("<e", 0.01))


def random_q4_k(count):
    """A binary16 scale and minimum, eight 6-bit scales and minima, then 256 values of 4 bits."""
    return random_blocks(count, 256, 144, 0, struct.pack("<ee", 0.0002, 0.0015))


def random_q5_k(count):
    """Like Q4_K, with 32 bytes of fifth bits before the halves."""
    return random_blocks(count, 256, 176, 0, struct.pack("<ee", 0.0001, 0.0015))


def random_q6_k(count):
    """256 values of 6 bits, sixteen 8-bit scales, and a binary16 scale."""
    return random_blocks(count, 256, 210, 208, struct.pack("<e", 0.00002))


def ones(count):
    return struct.pack("<f", 1.0) * count


def random_f32(count):
    """The values of BF16 times sixteen, so that a gate's scores differ."""
    halves = random_bf16(count)
    values = bytearray(4 * count)
    values[2::4], values[3::4] = halves[0::2], halves[1::2].translate(bytes((i + 2) & 0xFF for i in range(256)))
    return bytes(values)


MAKERS = {F32: (ones, 4), F32_RANDOM: (random_f32, 4), BF16: (random_bf16, 2), Q8_0: (random_q8_0, 34 / 32), Q4_0: (random_q4_0, 18 / 32),
          Q4_K: (random_q4_k, 144 / 256), Q5_K: (random_q5_k, 176 / 256), Q6_K: (random_q6_k, 210 / 256)}


def head_of(config):
    return config.get("head", config["dim"] // config["heads"])


def tensors_of(config, layers, dtype, family="llama"):
    """Yields (name, shape with the fastest dimension first, type) of each tensor. Optional keys of a config: "experts" and how many are
    "chosen"; "shared", the width of the expert for all tokens (family qwen2moe); "head", a separate head size."""
    dim, hidden, vocab = config["dim"], config["hidden"], config["vocab"]
    head = head_of(config)
    q_dim, kv_dim = head * config["heads"], head * config["kv_heads"]
    tensors = [("token_embd.weight", (dim, vocab), dtype)]
    for layer in range(layers):
        matrices = {"attn_q": (dim, q_dim), "attn_k": (dim, kv_dim), "attn_v": (dim, kv_dim), "attn_output": (q_dim, dim)}
        feed_forward = {"ffn_gate": (dim, hidden), "ffn_up": (dim, hidden), "ffn_down": (hidden, dim)}
        if "experts" in config:
            matrices.update({f"{name}_exps": (*shape, config["experts"]) for name, shape in feed_forward.items()})
            tensors.append((f"blk.{layer}.ffn_gate_inp.weight", (dim, config["experts"]), F32_RANDOM))
        else:
            matrices.update(feed_forward)
        if "shared" in config:
            shared = config["shared"]
            matrices.update({"ffn_gate_shexp": (dim, shared), "ffn_up_shexp": (dim, shared), "ffn_down_shexp": (shared, dim)})
            tensors.append((f"blk.{layer}.ffn_gate_inp_shexp.weight", (dim,), F32_RANDOM))
        tensors += [(f"blk.{layer}.{name}.weight", shape, dtype) for name, shape in matrices.items()]
        tensors += [(f"blk.{layer}.{name}.weight", (dim,), F32) for name in ("attn_norm", "ffn_norm")]
        if family.startswith("qwen2"):
            sizes = {"q": q_dim, "k": kv_dim, "v": kv_dim}
            tensors += [(f"blk.{layer}.attn_{name}.bias", (rows,), F32) for name, rows in sizes.items()]
    return tensors + [("output_norm.weight", (dim,), F32), ("output.weight", (dim, vocab), dtype)]


def bytes_of(shape, kind):
    count = 1
    for size in shape:
        count *= size
    return int(count * MAKERS[kind][1])


def activated_bytes(config, layers, dtype, family="llama"):
    """Bytes read per token: all weights except the embedding and the experts not chosen."""
    share = config.get("chosen", 1) / config.get("experts", 1)
    return sum(bytes_of(shape, kind) * (share if len(shape) == 3 else 1)
               for name, shape, kind in tensors_of(config, layers, dtype, family) if name != "token_embd.weight")


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def llama3_factors(config):
    """Divisors of the frequencies in Llama 3.1 (base 10000): 8 for long waves, 1 for short ones. Source: llama.cpp's
    convert_hf_to_gguf.py, which writes them as the tensor rope_freqs.weight."""
    head, original = config["dim"] // config["heads"], 8192
    factors = []
    for pair in range(head // 2):
        wave = 2 * math.pi * 10000 ** (2 * pair / head)
        smooth = (original / wave - 1) / (4 - 1)
        factors.append(1 if wave < original / 4 else 8 if wave > original else 1 / ((1 - smooth) / 8 + smooth))
    return factors


# Metadata entries for scaled rotations, after the family's name.
SCALINGS = {"linear": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
            "yarn": {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 256},
            "llama3": {}}


def entry(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    return text(key) + (struct.pack("<If", FLOAT32, value) if isinstance(value, float) else struct.pack("<II", UINT32, value))


def metadata(config, layers, family="llama", scaling=None):
    head = head_of(config)
    numbers = {"context_length": 4096, "embedding_length": config["dim"], "block_count": layers,
               "feed_forward_length": config["hidden"], "rope.dimension_count": head, "vocab_size": config["vocab"],
               "attention.head_count": config["heads"], "attention.head_count_kv": config["kv_heads"]}
    if "head" in config:
        numbers.update({"attention.key_length": head, "attention.value_length": head})
    if "experts" in config:
        numbers.update({"expert_count": config["experts"], "expert_used_count": config["chosen"]})
    if "shared" in config:
        numbers.update({"expert_feed_forward_length": config["hidden"], "expert_shared_feed_forward_length": config["shared"]})
    entries = [text(key) + struct.pack("<I", STRING) + text(value)
               for key, value in (("general.architecture", family), ("tokenizer.ggml.model", "no_vocab"))]
    entries += [text(f"{family}.{key}") + struct.pack("<II", UINT32, value) for key, value in numbers.items()]
    entries.append(text(f"{family}.attention.layer_norm_rms_epsilon") + struct.pack("<If", FLOAT32, 1e-5))
    return entries + [entry(f"{family}.{key}", value) for key, value in SCALINGS.get(scaling, {}).items()]


def louder(values, times):
    """bf16 times 4^times: large queries and keys make attention depend on the position."""
    values = bytearray(values)
    values[1::2] = values[1::2].translate(bytes((i + times) & 0xFF for i in range(256)))
    return bytes(values)


def padded(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def write_model(path, config, layers, dtype, family="llama", scaling=None):
    """Writes a model of `layers` layers with matrices of `dtype` (a key of MAKERS), norms of F32 and the rotation scaling `scaling`
    (a key of SCALINGS), with which queries and keys of BF16 are larger (see `louder`)."""
    tensors, entries = tensors_of(config, layers, dtype, family), metadata(config, layers, family, scaling)
    factors = llama3_factors(config) if scaling == "llama3" else []
    if factors:
        tensors.append(("rope_freqs.weight", (len(factors),), F32))
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries)
    offset = 0
    for name, shape, kind in tensors:
        header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, max(kind, F32), offset)
        offset += padded(bytes_of(shape, kind))
    blocks = {kind: make(BLOCK) for kind, (make, _) in MAKERS.items()}
    with open(path, "wb") as file:
        file.write(header + bytes(padded(len(header)) - len(header)))
        for name, shape, kind in tensors:
            if name == "rope_freqs.weight":
                file.write(struct.pack(f"<{len(factors)}f", *factors).ljust(padded(4 * len(factors)), bytes(1)))
                continue
            left = bytes_of(shape, kind)
            end = padded(left) - left
            block = blocks[kind]
            if left < len(block):  # small tensors differ, so that the compared logits do
                block = MAKERS[kind][0](int(left / MAKERS[kind][1]))
            if scaling and kind == BF16:
                block = louder(block, 2 if "attn_q." in name else 1 if "attn_k." in name else 0)
            while left > 0:
                file.write(block[:left])
                left -= len(block)
            file.write(bytes(end))


def forget_scaling(path, scaling):
    """Removes the rotation scaling of write_model's file: sets its factors to 1 in place."""
    content = bytearray(path.read_bytes())
    if scaling == "llama3":
        start = content.index(text("rope_freqs.weight")) + len(text("rope_freqs.weight"))
        dimensions, count, _, offset = struct.unpack_from("<IQIQ", content, start)
        assert dimensions == 1
        end = start + struct.calcsize("<IQIQ")  # it is the last tensor
        struct.pack_into(f"<{count}f", content, padded(end) + offset, *[1.0] * count)
    else:
        written = entry("llama.rope.scaling.factor", SCALINGS[scaling]["rope.scaling.factor"])
        at = content.index(written)
        content[at:at + len(written)] = entry("llama.rope.scaling.factor", 1.0)
    path.write_bytes(content)
