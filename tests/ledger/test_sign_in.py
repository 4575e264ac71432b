"""Sign-in attempts are counted by address and account, in a table of bounded size."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import func, select

from regrade.ledger import SignInAttempts, sign_in
from regrade.ledger.schema import sign_in_attempts as table


@pytest.fixture
def attempts(ledger, clock):
    return SignInAttempts(ledger.engine, clock=clock)


def stored(attempts):
    with attempts.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


class StoppedClock:
    """A clock that advances only when it is set."""

    def __init__(self, start):
        self.time = start

    def __call__(self):
        return self.time


@pytest.fixture
def attempts_and_clock(ledger, clock):
    """Attempts with a stopped clock, and the clock."""
    stopped = StoppedClock(clock.time)
    return SignInAttempts(ledger.engine, clock=stopped), stopped


def test_reserve_doubles_the_wait_up_to_fifteen_minutes(attempts_and_clock):
    attempts, stopped = attempts_and_clock
    waits = []
    for _ in range(18):
        waits.append(attempts.reserve("10.0.0.1", "Rita"))
        if waits[-1] > 0:
            stopped.time += timedelta(seconds=waits[-1])
            assert attempts.reserve("10.0.0.1", "Rita") == 0
    assert waits == [0] * 5 + [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] + [900] * 3


def test_reserve_counts_concurrent_attempts_one_by_one(attempts_and_clock):
    attempts, _ = attempts_and_clock
    barrier = Barrier(12)

    def reserve(_):
        barrier.wait()
        return attempts.reserve("10.0.0.1", "Rita")

    with ThreadPoolExecutor(12) as pool:
        waits = list(pool.map(reserve, range(12)))
    assert waits.count(0) == sign_in.FREE_FOR_ACCOUNT
    assert set(waits) == {0, 1}


def test_attempts_from_other_addresses_do_not_lock_the_owner_out(attempts_and_clock):
    attempts, _ = attempts_and_clock
    for network in range(40):
        while attempts.reserve(f"10.0.{network}.1", "Rita") == 0:
            pass
    assert attempts.reserve("192.0.2.7", "Rita") == 0


def test_reserve_counts_accounts_at_an_address_separately(attempts_and_clock):
    attempts, _ = attempts_and_clock
    while attempts.reserve("10.0.0.1", "Rita") == 0:
        pass
    assert attempts.reserve("10.0.0.1", "Rob") == 0


def test_reserve_limits_an_address_over_all_accounts(attempts_and_clock):
    attempts, _ = attempts_and_clock
    waits = [attempts.reserve("10.0.0.1", f"person {number}") for number in range(60)]
    assert waits.count(0) == sign_in.FREE_FOR_ADDRESS
    assert attempts.reserve("10.0.0.2", "person 1") == 0


def test_succeeded_resets_the_account_and_uncounts_one_attempt_of_the_address(attempts_and_clock):
    attempts, _ = attempts_and_clock
    for number in range(49):
        attempts.reserve("10.0.0.1", f"person {number}")
    for _ in range(3):
        assert attempts.reserve("10.0.0.1", "Rita") == 0
        attempts.succeeded("10.0.0.1", "Rita")
    assert attempts.reserve("10.0.0.1", "Rita") == 0
    assert attempts.reserve("10.0.0.1", "Rob") == 1


def test_reserve_forgets_after_an_hour_and_deletes_old_rows(attempts, clock):
    for number in range(5):
        attempts.reserve("10.0.0.1", "Rita")
        attempts.reserve(f"10.0.1.{number}", "Rob")
    clock.wait(hours=1, seconds=20)
    assert attempts.reserve("10.0.0.1", "Rita") == 0
    assert attempts.reserve("10.0.0.1", "Rita") == 0
    assert stored(attempts) == 2


def test_reserve_keeps_a_bounded_number_of_rows(attempts, monkeypatch):
    monkeypatch.setattr(sign_in, "MOST_COUNTERS", 10)
    for number in range(30):
        attempts.reserve(f"10.0.0.{number}", "Rita")
    assert stored(attempts) <= 10


def test_reserve_is_shared_by_servers(ledger, clock):
    stopped = StoppedClock(clock.time)
    first, second = (SignInAttempts(ledger.engine, clock=stopped) for _ in range(2))
    waits = [server.reserve("10.0.0.1", "Rita") for _ in range(4) for server in (first, second)]
    assert waits.count(0) == sign_in.FREE_FOR_ACCOUNT


def test_names_are_not_stored(attempts):
    attempts.reserve("10.0.0.1", "my password, typed into the wrong field")
    with attempts.engine.connect() as connection:
        assert "password" not in str(connection.execute(select(table)).all())
