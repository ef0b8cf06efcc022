"""Write a language model of random weights: `python tiny_gguf.py PATH`.

Run by the interpreter that has llama.cpp, beside which the package `gguf` is installed. The model
is of llama's architecture with one layer. Its vocabulary is the 256 bytes, so that a token is a
byte, and only small letters have a weight in the output, so that it writes letters without end.
"""

from __future__ import annotations

import sys

import gguf
import numpy as np

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = range(3 + ord("a"), 3 + ord("z") + 1)
WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 16384


def write(path: str) -> None:
    """Write the model; the same bytes every time."""
    draw = np.random.default_rng(0)
    tokens = ["<unk>", "<s>", "</s>", *BYTES, "▁"]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL]

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return draw.normal(0, 0.3, (rows, columns)).astype(np.float32)

    output = np.zeros((len(tokens), WIDTH), np.float32)
    output[LETTERS.start : LETTERS.stop] = matrix(len(LETTERS), WIDTH)
    writer.add_tensor("token_embd.weight", matrix(len(tokens), WIDTH))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", matrix(WIDTH, WIDTH))
    for name in ("ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", matrix(INNER, WIDTH))
    writer.add_tensor("blk.0.ffn_down.weight", matrix(WIDTH, INNER))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", output)

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
