"""The cache of the app: values follow their stamps, the number of values is bounded, and failures are not kept."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from regrade.app.cache import RecentCache


def test_cache_computes_a_value_again_when_its_stamp_changes():
    cache: RecentCache[str] = RecentCache(2)
    assert cache.get("a", lambda: "old", stamp=1) == "old"
    assert cache.get("a", lambda: "new", stamp=1) == "old"
    assert cache.get("a", lambda: f"after {cache.outdated('a')}", stamp=2) == "after old"
    assert cache.outdated("b") is None


def test_cache_keeps_none_as_a_value():
    cache: RecentCache[str | None] = RecentCache(2)
    assert cache.get("a", lambda: None) is None
    assert cache.get("a", lambda: "computed again") is None


def test_cache_drops_the_least_recently_used_value():
    cache: RecentCache[int] = RecentCache(2)
    for key in "abac":
        cache.get(key, lambda: 1)
    assert len(cache) == 2
    assert [cache.get(key, lambda: 2) for key in "ac"] == [1, 1]
    assert cache.get("b", lambda: 2) == 2


def test_cache_does_not_keep_a_failure():
    cache: RecentCache[int] = RecentCache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 1) == 1


def test_cache_computes_one_key_once_and_two_keys_at_the_same_time():
    cache: RecentCache[int] = RecentCache(2)
    both_running, calls = Barrier(2, timeout=60), []

    def compute(key: str) -> int:
        calls.append(key)
        both_running.wait()
        return len(key)

    with ThreadPoolExecutor(4) as threads:
        values = list(threads.map(lambda key: cache.get(key, lambda: compute(key)), ["a", "bb", "a", "bb"]))
    assert values == [1, 2, 1, 2]
    assert sorted(calls) == ["a", "bb"]
