# SPDX-License-Identifier: Apache-2.0
"""Writes a small model of the architecture llama with random weights, as a GGUF file (version 3)."""

import random
import struct

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY, CONTEXT = 3, 128, 4, 2, 256, 160, 256
ALIGNMENT = 32
U32, F32, TEXT, ARRAY, I32 = 4, 6, 8, 9, 5  # types of metadata
NORMAL_TOKEN_TYPES = {"<unk>": 2, "<s>": 3, "</s>": 3}
USER_DEFINED = 4


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind, values):
    items = b"".join(text(value) for value in values) if kind == TEXT else struct.pack(f"<{len(values)}{'fi'[kind == I32]}", *values)
    return struct.pack("<IQ", kind, len(values)) + items


def entry(key, kind, value):
    data = {U32: lambda: struct.pack("<I", value), F32: lambda: struct.pack("<f", value), TEXT: lambda: text(value),
            ARRAY: lambda: array(*value)}[kind]()
    return text(key) + struct.pack("<I", kind) + data


def as_f32(values):
    return struct.pack(f"<{len(values)}f", *values)


def as_f16(values):
    return struct.pack(f"<{len(values)}e", *values)


def as_q8_0(values):
    """Blocks of 32: a scale as f16, then bytes."""
    blocks = []
    for start in range(0, len(values), 32):
        block = values[start:start + 32]
        scale = max(abs(value) for value in block) / 127
        blocks.append(struct.pack("<e32b", scale, *(round(value / scale) if scale else 0 for value in block)))
    return b"".join(blocks)


def as_q4_0(values):
    """Blocks of 32: a scale as f16, then 16 bytes; values i and i + 16 share a byte, and 8 means zero."""
    blocks = []
    for start in range(0, len(values), 32):
        block = values[start:start + 32]
        scale = max(block, key=abs) / -8
        codes = [min(15, int(value / scale + 8.5)) if scale else 8 for value in block]
        blocks.append(struct.pack("<e16B", scale, *(codes[i] | codes[i + 16] << 4 for i in range(16))))
    return b"".join(blocks)


TYPES = {"f32": (0, as_f32), "f16": (1, as_f16), "q4_0": (2, as_q4_0), "q8_0": (8, as_q8_0)}


def tokens():
    """Text of every token. Each is a unit, so that text is tokens and the other way around."""
    return [*NORMAL_TOKEN_TYPES, *(f"<{i}>" for i in range(VOCABULARY - len(NORMAL_TOKEN_TYPES)))]


def weights():
    """name, dimensions (innermost first), standard deviation of the values; 0: all are one"""
    kv = WIDTH // HEADS * KV_HEADS
    yield "token_embd.weight", (WIDTH, VOCABULARY), 1.0
    yield "output_norm.weight", (WIDTH,), 0
    yield "output.weight", (WIDTH, VOCABULARY), 1.0
    for layer in range(LAYERS):
        for name, rows, columns in (("attn_q", WIDTH, WIDTH), ("attn_k", kv, WIDTH), ("attn_v", kv, WIDTH), ("attn_output", WIDTH, WIDTH),
                                    ("ffn_gate", HIDDEN, WIDTH), ("ffn_up", HIDDEN, WIDTH), ("ffn_down", WIDTH, HIDDEN)):
            yield f"blk.{layer}.{name}.weight", (columns, rows), 2.0 / columns ** 0.5
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", (WIDTH,), 0


def metadata():
    names = tokens()
    return [
        entry("general.architecture", TEXT, "llama"), entry("general.alignment", U32, ALIGNMENT),
        entry("llama.block_count", U32, LAYERS), entry("llama.context_length", U32, CONTEXT),
        entry("llama.embedding_length", U32, WIDTH), entry("llama.feed_forward_length", U32, HIDDEN),
        entry("llama.attention.head_count", U32, HEADS), entry("llama.attention.head_count_kv", U32, KV_HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5), entry("llama.rope.dimension_count", U32, WIDTH // HEADS),
        entry("tokenizer.ggml.model", TEXT, "llama"), entry("tokenizer.ggml.tokens", ARRAY, (TEXT, names)),
        entry("tokenizer.ggml.scores", ARRAY, (F32, [0.0] * len(names))),
        entry("tokenizer.ggml.token_type", ARRAY, (I32, [NORMAL_TOKEN_TYPES.get(name, USER_DEFINED) for name in names])),
        entry("tokenizer.ggml.unknown_token_id", U32, 0), entry("tokenizer.ggml.bos_token_id", U32, 1),
        entry("tokenizer.ggml.eos_token_id", U32, 2),
    ]


def write_model(path, kind, seed=1):
    """kind: type of the matrices (f32, f16, q8_0, q4_0). Vectors are f32."""
    generator = random.Random(seed)
    infos, data = [], b""
    for name, dims, deviation in weights():
        count = dims[0] * (dims[1] if len(dims) == 2 else 1)
        values = [generator.gauss(0, deviation) for _ in range(count)] if deviation else [1.0] * count
        number, pack = TYPES[kind if len(dims) == 2 else "f32"]
        infos.append(text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, len(data)))
        data += pack(values)
        data += bytes(-len(data) % ALIGNMENT)
    pairs = metadata()
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(infos), len(pairs)) + b"".join(pairs + infos)
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
