"""L-BFGS on batches: a quasi-Newton method with a line search, begun anew on every batch.

Liu and Nocedal 1989; on batches as Le et al. 2011, "On Optimization Methods for Deep Learning": a
few iterations on one large batch, then the next, and no memory of the one before, whose curvature
is another function's. The iterations and the line search (strong Wolfe) are torch's.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.optim.methods.method import Parameters, check_settings, checked


class LBFGS(torch.optim.LBFGS):
    """Some iterations on the loss that `closure` evaluates, with L2 of `weight_decay` added."""

    evaluates_again = True

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        weight_decay: float = 0.0,
        *,
        iterations: int = 10,
        history: int = 10,
    ) -> None:
        groups = checked("LBFGS", params, {"lr": lr, "weight_decay": weight_decay})
        if isinstance(groups[0], dict) and len(groups) > 1:
            raise UserError("LBFGS: takes all parameters alike: no rates and decays of their own")
        if isinstance(groups[0], dict):
            check_settings("LBFGS", groups[0])
        super().__init__(
            groups,
            lr=lr,
            max_iter=iterations,
            history_size=history,
            line_search_fn="strong_wolfe",
        )
        self.param_groups[0].setdefault("weight_decay", weight_decay)

    def step(self, closure: Callable[[], Any]) -> float:  # type: ignore[override]
        """Descend on one loss; what was learnt of its curvature is then forgotten."""
        first: Any = super().step(lambda: self._pulled(closure))
        self.state.clear()
        return float(first)

    def _pulled(self, closure: Callable[[], Any]) -> Tensor:
        """The loss and, in `.grad`, its gradient, both with those of λ/2 |θ|²."""
        loss, decay = torch.as_tensor(closure()).detach(), self.param_groups[0]["weight_decay"]
        if decay:
            for parameter in self.param_groups[0]["params"]:
                loss = loss + decay / 2 * parameter.detach().square().sum()
                if parameter.grad is not None:
                    parameter.grad.add_(parameter.detach(), alpha=decay)
        return loss
