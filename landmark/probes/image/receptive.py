"""Receptive fields: theoretical, by arithmetic, and effective, by gradients.

Of kernel k, stride s, dilation d and padding p, one after another: the field grows by (k - 1) d
steps, the step between neighbours by the factor s, and the first unit's field begins p steps
further out (Araujo et al. 2019, "Computing Receptive Fields of Convolutional Neural Networks").
Where branches meet, the field is what covers all of theirs. The arithmetic follows every operation
of a network on the meta device, so it needs neither weights nor a list of its layers. What a
gradient can reach lies inside; what it reaches strongly is far smaller (Luo et al. 2016,
"Understanding the Effective Receptive Field", arXiv 1701.04128).
"""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from landmark.probes.image.layer import as_map, find_layer

_EDGE = 0.0455  # of the strongest pixel: two standard deviations of a Gaussian


@dataclass(frozen=True)
class Axis:
    """Along one side of the image, in pixels."""

    size: int
    """How many a unit sees."""
    step: int
    """From one unit to the next; 0 where units have no place any more."""
    start: int
    """The first that the first unit sees; below 0 in the padding."""

    def after(self, kernel: int, stride: int, padding: int, dilation: int = 1) -> "Axis":
        """The field after a sliding window."""
        grown = self.size + (kernel - 1) * dilation * self.step
        return Axis(grown, self.step * stride, self.start - padding * self.step)

    def whole(self, units: int) -> "Axis":
        """The field of what reads all of so many units at once."""
        return Axis(self.size + max(units - 1, 0) * self.step, 0, self.start)

    def around(self, unit: int) -> tuple[int, int]:
        """The first pixel that a unit sees, and the one after the last."""
        first = self.start + unit * self.step
        return first, first + self.size


@dataclass(frozen=True)
class Field:
    """What a unit sees of an image."""

    height: Axis
    width: Axis


@dataclass(frozen=True)
class FieldLayer:
    """A layer and what each of its units sees."""

    name: str
    kind: str
    output: tuple[int, int]
    """Units down and across."""
    field: Field


_PIXEL = Field(Axis(1, 1, 0), Axis(1, 1, 0))


def receptive_fields(model: nn.Module, shape: tuple[int, int, int]) -> list[FieldLayer]:
    """Of every layer that convolves or changes the field, in the order of computing.

    A block where branches meet comes after them. shape: channels, height, width of an image.
    """
    model = copy.deepcopy(model).to("meta", torch.float32).eval()
    image = torch.empty(1, *shape, device="meta")
    found: dict[str, FieldLayer] = {}
    before: dict[str, Field | None] = {}
    tracer = _Tracer(image)

    def enter(name: str) -> Callable[[nn.Module, Any], None]:
        def note(module: nn.Module, inputs: Any) -> None:
            before[name] = tracer.union(inputs)

        return note

    def leave(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def note(module: nn.Module, inputs: Any, output: Any) -> None:
            field = tracer.union([output])
            if field is None or as_map(output, 1) is None or not field.height.step:
                return
            inner = any(True for _ in module.children())
            known = next(reversed(found.values())).field if found else None
            if field != known if inner else isinstance(module, nn.Conv2d) or field != before[name]:
                height, width = output.shape[-2:]
                found[name] = FieldLayer(name, type(module).__name__, (height, width), field)

        return note

    for name, module in model.named_modules():
        if name:
            module.register_forward_pre_hook(enter(name))
            module.register_forward_hook(leave(name))
    with torch.no_grad(), tracer:
        model(image)
    return list(found.values())


class _Tracer(TorchDispatchMode):
    """Follows every tensor that comes from the image, with the field of its units."""

    def __init__(self, image: Tensor) -> None:
        super().__init__()
        self.fields: Any = WeakTensorKeyDictionary()
        self.fields[image] = _PIXEL

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        field = self._field(func.overloadpacket, args, output)
        if field is not None:
            for part in output if isinstance(output, (tuple, list)) else (output,):
                if isinstance(part, Tensor):
                    self.fields[part] = field
        return output

    def union(self, values: Iterable[Any]) -> Field | None:
        """What covers the fields of all tensors among some values."""
        fields = [self.fields[value] for value in _tensors(values) if value in self.fields]
        if not fields:
            return None
        return Field(
            _cover([field.height for field in fields]), _cover([field.width for field in fields])
        )

    def _field(self, operation: Any, args: tuple[Any, ...], output: Any) -> Field | None:
        field = self.union(args)
        if field is None:
            return None
        source = next(value for value in _tensors(args) if value in self.fields)
        height, width = source.shape[-2:] if source.dim() >= 3 else (1, 1)
        rule = _RULES.get(operation)
        if rule is not None and source.dim() == 4:
            return Field(rule(field.height, 0, height, args), rule(field.width, 1, width, args))
        first = output[0] if isinstance(output, (tuple, list)) else output
        kept = isinstance(first, Tensor) and first.dim() >= 3 and source.dim() >= 3
        if kept and operation not in _PRODUCTS and first.shape[-2:] == source.shape[-2:]:
            return field
        return Field(field.height.whole(height), field.width.whole(width))


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among some values and the lists of them."""
    found = []
    for value in values:
        if isinstance(value, (tuple, list)):
            found += _tensors(value)
        elif isinstance(value, Tensor):
            found.append(value)
    return found


def _cover(axes: list[Axis]) -> Axis:
    """The smallest field that covers several."""
    start = min(axis.start for axis in axes)
    end = max(axis.start + axis.size for axis in axes)
    steps = {axis.step for axis in axes}
    return Axis(end - start, steps.pop() if len(steps) == 1 else 0, start)


def _side(value: Any, side: int, default: int) -> int:
    """One of two numbers that may be given as one, or not at all."""
    if value is None or (isinstance(value, (tuple, list)) and not value):
        return default
    if isinstance(value, (tuple, list)):
        return int(value[side if len(value) > 1 else 0])
    return int(value)


def _after_convolution(axis: Axis, side: int, length: int, args: tuple[Any, ...]) -> Axis:
    kernel = args[1].shape[2 + side]
    stride, padding, dilation = (_side(args[place], side, 1) for place in (3, 4, 5))
    return axis.after(kernel, stride, padding, dilation)


def _after_pooling(axis: Axis, side: int, length: int, args: tuple[Any, ...]) -> Axis:
    kernel = _side(args[1], side, 1)
    stride = _side(args[2] if len(args) > 2 else None, side, kernel)
    return axis.after(kernel, stride, _side(args[3] if len(args) > 3 else None, side, 0))


def _after_adaptive(axis: Axis, side: int, length: int, args: tuple[Any, ...]) -> Axis:
    """Windows from floor(i n / m) to ceil((i + 1) n / m): alike only if m divides n."""
    units = _side(args[1], side, 1)
    if length % units == 0:
        return axis.after(length // units, length // units, 0)
    return axis.whole(length)


def _after_slice(axis: Axis, side: int, length: int, args: tuple[Any, ...]) -> Axis:
    dimension = args[1] if len(args) > 1 else 0
    if dimension % 4 != 2 + side:
        return axis
    begin = (args[2] if len(args) > 2 else None) or 0
    step = args[4] if len(args) > 4 else 1
    begin = begin + length if begin < 0 else begin
    return Axis(axis.size, axis.step * step, axis.start + begin * axis.step)


def _after_padding(axis: Axis, side: int, length: int, args: tuple[Any, ...]) -> Axis:
    pads = args[1]  # left, right, top, bottom, then channels
    begin = pads[2 * (1 - side)] if len(pads) > 2 * (1 - side) else 0
    return Axis(axis.size, axis.step, axis.start - begin * axis.step)


_RULES: dict[Any, Callable[[Axis, int, int, tuple[Any, ...]], Axis]] = {
    torch.ops.aten.convolution: _after_convolution,
    torch.ops.aten.max_pool2d_with_indices: _after_pooling,
    torch.ops.aten.avg_pool2d: _after_pooling,
    torch.ops.aten._adaptive_avg_pool2d: _after_adaptive,
    torch.ops.aten.slice: _after_slice,
    torch.ops.aten.constant_pad_nd: _after_padding,
}
_PRODUCTS = {torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm, torch.ops.aten.matmul}


def gradient_field(model: nn.Module, images: Tensor, layer: str) -> Tensor:
    """How strongly each pixel moves the middle unit of a layer, mean over images. -> (H, W)

    The channels of the unit are added up with random signs, which cancel nowhere for sure.
    """
    find_layer(model, images, layer)
    kept: list[Tensor] = []
    handle = model.get_submodule(layer).register_forward_hook(
        lambda module, inputs, output: kept.append(output.clone())
    )
    pixels = images.detach().clone().requires_grad_()
    try:
        with torch.enable_grad():
            model(pixels)
            maps = as_map(kept[-1], len(images))
            if maps is None:
                raise AssertionError  # find_layer has seen maps
            unit = maps[:, :, maps.shape[2] // 2, maps.shape[3] // 2]
            generator = torch.Generator().manual_seed(1)
            signs = torch.randn(unit.shape[1], generator=generator).to(unit)
            (gradient,) = torch.autograd.grad((unit * signs).sum(), [pixels])
    finally:
        handle.remove()
    return gradient.abs().sum(1).mean(0).float().cpu()


def reached(gradient: Tensor) -> tuple[int, int, int, int]:
    """The box of pixels whose gradient is not 0: top, left, height, width. (H, W)"""
    rows = gradient.ne(0).any(1).nonzero().flatten().tolist()
    columns = gradient.ne(0).any(0).nonzero().flatten().tolist()
    if not rows:
        return 0, 0, 0, 0
    return rows[0], columns[0], rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1


def noticeable(gradient: Tensor) -> Tensor:
    """The pixels that move the unit noticeably (Luo et al.). (H, W) of bool"""
    return gradient > _EDGE * gradient.max()


def effective_size(gradient: Tensor) -> float:
    """The side of a square of as many pixels as move the unit noticeably."""
    return float(noticeable(gradient).sum()) ** 0.5
