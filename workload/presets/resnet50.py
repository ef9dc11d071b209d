"""ResNet-50: He, Zhang, Ren, Sun, "Deep residual learning for image recognition", CVPR 2016, arXiv:1512.03385, with
the stride in the 3x3 convolutions ("v1.5"), as it is trained in MLPerf and torchvision."""

from collections.abc import Iterator

from hocket.workload.architecture import Architecture, Block
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS", "resnet50"]

_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, bottlenecks, stride of the first of them
_EXPANSION = 4
_CLASSES = 1000


def resnet50() -> Architecture:
    """A layer for each convolution with its batch normalization, and the classifier."""
    return Architecture(
        title="ResNet-50",
        source="He et al. 2016, v1.5",
        blocks=tuple(_blocks()),
        batch=64,
        sample="an image of 224x224",
        update_bytes=20,  # SGD with momentum in 4-byte numbers: reads gradient, weight, momentum; writes two of them
    )


def _blocks() -> Iterator[Block]:
    yield _convolution("conv1", 3, 64, kernel=7, side=224, stride=2)
    channels, side = 64, 56  # behind the pooling
    for stage, (width, depth, first_stride) in enumerate(_STAGES, start=2):
        for at in range(depth):
            stride = first_stride if at == 0 else 1
            name = f"conv{stage}_{at + 1}"
            yield _convolution(f"{name}a", channels, width, kernel=1, side=side, stride=1)
            yield _convolution(f"{name}b", width, width, kernel=3, side=side, stride=stride)
            yield _convolution(f"{name}c", width, width * _EXPANSION, kernel=1, side=side // stride, stride=1)
            if at == 0:
                yield _convolution(f"{name}p", channels, width * _EXPANSION, kernel=1, side=side, stride=stride)
            channels, side = width * _EXPANSION, side // stride
    parameters = channels * _CLASSES + _CLASSES
    yield Block("fc", parameters, 2 * channels * _CLASSES, channels, _CLASSES)


def _convolution(name: str, inputs: int, outputs: int, *, kernel: int, side: int, stride: int) -> Block:
    """A convolution without bias over a square of `side` pixels; its batch normalization has two numbers a channel."""
    weights = inputs * outputs * kernel * kernel
    pixels = (side // stride) ** 2
    return Block(name, weights + 2 * outputs, 2 * weights * pixels, inputs * side * side, outputs * pixels)


PRESETS = (
    NetworkPreset(
        resnet50,
        "25.6 M",
        name="resnet50",
        summary="a convolutional network of 50 layers",
        source="He et al. 2016, arXiv:1512.03385, v1.5",
        example="hocket generate network resnet50 --ranks 8 -o traces/",
    ),
)
