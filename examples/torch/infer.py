#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates text with a key-value cache that grows with every token, on the CPU unless --device says otherwise, to
be recorded:

    msmemscope --device=cpu --call-stack=python -- python3 infer.py --requests 4

--keep plants a mistake: caches of finished requests stay in a table."""

import argparse

import torch

from model import Transformer, device_named

try:
    import msmemscope
except ImportError:
    msmemscope = None


class Cache:
    """Keys and values of one layer: two tensors that are copied into larger ones for each token."""

    def __init__(self):
        self.keys = self.values = None

    def extend(self, keys, values):
        self.keys = keys if self.keys is None else torch.cat([self.keys, keys], dim=2)
        self.values = values if self.values is None else torch.cat([self.values, values], dim=2)
        return self.keys, self.values

    def size(self):
        return sum(t.numel() * t.element_size() for t in (self.keys, self.values) if t is not None)


class Server:
    def __init__(self, model, keep):
        self.model, self.keep = model, keep
        self.finished = {}

    @torch.no_grad()
    def generate(self, request, prompt, count):
        caches = [Cache() for _ in self.model.blocks]
        ids, past = prompt, 0
        for _ in range(count):
            logits = self.model(ids, caches, past)
            past += ids.shape[1]
            ids = logits[:, -1:].argmax(dim=-1)
        if self.keep:
            self.finished[request] = caches  # right: the caches end with the request
        return sum(cache.size() for cache in caches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=4, help="requests, one after the other (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=48, help="tokens per request (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the caches of finished requests")
    parser.add_argument("--device", default="cpu", help="where to compute: cpu, npu, npu:1 ... (default %(default)s)")
    options = parser.parse_args()
    torch.manual_seed(1)
    server = Server(Transformer().eval().to(device_named(options.device)), options.keep)
    for request in range(options.requests):
        size = server.generate(request, torch.randint(256, (1, 16)).to(options.device), options.tokens)
        print(f"request {request + 1}: {options.tokens} tokens, cache {size} bytes", flush=True)
        if msmemscope is not None:
            msmemscope.step()
    return server


if __name__ == "__main__":
    server = main()
