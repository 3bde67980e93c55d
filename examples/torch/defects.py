# SPDX-License-Identifier: Apache-2.0
"""Defects that train.py can plant. Each is a mistake that real programs make: memory is kept, and grows or doubles."""

import torch

DEFECTS = {}


def defect(name):
    def add(function):
        DEFECTS[name] = function
        return function
    return add


class Plan:
    """Hooks that the loop of train.py calls; a defect replaces one of them."""

    def __init__(self, model):
        self.model = model

    def optimizer(self, parameters):
        return torch.optim.AdamW(parameters, lr=1e-3)

    def after_loss(self, loss, hidden):
        pass


@defect("losses")
class KeepLosses(Plan):
    """A list keeps the loss tensors, not their values."""

    def __init__(self, model):
        super().__init__(model)
        self.history = []

    def after_loss(self, loss, hidden):
        self.history.append(loss * 1.0)  # right: loss.item()


@defect("activations")
class KeepActivations(Plan):
    """A forward hook, meant for statistics, keeps the activations."""

    def __init__(self, model):
        super().__init__(model)
        self.seen = []
        model.blocks[0].mlp.register_forward_hook(self.watch)

    def watch(self, module, inputs, output):
        self.seen.append(output.detach().clone())  # right: output.detach().norm().item()


class Cautious(torch.optim.AdamW):
    """Keeps the moments of a good step, to restore them later."""

    turns = 0

    def step(self, closure=None):
        result = super().step(closure)
        self.turns += 1
        if self.turns == 4:
            for state in self.state.values():
                state["good_avg"] = state["exp_avg"].clone()
                state["good_avg_sq"] = state["exp_avg_sq"].clone()
        return result


@defect("optimizer")
class DoubleState(Plan):
    """From the fourth step on the optimizer state exists twice."""

    def optimizer(self, parameters):
        return Cautious(parameters, lr=1e-3)


@defect("graph")
class KeepGraph(Plan):
    """A running state is kept without detach, so it holds the graph of every step."""

    def __init__(self, model):
        super().__init__(model)
        self.state = None

    def after_loss(self, loss, hidden):
        self.state = torch.tanh(hidden if self.state is None else hidden + self.state)  # right: hidden.detach()
