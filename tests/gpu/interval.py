"""Medians with intervals, by order statistics: no distribution is assumed, and nothing is drawn at random."""

import math
import statistics


def ranks(number, confidence=0.95):
    """The first and last place, from 0, of the sorted values between which their distribution's median lies with at
    least this confidence; `None` if they are too few. The number of values below the median is binomial, so the places
    are the narrowest symmetric ones that leave out no more than 1 - confidence.

    >>> ranks(5)
    >>> ranks(6)
    (0, 5)
    >>> ranks(9)
    (1, 7)
    >>> ranks(20)
    (5, 14)
    """
    below, place = 0.0, -1
    # below: the chance that at most `place` values lie below the median, which leaves the median out on that side
    while 2 * (below + math.comb(number, place + 1) / 2**number) <= 1 - confidence:
        place += 1
        below += math.comb(number, place) / 2**number
    return None if place < 0 else (place, number - 1 - place)


def median(values, confidence=0.95):
    """The median, and the least and largest value of its interval: `None` for each end if there are too few values.

    >>> median([3, 1, 2])
    (2, None, None)
    >>> median([5, 4, 3, 2, 1, 100])
    (3.5, 1, 100)
    """
    values = sorted(values)
    places = ranks(len(values), confidence)
    least, largest = (values[place] for place in places) if places else (None, None)
    return statistics.median(values), least, largest


def excess(own, others, confidence=0.95):
    """The median of the differences of two settings in the same rounds, with its interval: what disturbs a round
    disturbs both.

    >>> excess([11, 12, 13, 14, 15, 26], [10, 11, 12, 13, 14, 15])
    (1.0, 1, 11)
    """
    pairs = zip(own, others, strict=True)
    return median([mine - other for mine, other in pairs], confidence)
