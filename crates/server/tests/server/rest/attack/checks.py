"""What Schemathesis can't know by itself: the document tells who may use an operation, so whoever
may not is always turned away, and whoever may never is."""

import os

import schemathesis

ROLES = set(filter(None, os.environ["CALLER_ROLES"].split(",")))
TOKEN = os.environ["CALLER_TOKEN"]
TURNED_AWAY = (401, 403)


@schemathesis.check
def roles_hold(ctx, response, case):
    if case.method.upper() != case.operation.method.upper():
        return
    wanted = set(case.operation.definition.raw["x-roles"])
    sent = response.request.headers.get("Authorization", "")
    carried = ROLES if sent == f"Bearer {TOKEN}" else set()
    may = not wanted or bool(wanted & carried) or ("any" in wanted and bool(carried))
    turned_away = response.status_code in TURNED_AWAY
    assert may != turned_away, (
        f"{case.operation.label} is for {sorted(wanted)}, was called with {sorted(carried)} "
        f"and answered {response.status_code}"
    )
