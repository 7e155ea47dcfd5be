"""What both scripts share: the project to talk to, and checks that say what they found."""

import os

from redcap import Project, RedcapError


def project(token_name="CAPTURE_TOKEN"):
    """The project of a token, as any user of PyCap would open it."""
    return Project(os.environ["CAPTURE_API_URL"], os.environ[token_name])


def equal(found, expected, what):
    """Fails with both values; a bare assert would show neither."""
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def refused(call, message, what):
    """The call must raise PyCap's own error, with the message in it."""
    try:
        answer = call()
    except RedcapError as error:
        # PyCap raises with the decoded answer: a dictionary for json, a text for csv and xml.
        answer = error.args[0]
        found = answer["error"] if isinstance(answer, dict) else str(answer)
        if message not in found:
            raise AssertionError(f"{what}: refused with {found!r}, expected {message!r}") from error
        return
    raise AssertionError(f"{what}: not refused, but answered {answer!r}")
