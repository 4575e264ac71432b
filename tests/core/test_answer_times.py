import numpy as np
import pytest

from regrade.core import AnswerTimes, InputError, MismatchError


def test_seconds_do_not_wrap_after_a_day():
    times = AnswerTimes(np.array([0.0, 10.0, np.nan]), np.array([26.0, 10.0 + 86_400 + 5, 3.0]))
    assert times.seconds[:2].tolist() == [26, 86_405]
    assert np.isnan(times.seconds[2]) and len(times) == 3


def test_answer_times_rejects_invalid_times():
    with pytest.raises(InputError, match="answer 1 ends before it starts"):
        AnswerTimes(np.array([0.0, 5.0]), np.array([1.0, 4.0]))
    with pytest.raises(MismatchError, match="shape"):
        AnswerTimes(np.zeros(2), np.zeros(3))
