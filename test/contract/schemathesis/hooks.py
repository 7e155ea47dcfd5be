"""What schemathesis must know of this service: who calls, and what is there to be called."""

import gc
import json
import os
import threading
import urllib.parse
import urllib.request

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation

# The contract stays as it is, and a run is short: garbage is looked for seldom.
gc.freeze()
gc.set_threshold(100_000, 50, 100)

# The service, the first admin's login, tokens of a participant and of /api/v1, and ids of what the study has.
WORLD = json.loads(os.environ["CONTRACT_WORLD"])
# These end the login that they are called with: each is called with one of its own.
ENDS_LOGIN = ("/api/auth/logout-all", "/api/auth/mfa/disable", "/api/auth/password", "/api/auth/sessions/{id}")

# These end what a participant may do: they take one who is not needed any more.
LEAVES = ("/api/participants/{participant_id}/withdraw", "/api/participants/{participant_id}/erase")
# A caregiver who is let in, and for whom, stays so: what changes one takes another.
CAREGIVER = "/api/studies/{study_id}/caregivers/{caregiver_id}"
# Names for whom a portal token asks.
FOR_WHOM = "X-Participant-ID"
NAMED_BY = {FOR_WHOM: "participant_id", "X-Study-ID": "study_id", "X-Site-ID": "site_id", "X-Session-ID": "session_id"}
# Faults that the schema itself could have told of: an answer that names one of them says that the contract leaves it out.
TOLD_BY_SCHEMA = {
    "REQUIRED", "UNKNOWN_FIELD", "ENUM", "FORMAT", "PATTERN", "TYPE", "MIN_LENGTH", "MAX_LENGTH", "MINIMUM", "MAXIMUM",
    "MIN_ITEMS", "MAX_ITEMS", "UNIQUE_ITEMS", "MIN_PROPERTIES", "MAX_PROPERTIES", "ANY_OF", "CONST",
}
ANYWHERE = (401, 403, 406, 408, 413, 415, 429, 500, 503)
# An instant in a query or a header is text with a pattern, since many generators send no other; a pattern knows no calendar.
CALENDAR = ("query.", "header.")
# An item that does not fit its schema is answered as rejected, with 200.
ITEM_BY_ITEM = ("/api/sync/bulk", "/api/sync/check-conflicts", "/api/sync/sessions", "/api/sync/responses")
# No schema says it of each text: U+0000 and half characters have no place in the database.
EVERYWHERE = "a character that cannot be stored"

schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]))


# A mail that came back is sent as it is.
@schemathesis.serializer("message/rfc822")
def mail(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


lock = threading.Lock()
lasting = {}


def login(account):
    request = urllib.request.Request(
        WORLD["api"] + "/api/auth/login", json.dumps(account).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["tokens"]["access_token"]


def staff():
    with lock:
        if "staff" not in lasting:
            lasting["staff"] = login(WORLD["admin"])
        return lasting["staff"]


# Asked at each call: the class itself keeps what lasts.
@schemathesis.auth(refresh_interval=None)
class Caller:
    """The token that an operation takes, by its security schemes."""

    def get(self, case, ctx):
        path = ctx.operation.path
        # One that names none of its own takes what the document says of all.
        schemes = [name for one in ctx.operation.definition.raw.get("security", [{"bearer": []}]) for name in one]
        if path in ENDS_LOGIN or path.startswith("/api/auth/mfa/"):
            return login(WORLD["passing"])
        if "scoped" in schemes:
            return WORLD["scoped_token"]
        if schemes and "bearer" not in schemes:
            return portal(case)
        return staff() if schemes else None

    def set(self, case, data, ctx):
        if data is not None:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


def portal(case):
    """A caregiver's token where the case says for whom it asks, in one case of two; else the participant's own."""
    named = (case.headers or {}).get(FOR_WHOM) or (case.query or {}).get("participant_id")
    return WORLD["caregiver_token"] if named is not None and sum(str(named).encode()) % 2 else WORLD["portal_token"]


def existing(name, value):
    """The id of something that is there, in three cases of four; the choice is by the value, so it is repeatable."""
    known = WORLD["ids"].get(name)
    return known if known is not None and sum(str(value).encode()) % 4 else value


@schemathesis.check
def default_is_for_what_any_may_answer(ctx, response, case):
    """The answer `default` would let any status pass: it stands for these alone."""
    if str(response.status_code) not in case.operation.definition.raw["responses"] and response.status_code not in ANYWHERE:
        raise AssertionError(f"{response.status_code} is not documented")


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    """A well-formed request may still be 422 for what its values mean together, which no schema says."""
    if failure.code == "ST201" and case.operation.path in ITEM_BY_ITEM:
        return case.meta is not None and not case.meta.is_negative_at(ParameterLocation.BODY)
    if failure.code != "ST202" or response.status_code != 422:
        return True
    if case.media_type == "message/rfc822":
        # A mail is any text; whether it reports a bounce is for its reader.
        return False
    faults = response.json().get("errors", [])
    return not faults or any(told_by_schema(fault) for fault in faults)


def told_by_schema(fault):
    # One that is required only beside another says so.
    if fault["code"] == "REQUIRED" and fault["message"] != fault["path"] + " is required":
        return False
    if fault["code"] == "FORMAT" and fault["path"].startswith(CALENDAR) and fault["message"].endswith("date-time"):
        return False
    return fault["code"] in TOLD_BY_SCHEMA and EVERYWHERE not in fault["message"]


def unquoted(value):
    return urllib.parse.unquote(value) if isinstance(value, str) else value


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """An id that nothing has tries the 404 alone: most cases are given one of what is there."""
    meta = case.meta
    if case.path_parameters and not (meta and meta.is_negative_at(ParameterLocation.PATH)):
        if meta:
            # A segment stands here as it is sent. Of a case that is changed each value is held against its schema again,
            # and a code that fits would be too long with its characters written as percent signs and digits.
            meta.raw_containers.setdefault(ParameterLocation.PATH, {name: unquoted(value) for name, value in case.path_parameters.items()})
        case.path_parameters = {name: existing(name, value) for name, value in case.path_parameters.items()}
        if case.operation.path.startswith("/api/users/{id}") and case.path_parameters["id"] in WORLD["kept"]:
            case.path_parameters = {**case.path_parameters, "id": WORLD["user_id"]}
        if case.operation.path in LEAVES and case.path_parameters["participant_id"] == WORLD["ids"]["participant_id"]:
            case.path_parameters = {**case.path_parameters, "participant_id": WORLD["leaving_participant_id"]}
        if case.operation.path.startswith(CAREGIVER) and case.method != "GET" and case.path_parameters["caregiver_id"] == WORLD["ids"]["caregiver_id"]:
            case.path_parameters = {**case.path_parameters, "caregiver_id": WORLD["leaving_caregiver_id"]}
    if case.query and not (meta and meta.is_negative_at(ParameterLocation.QUERY)):
        case.query = {name: existing(name, value) if isinstance(value, str) else value for name, value in case.query.items()}
    if case.headers and not (meta and meta.is_negative_at(ParameterLocation.HEADER)):
        # Of a study that the run made itself there is no site yet: named with another's, it would not be found.
        elsewhere = (case.path_parameters or {}).get("study_id", WORLD["ids"]["study_id"]) != WORLD["ids"]["study_id"]
        case.headers = {name: existing(NAMED_BY.get(name), value) for name, value in case.headers.items() if not (elsewhere and name == "X-Site-ID")}
    if isinstance(case.body, dict) and not (meta and meta.is_negative_at(ParameterLocation.BODY)):
        case.body = {name: existing(name, value) if isinstance(value, (str, int)) else value for name, value in case.body.items()}
