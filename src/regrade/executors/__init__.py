"""Executors: the same work on more machines than one, nothing lost and nothing twice."""

from regrade.executors.pool import Crew, Lost, done_by
from regrade.executors.ray_cluster import RayCluster, RayCrew, Seat

__all__ = ["Crew", "Lost", "RayCluster", "RayCrew", "Seat", "done_by"]
