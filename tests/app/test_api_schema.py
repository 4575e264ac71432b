"""The API tested against its own OpenAPI schema: neither valid nor invalid requests cause server errors."""

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode


@pytest.mark.usefixtures("judge_queue")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_api_never_answers_with_a_server_error(app, visitor, mode):
    client = visitor("Olga")
    api = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    statuses = {}
    for result in api.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def sent(case):
            response = case.call(headers={"X-Regrade-Token": client.token}, cookies=dict(client.cookies))
            statuses.setdefault(case.operation.label, set()).add(response.status_code)
            assert response.status_code < 500, (case, response.text)

        with suppress(Unsatisfiable):  # operations without parameters have no invalid requests
            sent()
    assert statuses["POST /api/queues/{queue_id}/votes"] - {401, 403}
    assert "GET /api/queues/{queue_id}/next" in statuses
