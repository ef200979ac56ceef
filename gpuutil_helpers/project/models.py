"""The network that the course trains: small enough for one CPU thread."""

from __future__ import annotations

import torch
from torch import nn

from gpuutil_helpers.project.checks import check_whole


class SmallConvNet(nn.Module):
    """Two convolution blocks, dropout, one linear layer: a picture in, one score per class out.

    Each block halves height and width, so a 8 x 8 picture reaches the linear layer as 2 x 2.
    The scores are raw (no softmax): `torch.nn.functional.cross_entropy` expects them so.

    Args:
        channels: colour channels of a picture, 1 for grey and 3 for colour.
        size: height and width of a picture in pixels, 4 or more.
        classes: how many scores come out.
        width: feature maps of the first block; the second has twice as many.
        dropout: share of the features set to zero in training mode, 0 or more and below 1.

    Raises:
        TypeError, ValueError: for an argument outside these bounds.
    """

    def __init__(
        self,
        channels: int = 1,
        size: int = 8,
        classes: int = 10,
        width: int = 16,
        dropout: float = 0.25,
    ) -> None:
        super().__init__()
        for name, value, least in (
            ("channels", channels, 1),
            ("size", size, 4),
            ("classes", classes, 2),
            ("width", width, 1),
        ):
            check_whole(name, value, least)
        if not isinstance(dropout, (int, float)):
            raise TypeError(f"dropout is {dropout!r}: give a share of at least 0 and below 1.")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}: give a share of at least 0 and below 1.")
        self.picture_shape = (channels, size, size)
        self.features = nn.Sequential(*_block(channels, width), *_block(width, 2 * width))
        self.dropout = nn.Dropout(dropout)
        self.scores = nn.Linear(2 * width * (size // 4) ** 2, classes)
        # Small weights: an untrained network then holds all classes for about equally likely.
        nn.init.normal_(self.scores.weight, std=0.01)
        nn.init.zeros_(self.scores.bias)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores of shape (n, classes) for `images` of shape (n, channels, size, size), float32."""
        if not isinstance(images, torch.Tensor) or not images.is_floating_point():
            kind = getattr(images, "dtype", type(images).__name__)
            raise TypeError(
                f"the network takes a float32 tensor and got {kind}: convert the pictures with "
                "torch.as_tensor(images).float(), scaled to 0..1."
            )
        if images.ndim != 4 or tuple(images.shape[1:]) != self.picture_shape:
            expected = ", ".join(str(side) for side in self.picture_shape)
            raise ValueError(
                f"the network takes pictures of shape (n, {expected}) and got "
                f"{tuple(images.shape)}: reshape them, or build SmallConvNet(channels=..., "
                "size=...) for them."
            )
        return self.scores(self.dropout(self.features(images).flatten(start_dim=1)))


def _block(channels_in: int, channels_out: int) -> tuple[nn.Module, ...]:
    # The normalization subtracts the mean, so a bias in the convolution would do nothing.
    return (
        nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
