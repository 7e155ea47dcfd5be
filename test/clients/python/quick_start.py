"""The ten steps of docs/api.md by the package that openapi-python-client makes of the contract."""

import base64
import datetime
import hashlib
import hmac
import json
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeVar

from research_assessment.api.anchor_date import approve_override, get_anchor_date, override_anchor_date
from research_assessment.api.authentication import complete_mfa_login, login
from research_assessment.api.consents import create_consent
from research_assessment.api.events import create_event_subscription
from research_assessment.api.exports import export_csv
from research_assessment.api.participants import create_participant, get_participant
from research_assessment.api.schedules import create_visit_window, get_schedule
from research_assessment.api.sessions import end_session, start_session, submit_results
from research_assessment.api.studies import create_study
from research_assessment.client import AuthenticatedClient, Client
from research_assessment.models import (
    AnchorDate,
    AnchorOverride,
    Consent,
    ConsentCreate,
    ConsentStatus,
    DatasetName,
    EventSubscriptionCreate,
    EventSubscriptionCreated,
    EventType,
    ExportCreate,
    JsonObject,
    LoggedIn,
    Login,
    MfaLogin,
    MfaRequired,
    OverrideApplied,
    OverrideApprove,
    OverridePending,
    Participant,
    ParticipantCreate,
    Problem,
    RawTrial,
    Schedule,
    SessionEnd,
    SessionEnded,
    SessionStart,
    SessionStarted,
    Study,
    StudyCreate,
    Submission,
    SubmissionResult,
    TaskSummaries,
    Tokens,
    VisitWindowCreate,
)

T = TypeVar("T")


def expect(kind: type[T], answer: object) -> T:
    """What was answered, or the service's own words."""
    if not isinstance(answer, kind):
        raise SystemExit(f"{kind.__name__} was expected, and this came: {answer}")
    return answer


given: dict[str, Any] = json.loads(sys.argv[1])
anyone = Client(base_url=given["api"])


def as_user(tokens: object) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=given["api"], token=expect(Tokens, tokens).access_token)


# 1. Log in. 2. With the second factor.
asked = expect(MfaRequired, login.sync(client=anyone, body=Login(given["email"], given["password"])))
second = MfaLogin(mfa_token=asked.mfa_token, code=given["code"])
client = as_user(expect(LoggedIn, complete_mfa_login.sync(client=anyone, body=second)).tokens)

# 3. A study whose overrides need an approval, with one visit.
permissions = {"can_override": ["researcher"], "override_requires_approval": True, "override_approver_roles": ["admin"]}
config = JsonObject.from_dict({"enrollment_date_policy": {"permissions": permissions}})
new = StudyCreate(study_code=f"PY-{uuid.uuid4()}", study_name="Ten steps", config=config)
study = expect(Study, create_study.sync(client=client, body=new, idempotency_key=str(uuid.uuid4())))
window = VisitWindowCreate(code="W4", name="Week 4", target_day=28, window_before=3, window_after=7, study_id=study.id)
create_visit_window.sync(client=client, body=window)

# 4. Events, each checked by its signature.
secret = ""
events: list[str] = []
arrived = threading.Event()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        good = any(hmac.compare_digest(expected, one) for one in self.headers["webhook-signature"].split(" "))
        self.send_response(204 if good else 401)
        self.end_headers()
        if good:
            events.append(json.loads(body)["type"])
            arrived.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


server = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
wanted = EventSubscriptionCreate(
    url=f"http://127.0.0.1:{server.server_port}/", events=[EventType.ENROLLMENT_DATE_OVERRIDE_GRANTED]
)
subscribed = create_event_subscription.sync(study.id, client=client, body=wanted)
secret = expect(EventSubscriptionCreated, subscribed).secret

# 5. A participant and its consent.
person = create_participant.sync(study.id, client=client, body=ParticipantCreate(participant_code="P-001"))
participant = expect(Participant, person)
signed_at = datetime.datetime(2026, 1, 12, 9, tzinfo=datetime.timezone.utc)
signed = ConsentCreate(status=ConsentStatus.SIGNED, signed_at=signed_at)
consent = expect(Consent, create_consent.sync(study.id, participant.id, client=client, body=signed))

# 6. The anchor date. 7. The schedule.
while True:
    anchor = expect(AnchorDate, get_anchor_date.sync(study.id, participant.id, client=client))
    if anchor.status == "finalized":
        break
    time.sleep(0.1)
schedule = expect(Schedule, get_schedule.sync(study.id, participant.id, client=client))

# 8. Another date, with the approval of somebody else.
other = AnchorOverride(new_enrollment_date=datetime.date(2026, 1, 14), reason="two days early")
override = expect(OverridePending, override_anchor_date.sync(study.id, participant.id, client=client, body=other))
approver = as_user(expect(LoggedIn, login.sync(client=anyone, body=Login(**given["approver"]))).tokens)
said = OverrideApprove(reason="checked")
approved = expect(
    OverrideApplied,
    approve_override.sync(study.id, participant.id, override.override_request_id, client=approver, body=said),
)

# 9. A session with trials.
start = SessionStart(participant_id=str(participant.id), language="en")
session = expect(SessionStarted, start_session.sync(client=client, body=start))
session_id = str(session.session_id)
at = datetime.datetime(2026, 2, 9, 10, tzinfo=datetime.timezone.utc)
trials = [RawTrial(task="stroop", trial_index=n, rt=400.25, correct=True, timestamp=at) for n in (0, 1)]
results = Submission(
    session_id=session_id,
    task_summaries=TaskSummaries.from_dict({"stroop": {"accuracy": 1.0}}),
    raw_trials=trials,
)
submitted = expect(SubmissionResult, submit_results.sync(client=anyone, body=results, x_session_id=session_id))
ended = expect(
    SessionEnded, end_session.sync(client=anyone, body=SessionEnd(session_id=session_id), x_session_id=session_id)
)

# 10. The trials as a file, and what is not there.
asked_for = ExportCreate(dataset=DatasetName.RAW_TRIALS, study_id=study.id)
csv = expect(str, export_csv.sync(client=client, body=asked_for))
missing = get_participant.sync_detailed(study.id, client=client)
arrived.wait(30)

print(
    json.dumps(
        {
            "login": asked.mfa_required,
            "consent": consent.status,
            "anchor": str(anchor.enrollment_date),
            "due": [str(visit.target_date) for visit in schedule.visits],
            "override": [override.status, approved.status, str(approved.anchor.enrollment_date)],
            "session": [submitted.status, submitted.trials, ended.status],
            "exported": len([line for line in csv.splitlines() if "400.25" in line]),
            "event": events[0],
            "missing": [missing.status_code, expect(Problem, missing.parsed).code],
        }
    )
)
