"""Executors: the same work on more machines than one, nothing lost and nothing twice."""

from regrade.executors.pool import Lost, WorkerPool, done_by
from regrade.executors.ray_cluster import RayCluster, RayWorkerPool, WorkerSlot

__all__ = ["Lost", "RayCluster", "RayWorkerPool", "WorkerPool", "WorkerSlot", "done_by"]
