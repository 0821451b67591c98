"""ResNet-18 on pictures: who has an attribute, told from a photograph of the face (CelebA).

He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition" (CVPR 2016, doi:10.1109/CVPR.2016.90). The
network is written here in plain torch: it is short, and torchvision must match torch's build to the letter. Weights
have the names that torchvision gives them, so that a file of weights for ResNet-18 can be loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, DatasetError
from fairroc_studies.models.neural import probabilities, repeatable, training_device
from fairroc_studies.problems.problem import IMAGE, FloatArray, IntArray, Problem

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of red, green and blue in photographs: what weights from elsewhere expect pictures to be scaled by."""
WIDTHS = (64, 128, 256, 512)
"""Channels of the four stages; each has two blocks."""
RATE = 0.001
"""Adam's first step size; it falls to 0 along half a cosine."""
LAST = ("fc.weight", "fc.bias")
"""The last layer, which is always trained anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """The pictures of a problem's rows, in their files."""

    folder: Path
    names: tuple[str, ...]
    side: int  # of the square that is read of each, in pixels

    @classmethod
    def of(cls, problem: Problem, side: int) -> Pictures:
        if problem.images is None or IMAGE not in problem.features.column_names:
            raise DataError(
                f"a ResNet needs pictures, but {problem.name!r} comes without them. Give a folder that holds them, or "
                "choose a model of tables."
            )
        return cls(problem.images, tuple(map(str, problem.features[IMAGE].to_pylist())), side)

    def read(self, row: int) -> NDArray[np.uint8]:
        """(3, side, side): the largest square in the middle of the picture, scaled."""
        from PIL import Image

        path = self.folder / self.names[row]
        try:
            with Image.open(path) as picture:
                width, height = picture.size
                edge = min(width, height)
                left, top = (width - edge) / 2, (height - edge) / 2
                box = (left, top, left + edge, top + edge)
                square = picture.convert("RGB").resize((self.side, self.side), Image.Resampling.BILINEAR, box=box)
        except FileNotFoundError:
            raise DatasetError(
                f"every row needs its picture, but there is no file {path}. Unpack all pictures into that folder."
            ) from None
        except OSError as error:
            raise DatasetError(
                f"every row needs its picture, but {path} cannot be read ({error}). Unpack it again."
            ) from None
        return np.asarray(square).transpose(2, 0, 1)

    def read_all(self, told: Callable[[int], None]) -> NDArray[np.uint8]:
        """(n, 3, side, side), read by all processors; ``told`` gets 1 for each."""
        pixels = np.empty((len(self.names), 3, self.side, self.side), np.uint8)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for row, picture in enumerate(pool.map(self.read, range(len(self.names)))):
                pixels[row] = picture
                told(1)
        return pixels


def train(
    problem: Problem,
    rows: IntArray,
    seed: int,
    *,
    protected: bool,
    weights: str | os.PathLike[str] | None = None,
    epochs: int = 5,
    batch: int = 128,
    side: int = 64,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> FloatArray:
    """P(label 1) of all rows of ``problem`` by a network that saw the labels of ``rows`` only. (n,)

    A picture tells a model what it tells; ``protected`` adds the group's name beside it, as inputs of the last layer.
    ``weights``: a file of weights (a state dict) to begin with, random ones without it. ``progress`` gets how much is
    done and of how much. Pictures are held in memory, 3 side^2 bytes each: 2.5 GB for all of CelebA. Uses a graphics
    processor where there is one, with numbers of half the length where it has them; else ``threads`` of the processor.
    """
    pictures = Pictures.of(problem, side)
    told = _counter(progress, 2 * problem.rows + epochs * len(rows))
    pixels = pictures.read_all(told)
    names = np.unique(problem.groups[rows])
    beside = problem.groups[:, None] == (names if protected else names[:0])
    with repeatable(seed, threads=threads) as generator:
        network = _network(beside.shape[1])
        if weights is not None:
            _begin_with(network, Path(weights))
        run = _Run(network, pixels, beside.astype(np.float32), batch, told)
        run.train(rows, problem.labels[rows], epochs, generator)
        return probabilities(run.logits())


def _counter(progress: Callable[[int, int], None] | None, total: int) -> Callable[[int], None]:
    done = 0

    def told(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    return told


class _Run:
    """A network on its device, and the pictures in memory."""

    def __init__(
        self,
        network: Any,
        pixels: NDArray[np.uint8],
        beside: NDArray[np.float32],
        batch: int,
        told: Callable[[int], None],
    ) -> None:
        import torch

        self.device = training_device()
        self.network = network.to(self.device, memory_format=torch.channels_last)
        self.pixels, self.beside = torch.from_numpy(pixels), torch.from_numpy(beside)
        self.batch, self.told = batch, told
        self.mean, self.spread = (torch.tensor(value, device=self.device)[:, None, None] for value in (MEAN, SPREAD))
        self.short = self.device.type == "cuda" and torch.cuda.is_bf16_supported()

    def apply(self, rows: Tensor, mirrored: Tensor | None = None) -> Tensor:
        """The logits of rows, some of them by their mirror image."""
        import torch

        pixels = self.pixels[rows].to(self.device).to(torch.float32) / 255
        if mirrored is not None:
            pixels = torch.where(mirrored.to(self.device)[:, None, None, None], pixels.flip(3), pixels)
        pixels = ((pixels - self.mean) / self.spread).contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.short):
            logits: Tensor = self.network(pixels, self.beside[rows].to(self.device))
        return logits.to(torch.float32)

    def train(self, rows: IntArray, labels: NDArray[np.bool_], epochs: int, generator: torch.Generator) -> None:
        """Adam on the cross-entropy; every picture is mirrored in half of the epochs."""
        import torch

        optimizer = torch.optim.Adam(self.network.parameters(), lr=RATE)
        batches = max(1, round(len(rows) / self.batch))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
        numbers, truth = torch.from_numpy(rows), torch.from_numpy(labels.astype(np.float32))
        self.network.train()
        for _ in range(epochs):
            for part in torch.randperm(len(rows), generator=generator).tensor_split(batches):
                logits = self.apply(numbers[part], torch.rand(len(part), generator=generator) < 0.5)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth[part].to(self.device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                self.told(len(part))

    def logits(self) -> FloatArray:
        """Of all rows, as they are."""
        import torch

        self.network.eval()
        with torch.no_grad():
            return np.concatenate([part.cpu().numpy() for part in self._parts()]).astype(np.float64)

    def _parts(self) -> Iterator[Tensor]:
        import torch

        for part in torch.arange(len(self.pixels)).split(4 * self.batch):
            yield self.apply(part)
            self.told(len(part))


def _begin_with(network: Any, path: Path) -> None:
    """Take all layers but the last from a file of weights; names and shapes must be those of ResNet-18."""
    import torch

    if not path.is_file():
        raise DatasetError(f"weights must be a file, but there is none at {path}. Leave them out to begin at random.")
    found = torch.load(path, map_location="cpu", weights_only=True)
    own = {name: value.shape for name, value in network.state_dict().items() if name not in LAST}
    wrong = [name for name, shape in own.items() if name not in found or found[name].shape != shape]
    if wrong:
        raise DataError(
            f"weights must be those of a ResNet-18, but {path} has no {wrong[0]!r} of shape {tuple(own[wrong[0]])}. "
            "Save a ResNet-18's state_dict() there, or leave the weights out to begin at random."
        )
    network.load_state_dict({name: found[name] for name in own}, strict=False)


def _network(beside: int) -> Any:
    """A ResNet-18 with one logit, its last layer taking ``beside`` numbers more."""
    import torch
    from torch import nn

    def convolution(inputs: int, outputs: int, size: int, stride: int) -> nn.Conv2d:
        made = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)
        nn.init.kaiming_normal_(made.weight, mode="fan_out", nonlinearity="relu")
        return made

    class Block(nn.Module):
        """Two convolutions, added to what came in."""

        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = convolution(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
            self.conv2, self.bn2 = convolution(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs)
            if stride > 1 or inputs != outputs:
                self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
            else:
                self.downsample = nn.Sequential()

        def forward(self, x: Tensor) -> Tensor:
            inner = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(inner)) + self.downsample(x))

    class ResNet18(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = convolution(3, WIDTHS[0], 7, 2), nn.BatchNorm2d(WIDTHS[0])
            inputs = WIDTHS[0]
            for stage, width in enumerate(WIDTHS, start=1):
                blocks = nn.Sequential(Block(inputs, width, 1 if stage == 1 else 2), Block(width, width, 1))
                self.add_module(f"layer{stage}", blocks)
                inputs = width
            self.fc = nn.Linear(inputs + beside, 1)

        def forward(self, pictures: Tensor, numbers: Tensor) -> Tensor:
            x = torch.relu(self.bn1(self.conv1(pictures)))
            x = nn.functional.max_pool2d(x, 3, 2, padding=1)
            for stage in range(1, len(WIDTHS) + 1):
                x = self.get_submodule(f"layer{stage}")(x)
            logits: Tensor = self.fc(torch.cat((x.mean(dim=(2, 3)), numbers), dim=1))
            return logits[:, 0]

    return ResNet18()
