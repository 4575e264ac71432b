"""The API as its own description says: whatever is sent that fits or does not fit it, the server stands."""

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode


@pytest.mark.usefixtures("judge_queue")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_that_is_sent_breaks_the_server(app, visitor, mode):
    client = visitor("Olga")
    api = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    answers = {}
    for found in api.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def sent(case):
            answer = case.call(headers={"X-Regrade-Token": client.token}, cookies=dict(client.cookies))
            answers.setdefault(case.operation.label, set()).add(answer.status_code)
            assert answer.status_code < 500, (case, answer.text)

        with suppress(Unsatisfiable):  # there is no wrong way to ask for what takes no values
            sent()
    assert answers["POST /api/queues/{queue_id}/votes"] - {401, 403}
    assert "GET /api/queues/{queue_id}/next" in answers
