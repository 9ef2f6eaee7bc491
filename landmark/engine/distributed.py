"""Distributed training: rank, world size and collective operations.

Gradients are summed by an exchange of our own, after a turn's backward pass. Why not torch's
engines: what they exchange depends on how a model is called. DDP keeps the local gradient of
anything not called through its wrapper (`model.encode(…)`), and FSDP2's replicating form (torch
2.13) left a parameter used outside its module's forward without a gradient when the graph went on
through another player; both without a word. Summing `.grad` itself cannot be skipped by any way of
calling a model.
"""

import datetime
import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from landmark.core.errors import TrainingError

BUCKET_ELEMENTS = 1 << 22
START = datetime.timedelta(seconds=60)
"""Time for all processes to come, however short the timeout is that holds from then on."""

T = TypeVar("T")


def rank() -> int:
    """This process's number; 0 when alone."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main() -> bool:
    """Whether this process writes files and reports."""
    return rank() == 0


def restarted() -> bool:
    """Whether torchrun has started this group anew, after one of its processes failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def process_group(device: torch.device, timeout: float = 600.0) -> Iterator[None]:
    """Join the group that torchrun announced in the environment, if it did.

    A process that ends, or does not answer within `timeout` seconds, is a TrainingError.
    """
    if "WORLD_SIZE" not in os.environ or dist.is_initialized():
        yield
        return
    try:
        _join(device, timeout)
        yield
    except dist.DistError as error:
        raise TrainingError(_lost(error, timeout)) from None
    except RuntimeError as error:
        if "gloo" not in str(error) and "Connection" not in str(error):
            raise
        raise TrainingError(_lost(error, timeout)) from None
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _join(device: torch.device, timeout: float) -> None:
    """Initialise the group in a corner of torchrun's store that no earlier group has used.

    The store outlives the processes: there, those that are started anew would find where the dead
    have listened, and call them (pytorch issue 135712).
    """
    # Imported later, by the first step of an optimiser, its default arguments would be the group,
    # whose threads then live on until Python shuts down.
    import torch.distributed.nn.functional
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    limit = datetime.timedelta(seconds=timeout)
    patience = max(limit, START)
    store, number, count = next(rendezvous("env://", timeout=patience))
    corner = _meet(PrefixStore("landmark", store), number, count, patience.total_seconds())
    dist.init_process_group(
        "gloo" if device.type == "cpu" else None,
        store=PrefixStore(corner, store),
        rank=number,
        world_size=count,
        timeout=limit,
    )


def _meet(store: Any, number: int, count: int, patience: float) -> str:
    """A name that all processes of this group agree on, and no process of another one.

    torchrun's count of restarts is none: every host has its own. So each process signs, notes
    whose signatures it sees, and waits until all of those have noted the same. A dead one's note
    never holds a signature that is younger. It looks again and again, to answer signals meanwhile.
    """
    mine, deadline = uuid.uuid4().hex, time.monotonic() + patience
    store.set(f"signature/{number}", mine)
    places = [f"signature/{other}" for other in range(count)]
    while time.monotonic() < deadline:
        if store.check(places):
            seen = [signature.decode() for signature in store.multi_get(places)]
            name = hashlib.sha256("".join(seen).encode()).hexdigest()
            store.set(f"note/{mine}", name)
            notes = [f"note/{signature}" for signature in seen]
            if store.check(notes) and set(store.multi_get(notes)) == {name.encode()}:
                return name
        time.sleep(0.02)
    raise TrainingError(
        f"process {number} of {count}: not all processes have come within {patience:g} seconds: "
        "see their error messages"
    )


def _lost(error: Exception, timeout: float) -> str:
    # gloo puts its source file before the reason, and advice and good wishes after it
    reason = re.sub(r"^\[\S+\] ", "", str(error).splitlines()[0]).partition(". ")[0]
    silent = ("imed out" in reason or "imeout" in reason) and "refused" not in reason
    happened = f"has not answered for {timeout:g} seconds" if silent else "has ended"
    return (
        f"process {os.environ.get('RANK')} of {os.environ.get('WORLD_SIZE')}: another process "
        f"{happened}: see its error messages; continue from the "
        f"last checkpoint with --resume ({reason})"
    )


def sum_over_ranks(values: Sequence[float], device: torch.device) -> list[float]:
    """Each value summed over all processes, in double precision where the device has it."""
    if world_size() == 1:
        return list(values)
    dtype = torch.float32 if device.type == "mps" else torch.float64
    total = torch.tensor(list(values), dtype=dtype, device=device)
    dist.all_reduce(total)
    summed: list[float] = total.tolist()
    return summed


def max_over_ranks(value: float, device: torch.device) -> float:
    """The largest of all processes' values."""
    if world_size() == 1:
        return value
    largest = torch.tensor(value, device=device)
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    return float(largest)


def shared_numbers(values: Sequence[int], device: torch.device) -> list[int]:
    """The first process's whole numbers, for all."""
    if world_size() == 1:
        return list(values)
    count = torch.tensor(len(values), device=device)
    dist.broadcast(count, 0)
    numbers = torch.zeros(int(count), dtype=torch.int64, device=device)
    if is_main():
        numbers.copy_(torch.tensor(list(values), dtype=torch.int64))
    dist.broadcast(numbers, 0)
    shared: list[int] = numbers.tolist()
    return shared


def gather_on_main(thing: T) -> list[T]:
    """What each process has, in their order, on the first one; the others keep their own."""
    if world_size() == 1:
        return [thing]
    gathered: list[Any] | None = [None] * world_size() if is_main() else None
    dist.gather_object(thing, gathered)
    return [thing] if gathered is None else gathered


def sum_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Add up the gradients of all processes, in buckets; one that no process has stays None."""
    if world_size() == 1:
        return
    present = torch.tensor([float(p.grad is not None) for p in parameters])
    present = present.to(parameters[0].device)
    dist.all_reduce(present)
    wanted = [p for p, holders in zip(parameters, present.tolist(), strict=True) if holders]
    for bucket in _buckets(wanted):
        flat = torch.cat([_gradient(parameter).flatten() for parameter in bucket])
        dist.all_reduce(flat)
        pieces = flat.split([parameter.numel() for parameter in bucket])
        for parameter, piece in zip(bucket, pieces, strict=True):
            # In the parameter's own order in memory, which the optimiser takes for granted.
            parameter.grad = torch.empty_like(parameter).copy_(piece.view_as(parameter))


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        return torch.zeros_like(parameter)
    return parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad


def _buckets(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Neighbours of one type, up to a size: few large exchanges instead of many small ones."""
    bucket: list[nn.Parameter] = []
    for parameter in parameters:
        full = sum(p.numel() for p in bucket) + parameter.numel() > BUCKET_ELEMENTS
        if bucket and (full or bucket[0].dtype != parameter.dtype):
            yield bucket
            bucket = []
        bucket.append(parameter)
    if bucket:
        yield bucket


def broadcast_parameters(module: nn.Module) -> None:
    """Give every process the first one's weights, so that all start equal."""
    if world_size() > 1:
        for tensor in module.state_dict().values():
            dist.broadcast(tensor, 0)
