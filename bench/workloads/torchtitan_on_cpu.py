"""torchtitan's own training, on CPUs (gloo), with a tokenizer and texts made here: its wheel has none.

    torchrun ... torchtitan_on_cpu.py ASSETS [OPTIONS OF TORCHTITAN ...]

Of torchtitan it replaces what asks for a GPU (`device_type` and `device_module`, in each module that took them), of
FSDP2 the reduction that only NCCL has (PREMUL_SUM) by a sum. For torchtitan 0.2:
later ones have attention for GPUs only.
"""

import collections
import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule

from hocket.base.files import write_file, write_json

__all__ = ["main"]

_TEXTS = [f"The quick brown fox jumps over lazy dog {number}, again and again. " * 20 for number in range(500)]
_ANSWERS: dict[str, Any] = {
    "current_device": 0,
    "device_count": 8,
    "get_device_name": "cpu",
    "get_device_properties": types.SimpleNamespace(total_memory=1 << 34, name="cpu"),
    "memory_stats": collections.defaultdict(int),
}


class _Cpu(types.ModuleType):
    """In the place of `torch.cuda`: knows little, and answers None to the rest."""

    def __getattr__(self, name: str) -> Any:
        if name in _ANSWERS:
            return lambda *arguments: _ANSWERS[name]
        return getattr(torch.cpu, name, lambda *arguments, **options: None)


def _make_assets(folder: Path) -> None:
    """A tokenizer of 500 tokens, and texts."""
    tokenizers = importlib.import_module("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=["<s>", "</s>"])
    tokenizer.train_from_iterator(_TEXTS, trainer)
    write_file(folder / "tokenizer.json", tokenizer.to_str())
    write_json(folder / "tokenizer_config.json", {"bos_token": "<s>", "eos_token": "</s>"})
    write_file(folder / "texts" / "texts.json", "".join(json.dumps({"text": text}) + "\n" for text in _TEXTS))


def _without_gpus() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("torchtitan"):
            replaced = {"device_type": "cpu", "device_module": _Cpu("cpu")}
            vars(module).update({key: value for key, value in replaced.items() if key in vars(module)})
    divide = FSDPModule.set_gradient_divide_factor

    def divide_by_sums(model: FSDPModule, factor: float) -> None:
        divide(model, factor)
        model.set_force_sum_reduction_for_comms(True)

    FSDPModule.set_gradient_divide_factor = divide_by_sums


def main(assets: Path, options: list[str]) -> None:
    """Trains the model that torchtitan's developers debug with."""
    own = assets / os.environ["RANK"]  # each rank makes its own: nobody waits for another's
    (own / "texts").mkdir(parents=True)
    _make_assets(own)
    files = ["--model.hf_assets_path", str(own), "--training.dataset_path", str(own / "texts")]
    sys.argv = [sys.argv[0], "--model.name", "llama3", "--model.flavor", "debugmodel", *files, *options]
    train = importlib.import_module("torchtitan.train")  # which looks at the arguments
    _without_gpus()
    train.main(train.Trainer)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
