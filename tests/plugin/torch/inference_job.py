"""Two ranks that decode on the device `late`: a tensor-parallel model whose decode step is a graph, captured once.

    torchrun --nproc-per-node 2 -m hocket.collect inference_job.py STEPS

What is decoded with the graph is what the same model decodes without it.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2] / "late_device"))
import late_device

import hocket.collect

DEVICE = late_device.load()
WORDS, WIDTH, LAYERS, PROMPT = 16, 8, 2, 3


class Decoder:
    """This rank's half of the weights: of a layer's inner units, and of the words."""

    def __init__(self, rank: int) -> None:
        made = torch.Generator().manual_seed(0)

        def weights(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=made)

        self.rank = rank
        self.embedding = weights(WORDS, WIDTH).to(DEVICE)
        self.widen = [weights(WIDTH, 4 * WIDTH).chunk(2, 1)[rank].contiguous().to(DEVICE) for _ in range(LAYERS)]
        self.narrow = [weights(4 * WIDTH, WIDTH).chunk(2, 0)[rank].contiguous().to(DEVICE) for _ in range(LAYERS)]
        self.hidden = torch.zeros(WIDTH).to(DEVICE)  # what the model remembers
        self.logits = torch.zeros(WORDS).to(DEVICE)

    def forward(self, one_hot: torch.Tensor) -> None:
        """Takes in a word, given as a row of WORDS numbers; leaves the next one's logits."""
        self.hidden.add_(one_hot @ self.embedding)
        for widen, narrow in zip(self.widen, self.narrow, strict=True):
            part = torch.relu(self.hidden @ widen) @ narrow
            dist.all_reduce(part)
            self.hidden.add_(part).mul_(0.1)
        own = self.hidden @ self.embedding[self.rank * WORDS // 2 : (self.rank + 1) * WORDS // 2].T
        dist.all_gather_into_tensor(self.logits, own.contiguous())

    def reset(self) -> None:
        self.hidden.zero_()


def one_hot(word: int) -> torch.Tensor:
    return torch.eye(WORDS)[word].to(DEVICE)


def chosen(logits: torch.Tensor) -> int:
    return int(logits.cpu().argmax())


def main(steps: int) -> None:
    dist.init_process_group("late")
    rank = dist.get_rank()
    model, word = Decoder(rank), torch.zeros(WORDS).to(DEVICE)
    graph = torch.late.CUDAGraph()
    with torch.late.graph(graph):
        model.forward(word)
    decoded: list[list[int]] = []
    for replays in (False, True):
        model.reset()
        for number in range(PROMPT):
            model.forward(one_hot(number))
        words = [chosen(model.logits)]
        hocket.collect.step()
        for _ in range(steps):
            word.copy_(one_hot(words[-1]))
            if replays:
                graph.replay()
            else:
                model.forward(word)
            words.append(chosen(model.logits))
            hocket.collect.step()
        decoded.append(words)
    assert len(set(decoded[0])) > 2, "a model that always says the same shows nothing"
    assert decoded[0] == decoded[1]
    dist.destroy_process_group()


main(int(sys.argv[1]))
