"""Fires of a schedule, well enough for a mock: cron with *, lists, ranges and steps; intervals."""

import datetime as dt
import re
import zoneinfo

UTC = dt.timezone.utc
DAYS = {name: index for index, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


class BadSchedule(Exception):
    def __init__(self, field, reason):
        super().__init__(reason)
        self.field = field


def seconds_of(text):
    parts = re.findall(r"(\d+)(ms|s|m|h|d)", text or "")
    if not parts or "".join(count + unit for count, unit in parts) != text:
        raise BadSchedule("every", f"'{text}' is no duration (write 30s, 5m or 1h30m)")
    return sum(int(count) * UNITS[unit] for count, unit in parts)


def values(text, low, high, name, expression):
    found = set()
    for item in text.upper().split(","):
        for day, index in DAYS.items():
            item = item.replace(day, str(index + (1 if high == 7 and low == 1 else 0)))
        match = re.fullmatch(r"(\*|\?|\d+)(?:-(\d+))?(?:/(\d+))?", item)
        if not match:
            raise BadSchedule("schedule.cron", f"cron '{expression}': {name} '{item}' is not understood")
        start, end, step = match.groups()
        first = low if start in "*?" else int(start)
        last = int(end) if end else high if start in "*?" or step else first
        for number in (first, last):
            if not low <= number <= high:
                raise BadSchedule(
                    "schedule.cron", f"cron '{expression}': {name} {number} is out of range {low}-{high}"
                )
        found.update(range(first, last + 1, int(step or 1)))
    return found


def parse(expression):
    parts = expression.split()
    if len(parts) not in (5, 6, 7):
        raise BadSchedule("schedule.cron", f"cron '{expression}': {len(parts)} fields, must be 5, 6 or 7")
    is_unix = len(parts) == 5
    if is_unix:
        parts = ["0", *parts]
    elif parts[3] != "?" and parts[5] != "?":
        raise BadSchedule(
            "schedule.cron", f"cron '{expression}': exactly one of the two day fields must be ?"
        )
    second, minute, hour = (
        values(part, 0, high, name, expression)
        for part, high, name in zip(parts, (59, 59, 23), ("second", "minute", "hour"))
    )
    days = values(parts[3], 1, 31, "day-of-month", expression)
    months = values(parts[4], 1, 12, "month", expression)
    weekdays = values(parts[5], 0 if is_unix else 1, 7, "day-of-week", expression)
    weekdays = {day % 7 if is_unix else day - 1 for day in weekdays}
    return second, minute, hour, days, months, weekdays


def cron_fires(expression, zone_name, start, count):
    try:
        zone = zoneinfo.ZoneInfo(zone_name or "UTC")
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise BadSchedule("schedule.tz", f"time zone '{zone_name}' is unknown") from None
    second, minute, hour, days, months, weekdays = parse(expression)
    local = start.astimezone(zone)
    day = local.date()
    fires = []
    for _ in range(800):
        if day.day in days and day.month in months and (day.isoweekday() % 7) in weekdays:
            for clock in ((h, m, s) for h in sorted(hour) for m in sorted(minute) for s in sorted(second)):
                at = dt.datetime.combine(day, dt.time(*clock), zone)
                note = None
                if at.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != at.replace(tzinfo=None):
                    note = "gap"
                elif at.utcoffset() != at.replace(fold=1).utcoffset():
                    note = "repeated"
                if at.astimezone(UTC) > start:
                    fires.append((at.astimezone(UTC), at.astimezone(UTC).astimezone(zone), note))
                if len(fires) == count:
                    return fires
        day += dt.timedelta(days=1)
    return fires


def fires_of(asked, start, count=10):
    """[(utc, local, note)] and the schedule in words."""
    kind = next((name for name in ("cron", "every", "fixed_delay", "at") if name in asked), None)
    if kind == "cron":
        return cron_fires(asked.get("cron", ""), asked.get("tz"), start, count), words_of(asked["cron"])
    if kind in ("every", "fixed_delay"):
        text = asked[kind]
        step = dt.timedelta(seconds=seconds_of(text))
        return [(start + step * index, start + step * index, None) for index in range(count)], f"Every {text}"
    if kind == "at":
        try:
            at = dt.datetime.fromisoformat(asked.get("at", "").replace("Z", "+00:00"))
        except ValueError:
            raise BadSchedule("schedule.at", f"'{asked.get('at')}' is no RFC 3339 time") from None
        return [(at, at, None)], "Once"
    return [], ""


def words_of(expression):
    parts = expression.split()
    if len(parts) == 5:
        parts = ["0", *parts]
    second, minute, hour = parts[:3]
    if hour.isdigit() and minute.isdigit():
        clock = f"at {int(hour):02}:{int(minute):02}" + (
            f":{int(second):02}" if second.isdigit() and second != "0" else ""
        )
        weekdays = parts[5].upper()
        if weekdays not in ("*", "?"):
            return f"On {weekdays.replace('-', ' to ').replace(',', ', ')} {clock}"
        return f"Every day {clock}" if parts[3] in ("*", "?") else f"On day {parts[3]} of the month {clock}"
    if "/" in minute:
        return f"Every {minute.split('/')[1]} minutes"
    if "/" in second:
        return f"Every {second.split('/')[1]} seconds"
    return f"At minute {minute} of every hour" if minute.isdigit() else f"Cron {expression}"
