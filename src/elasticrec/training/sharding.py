"""Ranks that train one model together, as `torchrun` starts them; without it, one rank alone.

Row n of a table lives on rank n % K, with its moments. Every rank draws the same batches and takes
the loss of its share of the users. The rows that it needs come from their owners, and their
gradients go back there, so a step is that of one rank up to rounding.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from elasticrec.errors import InputError

T = TypeVar("T")
LOST = re.compile(r"peer|connect|NCCL|Broken pipe", re.IGNORECASE)
"""The words of torch where another rank is gone."""


class Ranks:
    """The ranks that train together, and what they tell each other."""

    def __init__(self) -> None:
        together = dist.is_available() and dist.is_initialized()
        self.size = dist.get_world_size() if together else 1
        """K."""
        self.rank = dist.get_rank() if together else 0
        self.lengths: dict[str, int] = {}
        """Rows of each table that was scattered."""

    def broadcast(self, value: T) -> T:
        """The value that rank 0 gives, on every rank."""
        said = [value]
        if self.size > 1:
            dist.broadcast_object_list(said, device=torch.device("cpu"))
        return said[0]

    def summed(self, number: float) -> float:
        """The sum of a number over all ranks."""
        summed = torch.tensor(number, dtype=torch.float64)
        if self.size > 1:
            dist.all_reduce(summed)
        return float(summed)

    def device(self, where: torch.device) -> torch.device:
        """The device of this rank; more ranks than devices are refused."""
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        if self.size > 1 and where.type != "cpu":
            found = torch.cuda.device_count() if where.type == "cuda" else 0
            if ranks > found:
                share = f"{ranks} ranks share {found} {where.type} device(s)"
                raise InputError(f"{share}, expected one for each: start fewer, or --device cpu")
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        return where

    def scattered(self, tables: dict[str, Tensor]) -> dict[str, Tensor]:
        """This rank's rows of whole tables, of which rank 0's count."""
        self.lengths = {name: len(whole) for name, whole in tables.items()}
        if self.size == 1:
            return tables
        parts = {n: whole[self.rank :: self.size].clone() for n, whole in tables.items()}
        for name, part in parts.items():
            self.scatter(tables[name], part)
        return parts

    def scatter(self, whole: Tensor | None, part: Tensor) -> None:
        """Fill each rank's part with its rows of a table that rank 0 has."""
        if self.rank:
            dist.recv(part, 0)
            return
        assert whole is not None
        for rank in range(1, self.size):
            dist.send(whole[rank :: self.size].to(part.device).contiguous(), rank)
        part.copy_(whole[:: self.size])

    def gathered(self, name: str, part: Tensor) -> Tensor:
        """A whole table of all ranks' parts, on rank 0; nothing elsewhere."""
        if self.size == 1:
            return part
        if self.rank:
            dist.send(part, 0)
            return part[:0]
        whole = part.new_empty(self.lengths[name], *part.shape[1:])
        whole[:: self.size] = part
        for rank in range(1, self.size):
            rows = torch.empty_like(whole[rank :: self.size])
            dist.recv(rows, rank)
            whole[rank :: self.size] = rows
        return whole

    def keys(self, name: str, numbers: Tensor) -> Tensor:
        """Numbers of rows so that those of one owner follow each other: a rank's from r · width."""
        if self.size == 1:
            return numbers
        return numbers % self.size * self.width(name) + numbers // self.size

    def width(self, name: str) -> int:
        """Most rows of a table on one rank."""
        return -(-self.lengths[name] // self.size)

    def owners(self, name: str, keys: Tensor) -> tuple[Tensor, list[int], list[int]]:
        """Ask all owners for rows by rising key.

        What others ask of this rank (its own row numbers), how many each of them asks, and how
        many of the keys each owner has.
        """
        get = torch.bincount(keys // self.width(name), minlength=self.size).cpu()
        give = torch.empty_like(get)
        dist.all_to_all_single(give, get)
        wanted, given = get.tolist(), give.tolist()
        return all_to_all(keys % self.width(name), wanted, given), given, wanted


def all_to_all(rows: Tensor, give: list[int], get: list[int]) -> Tensor:
    """Rows from all ranks, in their sequence, after giving each the next of one's own."""
    out = rows.new_empty(sum(get), *rows.shape[1:])
    dist.all_to_all_single(out, rows.contiguous(), get, give)
    return out


@contextmanager
def one_line_if_lost() -> Iterator[None]:
    """Turn the loss of another rank into an error of one line."""
    try:
        yield
    except RuntimeError as error:
        if Ranks().size == 1 or not LOST.search(str(error)):
            raise
        raise InputError(
            "another rank of this training ended; the same command goes on from its checkpoint"
        ) from None


def together(command: Callable[[], None], follow: Callable[[], None]) -> None:
    """Run a command on rank 0, whose trainings the other ranks follow until it ends."""
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=timedelta(days=365))  # other stages take their time
    ranks, code = Ranks(), 0
    try:
        if ranks.rank:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 says when to stop
            with one_line_if_lost():
                follow()
        else:
            command()
    except SystemExit as end:
        code = int(end.code or 0)
    except InputError:  # rank 0 says it, too
        code = 2
    except Exception as error:
        if not ranks.rank:
            raise
        said = f"error: rank {ranks.rank}: {str(error) or type(error)}"
        print(said.splitlines()[0], file=sys.stderr)
        code = 2
    if code:
        os._exit(code)  # torchrun ends the others
    if not ranks.rank:
        ranks.broadcast(())
    dist.destroy_process_group()
