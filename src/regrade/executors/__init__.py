"""Executors: run tasks on several machines, each task exactly once even if workers fail."""

from regrade.executors.pool import WorkerLost, WorkerPool, run_tasks
from regrade.executors.ray_cluster import RayCluster, RayWorkerPool, WorkerSlot

__all__ = ["RayCluster", "RayWorkerPool", "WorkerLost", "WorkerPool", "WorkerSlot", "run_tasks"]
