"""Who leads: the decision as a table."""

import pytest

from managedjobs.kube.lease_rules import Acquire, LeaseDecision, LeaseIdentity, LeaseView, Renew, Wait, decide

ME = LeaseIdentity("operator-1", "aaaa")


@pytest.mark.parametrize(
    ("lease", "unchanged_for", "last_term", "want"),
    [
        pytest.param(None, 0.0, 0, Acquire(1), id="there is no lease yet"),
        pytest.param(None, 0.0, 7, Acquire(8), id="a lease that was deleted goes on above the last term seen"),
        pytest.param(LeaseView("operator-1_aaaa", 3, 15), 0.0, 3, Renew(), id="it is ours"),
        pytest.param(LeaseView("operator-1_aaaa", 3, 15), 99.0, 3, Renew(), id="it is ours, renewed late"),
        pytest.param(LeaseView("operator-2_bbbb", 3, 15), 0.0, 3, Wait(15.0), id="another has it, just seen"),
        pytest.param(
            LeaseView("operator-2_bbbb", 3, 15), 14.0, 3, Wait(1.0), id="another has it, for one more second"
        ),
        pytest.param(LeaseView("operator-2_bbbb", 3, 15), 15.0, 3, Acquire(4), id="another let it expire"),
        pytest.param(LeaseView("operator-2_bbbb", 3, 60), 15.0, 3, Wait(45.0), id="the lease's own duration counts"),
        pytest.param(LeaseView("", 3, 15), 0.0, 3, Acquire(4), id="it was let go"),
        pytest.param(LeaseView("operator-1_bbbb", 3, 15), 0.0, 3, Acquire(4), id="an older process of our own pod"),
        pytest.param(
            LeaseView("operator-1-x_bbbb", 3, 15), 0.0, 3, Wait(15.0), id="a pod whose name begins like ours"
        ),
        pytest.param(LeaseView("operator-1", 3, 15), 0.0, 3, Wait(15.0), id="a holder of another make"),
        pytest.param(LeaseView("", 3, 15), 0.0, 9, Acquire(10), id="made anew by another: still above all terms seen"),
    ],
)
def test_a_lease_is_taken_only_when_its_holder_can_not_be_at_work(
    lease: LeaseView | None, unchanged_for: float, last_term: int, want: LeaseDecision
) -> None:
    observed_at = 1000.0
    assert decide(lease, ME, observed_at + unchanged_for, observed_at, last_term) == want
