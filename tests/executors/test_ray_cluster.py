"""Room is checked up front, seats are given by machine, and trouble is one line; see tests/predict for real runs."""

import importlib.util
import io
import sys
import threading

import pytest
from skipping import skip

from regrade.core import ExecutorError, MissingExtra
from regrade.executors import RayCluster, RayWorkerPool, WorkerSlot
from regrade.executors.ray_connection import _check_reachable, _without_rays_own_words


@pytest.fixture(autouse=True)
def needs_ray():
    if importlib.util.find_spec("ray") is None:
        skip("ray is not installed: pip install 'regrade[ray]'")


def machines(*resources):
    return [
        {"NodeID": f"n{number}", "Alive": alive, "NodeManagerAddress": f"10.0.0.{number}", "Resources": has}
        for number, (alive, has) in enumerate(resources)
    ]


@pytest.fixture
def crew(monkeypatch):
    """A crew on made-up machines; nothing is started."""

    def made(*resources, gpus=False, per_machine=None):
        import ray

        monkeypatch.setattr(ray, "nodes", lambda: machines(*resources))
        return RayWorkerPool(lambda: None, gpus=gpus, per_machine=per_machine, said=lambda _: None)

    return made


def seats(crew):
    return [(seat.node, seat.number) for seat in crew._seats()]


def test_one_cpu_of_every_machine_is_left_for_reading(crew):
    found = crew((True, {"CPU": 3.0}), (False, {"CPU": 8.0}), (True, {"CPU": 1.0}), (True, {"CPU": 2.0}), (True, {}))
    assert seats(found) == [("n0", 0), ("n0", 1), ("n3", 0)]


def test_one_worker_a_gpu_and_never_more_than_cpus_allow(crew):
    found = crew((True, {"CPU": 9.0, "GPU": 4.0}), (True, {"CPU": 3.0, "GPU": 8.0}), (True, {"CPU": 9.0}), gpus=True)
    assert seats(found) == [("n0", 0), ("n0", 1), ("n0", 2), ("n0", 3), ("n1", 0), ("n1", 1)]


def test_a_limit_a_machine(crew):
    assert seats(crew((True, {"CPU": 64.0}), (True, {"CPU": 2.0}), per_machine=2)) == [("n0", 0), ("n0", 1), ("n1", 0)]


@pytest.mark.parametrize(("gpus", "wanted"), [(False, "two CPUs"), (True, "a GPU and two CPUs")])
def test_a_cluster_without_room_is_told_at_once(crew, gpus, wanted):
    full = crew((True, {"CPU": 1.0, "GPU": 1.0}), (False, {"CPU": 8.0}), gpus=gpus)
    with pytest.raises(ExecutorError, match=rf"has {wanted}.*\(10\.0\.0\.0: 1 CPUs, 1 GPUs\): start it with more"):
        full.check_room()
    crew((True, {"CPU": 2.0, "GPU": 1.0}), gpus=gpus).check_room()


def test_a_seat_is_a_place_on_a_machine():
    assert WorkerSlot("n0", 1) == WorkerSlot("n0", 1) != WorkerSlot("n1", 1)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999999"])
def test_an_address_where_nothing_answers_is_told_at_once(address):
    with (
        pytest.raises(ExecutorError, match=f"no Ray cluster at {address}"),
        RayCluster(address).crew(object, gpus=False, said=print),
    ):
        pass


def test_addresses_that_ray_knows_better_are_left_to_it():
    _check_reachable("auto")
    _check_reachable("local")


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingExtra, match=r"pip install 'regrade\[ray\]'"),
        RayCluster().crew(object, gpus=False, said=print),
    ):
        pass


def test_what_rays_threads_print_is_dropped(monkeypatch):
    usual = io.StringIO()
    monkeypatch.setattr(sys, "stdout", usual)
    with _without_rays_own_words():
        print("kept")
        noisy = threading.Thread(target=print, args=("pages of logs",), name="ray_listen_error_messages")
        noisy.start()
        noisy.join()
        sys.stdout.flush()
    assert usual.getvalue() == "kept\n" and sys.stdout is usual


def test_late_news_of_a_dead_worker_do_not_kill_the_one_after_it(crew, monkeypatch):
    """Both tasks of a worker are lost with it; the second is heard of when its seat is filled again."""
    found = crew((True, {"CPU": 2.0}))
    killed = []
    monkeypatch.setattr("ray.kill", killed.append)
    (first,) = found._seats()
    found._hired[first] = "first"
    found.lose(first, "it died")
    (second,) = found._seats()
    found._hired[second] = "second"
    found.lose(first, "it died")
    assert killed == ["first"] and found.lost == 1 and found._hired == {second: "second"}
    with pytest.raises(ExecutorError, match="all workers are lost, the last one: it died too"):
        found.lose(second, "it died too")
