"""Worker slots of a Ray cluster and error messages; tests/predict runs real clusters."""

import importlib.util
import io
import sys
import threading

import pytest
from skipping import skip

from regrade.core import ExecutorError, MissingExtra
from regrade.executors import RayCluster, RayWorkerPool, WorkerSlot
from regrade.executors.ray_cluster import _check_reachable, _without_output_of_ray


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
def make_pool(monkeypatch):
    """Creates pools on made-up machines; no worker is started."""

    def make(*resources, per_gpu=0, per_machine=None):
        import ray

        monkeypatch.setattr(ray, "nodes", lambda: machines(*resources))
        return RayWorkerPool(lambda: None, per_gpu=per_gpu, per_machine=per_machine, on_ready=lambda _: None)

    return make


def slots(pool):
    return [(slot.node, slot.number) for slot in pool._slots()]


def test_slots_leave_one_cpu_per_machine_for_reading(make_pool):
    machines = [(True, {"CPU": 3.0}), (False, {"CPU": 8.0}), (True, {"CPU": 1.0}), (True, {"CPU": 2.0}), (True, {})]
    assert slots(make_pool(*machines)) == [("n0", 0), ("n0", 1), ("n3", 0)]


def test_slots_are_one_per_gpu_as_far_as_cpus_allow(make_pool):
    machines = [(True, {"CPU": 9.0, "GPU": 4.0}), (True, {"CPU": 3.0, "GPU": 8.0}), (True, {"CPU": 9.0})]
    expected = [("n0", 0), ("n0", 1), ("n0", 2), ("n0", 3), ("n1", 0), ("n1", 1)]
    assert slots(make_pool(*machines, per_gpu=1)) == expected


def test_slots_are_several_per_gpu_if_they_share_it(make_pool):
    machines = [(True, {"CPU": 9.0, "GPU": 1.0}), (True, {"CPU": 3.0, "GPU": 1.0}), (True, {"CPU": 9.0})]
    assert slots(make_pool(*machines, per_gpu=3)) == [("n0", 0), ("n0", 1), ("n0", 2), ("n1", 0), ("n1", 1)]


def test_slots_respect_per_machine(make_pool):
    pool = make_pool((True, {"CPU": 64.0}), (True, {"CPU": 2.0}), per_machine=2)
    assert slots(pool) == [("n0", 0), ("n0", 1), ("n1", 0)]


@pytest.mark.parametrize(("per_gpu", "required"), [(0, "two CPUs"), (1, "a GPU and two CPUs")])
def test_check_room_raises_if_no_machine_is_large_enough(make_pool, per_gpu, required):
    full = make_pool((True, {"CPU": 1.0, "GPU": 1.0}), (False, {"CPU": 8.0}), per_gpu=per_gpu)
    with pytest.raises(ExecutorError, match=rf"has {required}.*\(10\.0\.0\.0: 1 CPUs, 1 GPUs\): start it with more"):
        full.check_room()
    make_pool((True, {"CPU": 2.0, "GPU": 1.0}), per_gpu=per_gpu).check_room()


def test_slots_compare_by_machine_and_index():
    assert WorkerSlot("n0", 1) == WorkerSlot("n0", 1) != WorkerSlot("n1", 1)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999999"])
def test_pool_raises_at_once_if_nothing_answers_at_the_address(address):
    with (
        pytest.raises(ExecutorError, match=f"no Ray cluster at {address}"),
        RayCluster(address).pool(object, gpus=False, on_ready=print),
    ):
        pass


def test_check_reachable_leaves_special_addresses_to_ray():
    _check_reachable("auto")
    _check_reachable("local")


def test_pool_without_ray_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingExtra, match=r"pip install 'regrade\[ray\]'"),
        RayCluster().pool(object, gpus=False, on_ready=print),
    ):
        pass


def test_output_of_ray_threads_is_dropped(monkeypatch):
    usual = io.StringIO()
    monkeypatch.setattr(sys, "stdout", usual)
    with _without_output_of_ray():
        print("kept")
        noisy = threading.Thread(target=print, args=("pages of logs",), name="ray_listen_error_messages")
        noisy.start()
        noisy.join()
        sys.stdout.flush()
    assert usual.getvalue() == "kept\n" and sys.stdout is usual


def test_late_error_of_a_dead_worker_does_not_stop_its_successor(make_pool, monkeypatch):
    """Both tasks of a worker are lost with it; the second error arrives after its slot was filled again."""
    pool = make_pool((True, {"CPU": 2.0}))
    killed = []
    monkeypatch.setattr("ray.kill", killed.append)
    (first,) = pool._slots()
    pool._actors[first] = "first"
    pool.lose(first, "it died")
    (second,) = pool._slots()
    pool._actors[second] = "second"
    pool.lose(first, "it died")
    assert killed == ["first"] and pool.lost == 1 and pool._actors == {second: "second"}
    with pytest.raises(ExecutorError, match="all workers are lost, the last one: it died too"):
        pool.lose(second, "it died too")
