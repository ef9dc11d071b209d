"""Inference of large language models: requests, batches of them, and the traces of serving them."""

from hocket.workload.llm.serving.plan import Pool, ServingPlan, Speculation
from hocket.workload.llm.serving.requests import Request, random_requests, read_requests
from hocket.workload.llm.serving.times import RequestTimes, request_times
from hocket.workload.llm.serving.traces import Served, serving_traces

__all__ = [
    "Pool",
    "Request",
    "RequestTimes",
    "Served",
    "ServingPlan",
    "Speculation",
    "random_requests",
    "read_requests",
    "request_times",
    "serving_traces",
]
