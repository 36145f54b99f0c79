"""Which bytes miss in L2: 256 KB in pages of 512 bytes here."""

import random
from collections import OrderedDict

import pytest

from npuc.dialects.target.l2 import L2
from npuc.dialects.target.machine import load

MACHINE = load("tiny")
KB = 1024


def test_a_second_use_hits() -> None:
    cache = L2(MACHINE)
    assert cache.access(0, 64 * KB) == 64 * KB
    assert cache.access(0, 64 * KB) == 0
    assert cache.access(32 * KB, 64 * KB) == 32 * KB
    assert not cache.is_warm


def test_warm_ranges_hit() -> None:
    cache = L2(MACHINE, warm=((4 * KB, 4 * KB),))
    assert cache.is_warm
    assert cache.access(0, 16 * KB) == 12 * KB


def test_a_read_of_part_of_a_page_fetches_that_part() -> None:
    cache = L2(MACHINE)
    assert cache.access(100, 4) == 4
    assert cache.access(104, 4) == 0


def test_rows() -> None:
    cache = L2(MACHINE)
    assert cache.access(0, 256, rows=64, stride=4096) == 64 * 256
    assert cache.access(0, 256, rows=64, stride=4096) == 0
    assert cache.access(0, 64 * KB) == 64 * KB - 16 * 512


def test_a_write_fetches_nothing_and_is_written_back_when_it_leaves() -> None:
    cache = L2(MACHINE)
    assert cache.access(0, 256 * KB, write=True) == 0
    assert cache.access(0, 256 * KB) == 0
    # Each page that comes in pushes a dirty one out.
    assert cache.access(256 * KB, 64 * KB) == 2 * 64 * KB
    assert cache.access(64 * KB, 64 * KB) == 0


def test_the_least_recently_used_leaves_first() -> None:
    cache = L2(MACHINE)
    cache.access(0, 128 * KB)
    cache.access(128 * KB, 128 * KB)
    cache.access(0, 128 * KB)
    cache.access(256 * KB, 64 * KB)
    assert cache.access(0, 128 * KB) == 0
    assert cache.access(128 * KB, 64 * KB) == 64 * KB


def test_more_than_fits_always_misses() -> None:
    cache = L2(MACHINE)
    for _ in range(3):
        assert cache.access(0, 512 * KB) == 512 * KB


def test_nothing_costs_nothing() -> None:
    cache = L2(MACHINE)
    assert cache.access(0, 0) == 0
    assert cache.access(0, 64, rows=0, stride=64) == 0


@pytest.mark.parametrize("seed", range(5))
def test_against_a_page_by_page_account(seed: int) -> None:
    rng = random.Random(seed)
    cache, pages = L2(MACHINE), OrderedDict[int, bool]()
    for _ in range(400):
        first, count = rng.randrange(900), rng.randint(1, 60)
        write = rng.random() < 0.3
        missed = 0
        for page in range(first, first + count):
            missed += 512 * (page not in pages and not write)
            pages[page] = pages.pop(page, False) or write
        # One access uses its pages at one moment: it pushes pages out only after it is done.
        while len(pages) > 512:
            missed += 512 * pages.popitem(last=False)[1]
        assert cache.access(first * 512, count * 512, write=write) == missed
