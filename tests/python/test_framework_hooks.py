# SPDX-License-Identifier: Apache-2.0
"""init_framework_hooks and cleanup_framework_hooks with stub frameworks: lazy, exact, and removable without residue."""

import sys
import textwrap

import pytest

VLLM = {
    "vllm_ascend/__init__.py": "",
    "vllm_ascend/worker/__init__.py": "",
    "vllm_ascend/worker/model_runner_v1.py": """
        class NPUModelRunner:
            def execute_model(self, fail=False):
                '''Runs.'''
                if fail:
                    raise KeyError("no")
                return 7
            def load_model(self):
                return None
            def initialize_kv_cache_tensors(self, kv_cache_config):
                return {"layer0": Tensor(4096), "layer1": [Tensor(8192)], "unknown": Tensor(16384)}
            def _get_layer_kv_cache_specs(self, config):
                return {"layer0": AttentionSpec(), "layer1": MambaSpec()}
        class AttentionSpec: pass
        class MambaSpec: pass
        class Tensor:
            def __init__(self, address): self.address = address
            def data_ptr(self): return self.address
    """,
    "vllm_ascend/worker/worker.py": "class NPUWorker:\n    @staticmethod\n    def compile_or_warm_up_model(): return 'warm'\n",
}

# Calls of the package to the recorder are logged instead.
PRELUDE = """
    import sys
    from msmemscope import _native
    calls = []
    _native.label_push = lambda level, label: calls.append(("+", level, label))
    _native.label_pop = lambda level, label: calls.append(("-", level, label))
    _native.label_address = lambda level, address, label: calls.append((address, level, label))
    import msmemscope
    hooks = lambda kind="decompose", version="11.0": msmemscope.init_framework_hooks("vllm_ascend", version, "worker", kind)
"""


@pytest.fixture
def run(softnpu, build, tmp_path):
    for name, text in VLLM.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def run(text):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(PRELUDE) + textwrap.dedent(text))
        done = softnpu.run(sys.executable, script, PYTHONPATH=f"{build / 'msmemscope' / 'python'}:{tmp_path}", MSMEMSCOPE_SHADOW=0)
        assert done.returncode == 0, done.stdout + done.stderr
        return done
    return run


@pytest.mark.parametrize("order", ["hooks(); ", ""])
def test_labels_apply_while_function_runs(run, order):
    run(f"""
        {order}from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        hooks()
        assert NPUModelRunner().execute_model() == 7
        assert calls == [("+", 1, "vllm"), ("+", 2, "serve"), ("-", 2, "serve"), ("-", 1, "vllm")], calls
        assert NPUModelRunner.execute_model.__doc__ == "Runs." and NPUModelRunner.execute_model.__name__ == "execute_model"
    """)


LABELS = {"C": 1, "P": 2, "D": 3}

# Functions and their hooks, as tools that use them expect.
TABLE = """
vllm_ascend 11.0 worker decompose
    vllm_ascend.worker.model_runner_v1 NPUModelRunner profile_run       C=vllm P=profile
    vllm_ascend.worker.model_runner_v1 NPUModelRunner execute_model     C=vllm P=serve
    vllm_ascend.worker.model_runner_v1 NPUModelRunner capture_model     D=graph_pool
    vllm_ascend.worker.worker NPUWorker compile_or_warm_up_model        C=vllm P=warmup
vllm_ascend 11.0 worker snapshot
    vllm_ascend.worker.model_runner_v1 NPUModelRunner load_model
    vllm_ascend.worker.model_runner_v1 NPUModelRunner profile_run
    vllm_ascend.worker.model_runner_v1 NPUModelRunner initialize_kv_cache
    vllm_ascend.worker.model_runner_v1 NPUModelRunner execute_model
    vllm_ascend.worker.model_runner_v1 NPUModelRunner capture_model
    vllm_ascend.worker.worker NPUWorker compile_or_warm_up_model
pytorch 2.6.0 fsdp1 decompose
    torch.distributed.fsdp.fully_sharded_data_parallel FullyShardedDataParallel forward       C=fsdp1 P=activation
    torch.distributed.fsdp._runtime_utils - _pre_backward_hook                                C=fsdp1 P=backward
    torch.distributed.fsdp._runtime_utils - _post_backward_hook                               C=fsdp1 P=backward
    torch.distributed.fsdp._runtime_utils - _reduce_grad                                      C=fsdp1 D=gradient
    torch.distributed.fsdp._flat_param FlatParamHandle _init_flat_param_and_metadata          C=fsdp1 D=sharded_weight
    torch.distributed.fsdp._flat_param FlatParamHandle _alloc_padded_unsharded_flat_param     C=fsdp1 D=all_gather
pytorch 2.9.1 fsdp2 decompose
    torch.distributed.fsdp._fully_shard._fsdp_state FSDPState _pre_forward                    C=fsdp2 P=activation
    torch.distributed.fsdp._fully_shard._fsdp_state FSDPState _post_forward                   C=fsdp2 P=activation
    torch.distributed.fsdp._fully_shard._fsdp_state FSDPState _pre_backward                   C=fsdp2 P=backward
    torch.distributed.fsdp._fully_shard._fsdp_param_group FSDPParamGroup post_backward        C=fsdp2 P=backward
    torch.distributed.fsdp._fully_shard._fsdp_param FSDPParam _init_sharded_param             C=fsdp2 D=sharded_weight
    torch.distributed.fsdp._fully_shard._fsdp_param FSDPParam init_all_gather_outputs         C=fsdp2 D=all_gather_output
    torch.distributed.fsdp._fully_shard._fsdp_collectives - foreach_all_gather                C=fsdp2 D=all_gather_output
    torch.distributed.fsdp._fully_shard._fsdp_collectives - foreach_reduce                    C=fsdp2 D=gradient
    torch.distributed.fsdp._fully_shard._fsdp_param_group - foreach_all_gather                C=fsdp2 D=all_gather_output
    torch.distributed.fsdp._fully_shard._fsdp_param_group - foreach_reduce                    C=fsdp2 D=gradient
pytorch 2.10.0a0 fsdp2 decompose
    torch.distributed.fsdp._fully_shard._fsdp_state FSDPState _pre_forward                    C=fsdp2 P=activation
    torch.distributed.fsdp._fully_shard._fsdp_collectives DefaultAllGather allocate           C=fsdp2 D=all_gather_output
    torch.distributed.fsdp._fully_shard._fsdp_collectives DefaultReduceScatter allocate       C=fsdp2 D=gradient
verl 0.7.0 TaskRunner snapshot
    verl.trainer.main_ppo TaskRunner add_actor_rollout_worker
    verl.trainer.main_ppo TaskRunner add_critic_worker
    verl.trainer.main_ppo TaskRunner add_reward_model_worker
    verl.trainer.main_ppo TaskRunner add_ref_policy_worker
    verl.trainer.main_ppo TaskRunner run
mindspeed_llm 0.12.1 training snapshot
    mindspeed_llm.training.training - train
    mindspeed_llm.training.training - train_step
    megatron.training.training - setup_model_and_optimizer
    megatron.training.training - get_model
    megatron.core.optimizer - get_megatron_optimizer
    mindspeed_llm.core.models.gpt.gpt_model GPTModel forward
    mindspeed_llm.core.models.gpt.gpt_model GPTModel compute_language_model_loss
    mindspeed_llm.core.transformer.transformer_block TransformerBlock forward
    mindspeed_llm.core.transformer.transformer_layer TransformerLayer forward
    mindspeed_llm.core.transformer.attention SelfAttention forward
    mindspeed_llm.core.transformer.mlp MLP forward
    mindspeed_llm.core.transformer.moe.moe_layer MoELayer forward
    mindspeed_llm.core.transformer.moe.router TopKRouter forward
    megatron.core.pipeline_parallel.schedules - backward_step
    mindspeed_llm.core.pipeline_parallel.dualpipe.gpt_model - gpt_model_backward
    megatron.core.tensor_parallel.cross_entropy - vocab_parallel_cross_entropy
    megatron.core.optimizer.optimizer MegatronOptimizer step
    megatron.core.optimizer.optimizer MixedPrecisionOptimizer step
    megatron.core.optimizer.optimizer Float16OptimizerWithFloat16Params step
    megatron.core.optimizer.optimizer FP32Optimizer step
    megatron.core.optimizer.optimizer ChainedOptimizer step
    megatron.core.optimizer.distrib_optimizer DistributedOptimizer step_with_ready_grads
"""


def test_every_function_of_table_is_hooked(run):
    tables = {}
    for line in TABLE.strip().splitlines():
        if not line.startswith(" "):
            rows = tables.setdefault(tuple(line.split()), [])
        else:
            module, owner, function, *labels = line.split()
            pairs = [(LABELS[kind], text) for kind, text in (label.split("=") for label in labels)]
            rows.append((module, None if owner == "-" else owner, function, pairs))
    run(f"""
        import types
        from msmemscope import _snapshot
        _snapshot.take_snapshot = lambda name: calls.append(name)

        def stand_in(key):
            module = sys.modules.setdefault(key[0], types.ModuleType(key[0]))
            holder = vars(module).setdefault(key[1], type(key[1], (), {{}})) if key[1] else module
            def function(*args):
                calls.append("inside")
                return key
            setattr(holder, key[2], function)
            return holder

        for (framework, version, component, kind), rows in {tables!r}.items():
            holders = [(row, stand_in(row[:3])) for row in rows]
            before = [vars(holder)[row[2]] for row, holder in holders]
            msmemscope.init_framework_hooks(framework, version, component, kind)
            for row, holder in holders:
                calls.clear()
                assert getattr(holder, row[2])() == row[:3]
                name = "@".join(part or "" for part in row[:3])
                around = ([name + "@Start"], [name + "@End"]) if kind == "snapshot" else (
                    [("+", *label) for label in row[3]], [("-", *label) for label in reversed(row[3])])
                assert calls == [*around[0], "inside", *around[1]], (row, calls)
            msmemscope.cleanup_framework_hooks()
            assert [vars(holder)[row[2]] for row, holder in holders] == before
    """)


def test_decompose_activates_hooks(run, tmp_path):
    """All hooks that label memory while decompose is active; none once the program has chosen tables itself."""
    run(f"""
        from msmemscope import _hooks
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        def labels():
            calls.clear()
            NPUModelRunner().execute_model()
            return len(calls)
        msmemscope.config(analysis="decompose", output="{tmp_path}/out")
        assert labels() == 0
        msmemscope.start()
        msmemscope.start()
        assert labels() == 4 and len(_hooks._automatic) == 24
        msmemscope.config(analysis="")
        assert labels() == 0
        msmemscope.config(analysis="decompose")
        assert labels() == 4
        hooks("snapshot")
        msmemscope.stop()
        assert labels() == 0 and _hooks._manual
        msmemscope.cleanup_framework_hooks()
        msmemscope.init_framework_hooks("pytorch", "2.6", "fsdp1", "decompose")
        msmemscope.start()
        assert labels() == 0
        hooks()
        msmemscope.stop()
        assert labels() == 4
        msmemscope.cleanup_framework_hooks()
        assert labels() == 0
    """)


def test_hooks_import_nothing(run):
    run("""
        hooks()
        assert not [name for name in sys.modules if name.startswith("vllm")]
        import vllm_ascend.worker.worker as worker
        assert "vllm_ascend.worker.model_runner_v1" not in sys.modules
        assert worker.NPUWorker.compile_or_warm_up_model() == "warm"
        assert calls[0] == ("+", 1, "vllm") and len(calls) == 4, calls
        assert type(worker.__loader__).__name__ == "SourceFileLoader" and worker.__spec__.loader is worker.__loader__
    """)


def test_hooks_requested_while_module_is_loading(run, tmp_path):
    """As from the first line of the module that has the functions."""
    path = tmp_path / "vllm_ascend/worker/model_runner_v1.py"
    path.write_text("import sys\nsys.modules['__main__'].hooks()\n" + path.read_text())
    run("""
        import vllm_ascend.worker.model_runner_v1 as module
        assert type(module.__spec__).__name__ == "ModuleSpec" and not module.__spec__._initializing
        assert module.NPUModelRunner().execute_model() == 7
        assert len(calls) == 4, calls
    """)


def test_hooks_apply_after_failed_import_is_retried(run, tmp_path):
    path = tmp_path / "vllm_ascend/worker/model_runner_v1.py"
    path.write_text("import sys\nsys.modules['__main__'].hooks()\n" + path.read_text() +
                    "\nif not hasattr(sys, 'again'):\n    sys.again = True\n    raise OSError\n")
    run("""
        try:
            import vllm_ascend.worker.model_runner_v1
        except OSError:
            pass
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        assert NPUModelRunner().execute_model() == 7
        assert len(calls) == 4, calls
    """)


def test_exception_propagates_and_labels_are_removed(run):
    run("""
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        hooks()
        try:
            NPUModelRunner().execute_model(fail=True)
        except KeyError as error:
            assert error.args == ("no",)
        else:
            raise AssertionError
        assert len(calls) == 4 and calls[2][0] == "-", calls
    """)


def test_failing_hook_is_reported_once(run):
    done = run("""
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        hooks()
        def broken(*args):
            raise RuntimeError("broken")
        _native.label_push = broken
        assert NPUModelRunner().execute_model() == 7
        assert NPUModelRunner().execute_model() == 7
    """)
    assert done.stderr.count("broken") == 1


def test_cleanup_restores_functions(run):
    run("""
        import vllm_ascend.worker.worker as worker
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        before = dict(vars(NPUModelRunner)), dict(vars(worker.NPUWorker)), list(sys.meta_path)
        hooks(); hooks(); hooks("snapshot")
        assert vars(NPUModelRunner)["execute_model"] is not before[0]["execute_model"]
        msmemscope.cleanup_framework_hooks()
        assert (dict(vars(NPUModelRunner)), dict(vars(worker.NPUWorker)), list(sys.meta_path)) == before
        NPUModelRunner().execute_model()
        assert not calls
    """)


def test_function_imported_by_another_module(run, tmp_path):
    """It is hooked in both modules and restored in both."""
    folder = tmp_path / "torch" / "distributed" / "fsdp" / "_fully_shard"
    folder.mkdir(parents=True)
    for package in (folder, *folder.parents[:3]):
        (package / "__init__.py").write_text("")
    (folder / "_fsdp_collectives.py").write_text("def foreach_reduce(): return 5\n")
    (folder / "_fsdp_param_group.py").write_text("from ._fsdp_collectives import foreach_reduce\n")
    run("""
        msmemscope.init_framework_hooks("pytorch", "2.6.0", "fsdp2", "decompose")
        from torch.distributed.fsdp._fully_shard import _fsdp_collectives, _fsdp_param_group
        assert _fsdp_param_group.foreach_reduce() == 5
        assert calls and calls.count(("+", 3, "gradient")) == calls.count(("-", 3, "gradient")), calls
        msmemscope.cleanup_framework_hooks()
        assert _fsdp_param_group.foreach_reduce is _fsdp_collectives.foreach_reduce
        assert not hasattr(_fsdp_collectives.foreach_reduce, "__wrapped__")
    """)


@pytest.mark.parametrize("kind", ["", "@staticmethod", "@classmethod"])
def test_inherited_methods(run, kind):
    run(f"""
        from vllm_ascend.worker import model_runner_v1
        class Base:
            {kind}
            def profile_run(*args): return args
        getattr(vars(Base)["profile_run"], "__func__", Base.profile_run).kept = 1
        class NPUModelRunner(Base): pass
        model_runner_v1.NPUModelRunner = NPUModelRunner
        runner = NPUModelRunner()
        before = runner.profile_run(3)
        hooks()
        assert runner.profile_run(3) == before and len(calls) == 4, calls
        assert NPUModelRunner.profile_run.kept == 1
        msmemscope.cleanup_framework_hooks()
        assert "profile_run" not in vars(NPUModelRunner) and runner.profile_run(3) == before and len(calls) == 4
    """)


def test_cleanup_keeps_foreign_wrapper(run):
    run("""
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        hooks()
        ours = NPUModelRunner.execute_model
        NPUModelRunner.execute_model = lambda self: ours(self) + 1
        msmemscope.cleanup_framework_hooks()
        assert NPUModelRunner().execute_model() == 8
        assert not calls
    """)


def test_result_tensors_are_labelled(run):
    run("""
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        hooks()
        NPUModelRunner().initialize_kv_cache_tensors(None)
        assert calls == [(4096, 1, "vllm"), (4096, 3, "kv_cache"), (4096, 4, "attn"),
                        (8192, 1, "vllm"), (8192, 3, "kv_cache"), (8192, 4, "mamba")], calls
    """)


def test_unknown_names_are_reported(run):
    done = run("""
        msmemscope.init_framework_hooks("sglang", "1", "worker", "decompose")
        msmemscope.init_framework_hooks("vllm_ascend", "12.0", "worker", "decompose")
        msmemscope.init_framework_hooks("vllm_ascend", "11.0", "engine", "decompose")
        msmemscope.init_framework_hooks("vllm_ascend", "11.0", "worker", "labels")
        from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
        NPUModelRunner().execute_model()
        assert not calls
        try:
            msmemscope.init_framework_hooks("vllm_ascend", 11.0, "worker", "decompose")
        except TypeError:
            pass
        else:
            raise AssertionError
    """)
    lines = done.stderr.splitlines()
    assert len(lines) == 4 and all(line.startswith("[msmemscope] Error: ") for line in lines), done.stderr
    assert "sglang" in lines[0] and "12.0" in lines[1] and "engine" in lines[2] and "labels" in lines[3]


@pytest.mark.parametrize("key, version, fits", [
    ("11.0", "11.0", True), ("11.0", "11.0.1", False), ("2.6+", "2.6.0", True), ("2.6+", "2.5.9", False),
    ("2.6+", "2.14.1a0+git1", True), ("2.6-2.9", "2.9.7", True), ("2.6-2.9", "2.10.0", False), ("2.6-2.9", "2.5", False),
    ("*", "0", True), ("2.10+", "2.9", False), ("11.0", "11.0.0rc1", True), ("0.7.0", "0.7.0.dev1+git", True),
    ("0.7.0", "0.7.1", False),
])
def test_version_matching(run, key, version, fits):
    run(f"""
        from msmemscope._hooks import version_matches
        assert version_matches({key!r}, {version!r}) is {fits}
    """)
