"""How many messages wait for whom: counts by share, and a bound on what any person has."""

from hermes.ports.shares import Share, ShareCounts

ANN, BOB = Share("rest", "ann"), Share("rest", "bob")
STOP = Share("rest", "ann", is_command=True)


def test_no_person_exceeds_the_peak_and_commands_are_counted_apart() -> None:
    counts = ShareCounts()
    for share in (ANN, ANN, BOB, STOP):
        counts.add(share)

    assert counts.peak(is_command=False) == 2
    assert counts.peak(is_command=True) == 1


def test_the_peak_stays_while_anything_waits_and_falls_with_the_last_message() -> None:
    counts = ShareCounts()
    for share in (ANN, ANN, BOB):
        counts.add(share)
    for share in (ANN, ANN):
        counts.add(share, -1)
    assert counts.peak(is_command=False) == 2

    counts.add(BOB, -1)

    assert counts.peak(is_command=False) == 0
