"""How much a record may spend under a budget that is renewed by the calendar, by walking through the answers.

    python3 budgets.py BUDGET EPSILON PERIOD DAY ...

asks for one answer of EPSILON on each DAY (YYYY-MM-DD); prints how many are given and their sum. PERIOD: day, week (ISO), month, year.
"""

import sys
from datetime import date


def main(budget, epsilon, period, days):
    spent = {}
    for day in map(date.fromisoformat, days):
        key = {"day": day, "week": day.isocalendar()[:2], "month": (day.year, day.month), "year": day.year}[period]
        if spent.get(key, 0) + epsilon <= budget:
            spent[key] = spent.get(key, 0) + epsilon
    print(round(sum(spent.values()) / epsilon), sum(spent.values()))


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:])
