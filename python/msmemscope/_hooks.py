# SPDX-License-Identifier: Apache-2.0
"""Hooks around known functions of frameworks: init_framework_hooks and cleanup_framework_hooks.

One table maps framework, version, component and type to functions, each with the labels for memory allocated in it, or with a
callback for its return. With analysis "decompose" all tables of that type are active automatically.
"""

from __future__ import annotations

import re

from . import _hijack, _native, _recorder
from ._hijack import Hook, Patch, Target
from .describe import COMPONENT, DETAIL_1, DETAIL_2, PROCESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Label = tuple[int, str]

# ---- kinds of hooks ----


class Labels(Hook):
    """Labels what is allocated while the function runs."""

    def __init__(self, *labels: Label) -> None:
        self.labels = labels

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for level, label in self.labels:
            _native.label_push(level, label)

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for level, label in reversed(self.labels):
            _native.label_pop(level, label)


class Callback(Hook):
    """Calls another function after the hooked one has returned."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if done:
            self.function(result, *args, **kwargs)


class Snapshots(Hook):
    """Takes a snapshot of the device before and after."""

    def __init__(self, target: Target) -> None:
        self.name = "@".join(part or "" for part in target)

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._take("Start")

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._take("End")

    def _take(self, what: str) -> None:
        from ._snapshot import take_snapshot

        take_snapshot(name=f"{self.name}@{what}")


# ---- vLLM: tensors are labelled after they were created ----

def label_tensor(tensor: Any, labels: Iterable[Label], seen: set[int] | None = None) -> None:
    """Labels the block that contains a tensor; each address once."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    try:
        address = tensor.data_ptr()
    except (AttributeError, RuntimeError):
        return  # not a tensor, or without memory
    if address == 0 or (seen is not None and address in seen):
        return
    if seen is not None:
        seen.add(address)
    for level, label in labels:
        _native.label_address(level, address, label)


def _tensors_of(module: Any) -> Iterable[Any]:
    yield from module.parameters()
    yield from module.buffers()


def _vllm_weights(result: Any, runner: Any, *args: Any, **kwargs: Any) -> None:
    base: list[Label] = [(COMPONENT, "vllm"), (DETAIL_1, "weights")]
    seen: set[int] = set()
    model = getattr(runner, "model", None)
    for module in model.modules() if model is not None else ():
        for name in ("lora_a", "lora_b"):
            held = getattr(module, name, None)
            for tensor in held.values() if isinstance(held, dict) else ():
                label_tensor(tensor, [*base, (DETAIL_2, "lora")], seen)
    drafter = getattr(getattr(runner, "drafter", None), "model", None)
    for tensor in _tensors_of(drafter) if drafter is not None else ():
        label_tensor(tensor, [*base, (DETAIL_2, "drafter")], seen)
    for tensor in _tensors_of(model) if model is not None else ():
        label_tensor(tensor, base, seen)


def _vllm_specs(runner: Any, config: Any) -> dict[str, Any]:
    ask = getattr(runner, "_get_layer_kv_cache_specs", None)
    if ask is not None:
        return dict(ask(config))
    return {layer: group.kv_cache_spec for group in getattr(config, "kv_cache_groups", ()) for layer in group.layer_names}


def _each_tensor(held: Any) -> Iterable[Any]:
    if isinstance(held, dict):
        held = list(held.values())
    if isinstance(held, (list, tuple)):
        for item in held:
            yield from _each_tensor(item)
    else:
        yield held


def _vllm_cache(result: Any, runner: Any, *args: Any, **kwargs: Any) -> None:
    config = args[0] if args else kwargs.get("kv_cache_config")
    specs = _vllm_specs(runner, config)
    seen: set[int] = set()
    for layer, held in result.items() if isinstance(result, dict) else ():
        if layer not in specs:
            continue
        kind = type(specs[layer]).__name__.lower()
        what = "mamba" if "mamba" in kind else "hidden_state" if "hidden_state" in layer else "attn"
        for tensor in _each_tensor(held):
            label_tensor(tensor, [(COMPONENT, "vllm"), (DETAIL_1, "kv_cache"), (DETAIL_2, what)], seen)


# ---- the table ----

def _in(module: str, owner: str | None, **functions: Hook) -> list[tuple[Target, Hook]]:
    return [(Target(module, owner, function), hook) for function, hook in functions.items()]


def _snapshots(module: str, owner: str | None, *functions: str) -> list[tuple[Target, Hook]]:
    return [(target, Snapshots(target)) for target in (Target(module, owner, function) for function in functions)]


_RUNNER = ("vllm_ascend.worker.model_runner_v1", "NPUModelRunner")
_WORKER = ("vllm_ascend.worker.worker", "NPUWorker")
_FSDP = "torch.distributed.fsdp"
_FSDP2 = f"{_FSDP}._fully_shard"


def _both(function: str, hook: Hook) -> list[tuple[Target, Hook]]:
    """A function that one module defines and another one imports by name."""
    return [(Target(f"{_FSDP2}.{module}", None, function), hook) for module in ("_fsdp_collectives", "_fsdp_param_group")]


def _fsdp1(detail: str | None = None, process: str | None = None) -> Labels:
    return Labels((COMPONENT, "fsdp1"), *_levels(detail, process))


def _fsdp2(detail: str | None = None, process: str | None = None) -> Labels:
    return Labels((COMPONENT, "fsdp2"), *_levels(detail, process))


def _levels(detail: str | None, process: str | None) -> list[Label]:
    return [(level, label) for level, label in ((PROCESS, process), (DETAIL_1, detail)) if label]


_FSDP2_ALWAYS = [
    *_in(f"{_FSDP2}._fsdp_state", "FSDPState", _pre_forward=_fsdp2(process="activation"),
         _post_forward=_fsdp2(process="activation"), _pre_backward=_fsdp2(process="backward")),
    *_in(f"{_FSDP2}._fsdp_param_group", "FSDPParamGroup", post_backward=_fsdp2(process="backward")),
    *_in(f"{_FSDP2}._fsdp_param", "FSDPParam", _init_sharded_param=_fsdp2("sharded_weight"),
         init_all_gather_outputs=_fsdp2("all_gather_output")),
]

# framework -> version -> component -> type -> functions
_TABLE: dict[str, dict[str, dict[str, dict[str, list[tuple[Target, Hook]]]]]] = {
    "vllm_ascend": {"11.0": {"worker": {
        "decompose": [
            *_in(*_RUNNER, profile_run=Labels((COMPONENT, "vllm"), (PROCESS, "profile")),
                 execute_model=Labels((COMPONENT, "vllm"), (PROCESS, "serve")),
                 capture_model=Labels((DETAIL_1, "graph_pool")), load_model=Callback(_vllm_weights),
                 initialize_kv_cache_tensors=Callback(_vllm_cache)),
            *_in(*_WORKER, compile_or_warm_up_model=Labels((COMPONENT, "vllm"), (PROCESS, "warmup"))),
        ],
        "snapshot": [
            *_snapshots(*_RUNNER, "load_model", "profile_run", "initialize_kv_cache", "execute_model", "capture_model"),
            *_snapshots(*_WORKER, "compile_or_warm_up_model"),
        ],
    }}},
    "pytorch": {
        "2.6+": {"fsdp1": {"decompose": [
            *_in(f"{_FSDP}.fully_sharded_data_parallel", "FullyShardedDataParallel", forward=_fsdp1(process="activation")),
            *_in(f"{_FSDP}._runtime_utils", None, _pre_backward_hook=_fsdp1(process="backward"),
                 _post_backward_hook=_fsdp1(process="backward"), _reduce_grad=_fsdp1("gradient")),
            *_in(f"{_FSDP}._flat_param", "FlatParamHandle", _init_flat_param_and_metadata=_fsdp1("sharded_weight"),
                 _alloc_padded_unsharded_flat_param=_fsdp1("all_gather")),
        ]}},
        "2.6-2.9": {"fsdp2": {"decompose": [
            *_FSDP2_ALWAYS, *_both("foreach_all_gather", _fsdp2("all_gather_output")),
            *_both("foreach_reduce", _fsdp2("gradient")),
        ]}},
        "2.10+": {"fsdp2": {"decompose": [
            *_FSDP2_ALWAYS,
            *_in(f"{_FSDP2}._fsdp_collectives", "DefaultAllGather", allocate=_fsdp2("all_gather_output")),
            *_in(f"{_FSDP2}._fsdp_collectives", "DefaultReduceScatter", allocate=_fsdp2("gradient")),
        ]}},
    },
    "mindspeed_llm": {"0.12.1": {"training": {"snapshot": [
        *_snapshots("mindspeed_llm.training.training", None, "train", "train_step"),
        *_snapshots("megatron.training.training", None, "setup_model_and_optimizer", "get_model"),
        *_snapshots("megatron.core.optimizer", None, "get_megatron_optimizer"),
        *_snapshots("mindspeed_llm.core.models.gpt.gpt_model", "GPTModel", "forward", "compute_language_model_loss"),
        *_snapshots("mindspeed_llm.core.transformer.transformer_block", "TransformerBlock", "forward"),
        *_snapshots("mindspeed_llm.core.transformer.transformer_layer", "TransformerLayer", "forward"),
        *_snapshots("mindspeed_llm.core.transformer.attention", "SelfAttention", "forward"),
        *_snapshots("mindspeed_llm.core.transformer.mlp", "MLP", "forward"),
        *_snapshots("mindspeed_llm.core.transformer.moe.moe_layer", "MoELayer", "forward"),
        *_snapshots("mindspeed_llm.core.transformer.moe.router", "TopKRouter", "forward"),
        *_snapshots("megatron.core.pipeline_parallel.schedules", None, "backward_step"),
        *_snapshots("mindspeed_llm.core.pipeline_parallel.dualpipe.gpt_model", None, "gpt_model_backward"),
        *_snapshots("megatron.core.tensor_parallel.cross_entropy", None, "vocab_parallel_cross_entropy"),
        *[entry for owner in ("MegatronOptimizer", "MixedPrecisionOptimizer", "Float16OptimizerWithFloat16Params",
                              "FP32Optimizer", "ChainedOptimizer")
          for entry in _snapshots("megatron.core.optimizer.optimizer", owner, "step")],
        *_snapshots("megatron.core.optimizer.distrib_optimizer", "DistributedOptimizer", "step_with_ready_grads"),
    ]}}},
    "verl": {"0.7.0": {"TaskRunner": {"snapshot": _snapshots(
        "verl.trainer.main_ppo", "TaskRunner", "add_actor_rollout_worker", "add_critic_worker", "add_reward_model_worker",
        "add_ref_policy_worker", "run")}}},
}


# ---- versions ----

def _numbers(version: str) -> tuple[int, int, int]:
    """Three numbers from a version such as "2.6.0a0+git"; suffixes are cut off."""
    parts = [int(match[0]) if (match := re.match(r"\d+", part)) else 0 for part in version.split("+")[0].split(".")[:3]]
    return tuple((*parts, 0, 0)[:3])  # type: ignore[return-value]


def version_matches(key: str, version: str) -> bool:
    if key == "*":
        return True
    if key.endswith("+"):
        return _numbers(version) >= _numbers(key[:-1])
    if "-" in key:
        first, _, last = key.partition("-")
        branch = _numbers(last)[:2] if last.count(".") < 2 else _numbers(last)
        return _numbers(version) >= _numbers(first) and _numbers(version)[:len(branch)] <= branch
    return _numbers(version) == _numbers(key)


def _matching(versions: dict[str, Any], version: str) -> list[str]:
    if version in versions:
        return [version]
    return [key for key in versions if version_matches(key, version)]


# ---- active hooks ----

_manual: dict[Target, Patch] = {}
_automatic: dict[Target, Patch] = {}
_asked = False  # the program has chosen tables itself: no automatic ones from then on


def init_framework_hooks(framework: str, version: str, component: str, hook_type: str) -> None:
    """Hooks the known functions of a framework component: hook_type "decompose" labels the memory that they allocate, "snapshot"
    takes a snapshot of the device before and after each. Functions in modules that are not loaded yet are hooked when the
    module is loaded."""
    global _asked
    for name, value in (("framework", framework), ("version", version), ("component", component), ("hook_type", hook_type)):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    versions = _TABLE.get(framework)
    if versions is None:
        return _recorder.complain(f"unknown framework '{framework}'; known: {', '.join(_TABLE)}.")
    keys = _matching(versions, version)
    if not keys:
        return _recorder.complain(f"version '{version}' of {framework} is not supported; supported: {', '.join(versions)}.")
    components = {name: kinds for key in keys for name, kinds in versions[key].items()}
    if component not in components:
        return _recorder.complain(f"unknown component '{component}' of {framework} {version}; known: {', '.join(components)}.")
    tables = [versions[key][component] for key in keys if component in versions[key]]
    if not any(hook_type in kinds for kinds in tables):
        known = ", ".join(dict.fromkeys(kind for kinds in tables for kind in kinds))
        return _recorder.complain(f"unknown type '{hook_type}' of {framework} {component}; known: {known}.")
    if hook_type == "decompose":
        _asked = True
        _release(_automatic)
    for kinds in tables:
        _put(_manual, kinds.get(hook_type, []))
    return None


def cleanup_framework_hooks() -> None:
    """Removes all hooks of frameworks."""
    _release(_manual, _automatic)


def enable_automatic() -> None:
    """Installs all hooks that label memory, unless the program has chosen tables itself."""
    if _asked:
        return
    for versions in _TABLE.values():
        for components in versions.values():
            for kinds in components.values():
                _put(_automatic, kinds.get("decompose", []))


def disable_automatic() -> None:
    _release(_automatic)


def _put(place: dict[Target, Patch], entries: list[tuple[Target, Hook]]) -> None:
    for target, hook in entries:
        if target in place:
            continue
        try:
            place[target] = _hijack.add(Patch(target, hook))
        except Exception as error:
            _recorder.warn(f"{'.'.join(filter(None, target))} cannot be hooked: {error}")


def _release(*places: dict[Target, Patch]) -> None:
    _hijack.remove(*[patch for place in places for patch in reversed(place.values())])
    for place in places:
        place.clear()
